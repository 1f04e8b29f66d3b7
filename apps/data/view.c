#include "apps/data/view.h"

#include "dag/base/rng.h"

#include <stddef.h>
#include <string.h>

static int draw_flip(const tutti_view_choice *choice, int64_t image)
{
    uint32_t first[4];
    tutti_rng_philox(choice->seed ^ tutti_rng_stream("augment.flip"), 0, (uint64_t)image, first);
    return (int)((first[0] ^ (uint32_t)choice->epoch) & 1);
}

/* The image with its border, cropped to its own size. */
static void draw_padded(const tutti_view_choice *choice, int64_t image, tutti_view *view)
{
    enum { PLACES = 2 * TUTTI_VIEW_PAD + 1 };
    uint32_t place[4];
    tutti_rng_philox(choice->seed ^ tutti_rng_stream("augment.draw"), (uint64_t)choice->epoch,
        (uint64_t)image, place);
    view->y = (int)(((uint64_t)place[0] * PLACES) >> 32) - TUTTI_VIEW_PAD;
    view->x = (int)(((uint64_t)place[1] * PLACES) >> 32) - TUTTI_VIEW_PAD;
}

tutti_view tutti_view_choose(const tutti_view_choice *choice, int64_t image, int width, int height)
{
    tutti_view view = {.width = width, .height = height, .flip = choice->flip};
    if (!choice->augment) return view;
    if (choice->crop) draw_padded(choice, image, &view);
    view.flip = draw_flip(choice, image);
    return view;
}

/* The pixel of a row of n that appears at place p, with mirrors at both ends. */
static int mirror(int p, int n)
{
    if (n == 1) return 0;
    while (p < 0 || p >= n) p = p < 0 ? -p : 2 * (n - 1) - p;
    return p;
}

static int is_whole(const tutti_view *view, int width, int height)
{
    return !view->x && !view->y && view->width == width && view->height == height && !view->flip;
}

void tutti_view_copy(
    const tutti_view *view, int width, int height, int C, const uint8_t *pixels, uint8_t *out)
{
    size_t row_bytes = (size_t)width * (size_t)C;
    if (is_whole(view, width, height)) {
        memcpy(out, pixels, (size_t)height * row_bytes);
        return;
    }
    for (int y = 0; y < view->height; y++) {
        const uint8_t *row = pixels + (size_t)mirror(y + view->y, height) * row_bytes;
        for (int x = 0; x < view->width; x++) {
            int from = mirror((view->flip ? view->width - 1 - x : x) + view->x, width);
            const uint8_t *pixel = row + (size_t)from * (size_t)C;
            for (int c = 0; c < C; c++) *out++ = pixel[c];
        }
    }
}
