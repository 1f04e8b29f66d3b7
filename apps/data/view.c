#include "apps/data/view.h"

#include "apps/data/draw.h"
#include "dag/base/rng.h"

#include <math.h>
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
    view->y = tutti_draw_below(place[0], PLACES) - TUTTI_VIEW_PAD;
    view->x = tutti_draw_below(place[1], PLACES) - TUTTI_VIEW_PAD;
}

void tutti_view_fit(int side, int width, int height, int *fit_width, int *fit_height)
{
    int64_t s = side;
    *fit_width = width <= height ? side : (int)(s * width / height);
    *fit_height = width <= height ? (int)(s * height / width) : side;
}

/* A rectangle of the resized photograph, as one of the photograph. */
static void take_from_fit(
    const tutti_view_shape *shape, int left, int top, int width, int height, tutti_view *view)
{
    int fit_width, fit_height;
    tutti_view_fit(shape->resize, width, height, &fit_width, &fit_height);
    view->x = (double)left * width / fit_width;
    view->y = (double)top * height / fit_height;
    view->width = (double)shape->width * width / fit_width;
    view->height = (double)shape->height * height / fit_height;
}

/* Half of n >= 0; of two such numbers the even one, as torchvision's CenterCrop rounds. */
static int half_even(int n)
{
    return n / 2 + (n % 2 && n / 2 % 2);
}

static void take_centre(const tutti_view_shape *shape, int width, int height, tutti_view *view)
{
    int fit_width, fit_height;
    tutti_view_fit(shape->resize, width, height, &fit_width, &fit_height);
    int left = half_even(fit_width - shape->width), top = half_even(fit_height - shape->height);
    take_from_fit(shape, left, top, width, height, view);
}

static void draw_square(const tutti_view_choice *choice, const tutti_view_shape *shape,
    int64_t image, int width, int height, tutti_view *view)
{
    uint32_t place[4];
    int fit_width, fit_height;
    tutti_view_fit(shape->resize, width, height, &fit_width, &fit_height);
    tutti_rng_philox(choice->seed ^ tutti_rng_stream("view.square"), (uint64_t)choice->epoch,
        (uint64_t)image, place);
    int left = tutti_draw_below(place[0], fit_width - shape->width + 1),
        top = tutti_draw_below(place[1], fit_height - shape->height + 1);
    take_from_fit(shape, left, top, width, height, view);
}

static const double area_least = 0.08, ratio_most = 4.0 / 3, log_ratio_most = 0.28768207245178085;

/* The largest centred rectangle of an allowed ratio. */
static void take_largest(int width, int height, tutti_view *view)
{
    int w = width, h = height;
    if (width > height * ratio_most)
        w = tutti_draw_rounded(height * ratio_most);
    else if (height > width * ratio_most)
        h = tutti_draw_rounded(width * ratio_most);
    view->x = (width - w) / 2;
    view->y = (height - h) / 2;
    view->width = w;
    view->height = h;
}

static void draw_rectangle(
    const tutti_view_choice *choice, int64_t image, int width, int height, tutti_view *view)
{
    enum { TRIES = 10, STRIDE = 16 };
    uint64_t key = choice->seed ^ tutti_rng_stream("view.rectangle");
    view->clip = 1;
    for (int n = 0; n < TRIES; n++) {
        uint32_t d[4];
        tutti_rng_philox(key, (uint64_t)choice->epoch, (uint64_t)image * STRIDE + (uint64_t)n, d);
        double area =
            (double)width * height * (area_least + (1 - area_least) * tutti_draw_unit(d[0]));
        double ratio = tutti_draw_exp(log_ratio_most * (2.0 * tutti_draw_unit(d[1]) - 1));
        int w = tutti_draw_rounded(sqrt(area * ratio)), h = tutti_draw_rounded(sqrt(area / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        view->x = tutti_draw_below(d[2], width - w + 1);
        view->y = tutti_draw_below(d[3], height - h + 1);
        view->width = w;
        view->height = h;
        return;
    }
    take_largest(width, height, view);
}

/* Of a photograph. */
static void crop_photograph(const tutti_view_choice *choice, const tutti_view_shape *shape,
    int64_t image, int width, int height, tutti_view *view)
{
    if (!choice->crop || choice->augment == TUTTI_AUGMENT_NONE)
        take_centre(shape, width, height, view);
    else if (choice->augment == TUTTI_AUGMENT_CROP)
        draw_square(choice, shape, image, width, height, view);
    else
        draw_rectangle(choice, image, width, height, view);
}

tutti_view tutti_view_choose(const tutti_view_choice *choice, const tutti_view_shape *shape,
    int64_t image, int width, int height)
{
    tutti_view view = {.width = width,
        .height = height,
        .out_width = shape->width,
        .out_height = shape->height,
        .flip = choice->augment ? draw_flip(choice, image) : choice->flip,
        .rand_augment =
            tutti_rand_augment_choose(&choice->rand_augment, choice->seed, choice->epoch, image),
        .jitter = tutti_jitter_choose(&choice->jitter, choice->seed, choice->epoch, image),
        .erase = tutti_erase_choose(
            choice->erase, choice->seed, choice->epoch, image, shape->width, shape->height)};
    if (shape->resize)
        crop_photograph(choice, shape, image, width, height, &view);
    else if (choice->augment && choice->crop)
        draw_padded(choice, image, &view);
    return view;
}

/* The pixel of a row of n that appears at place p, with mirrors at both ends. */
static int mirror(int p, int n)
{
    if (n == 1) return 0;
    while (p < 0 || p >= n) p = p < 0 ? -p : 2 * (n - 1) - p;
    return p;
}

void tutti_view_copy(
    const tutti_view *view, int width, int height, int C, const uint8_t *pixels, uint8_t *out)
{
    size_t row_bytes = (size_t)width * (size_t)C;
    int left = (int)view->x, top = (int)view->y, columns = view->out_width, rows = view->out_height;
    if (!left && !top && columns == width && rows == height && !view->flip) {
        memcpy(out, pixels, (size_t)height * row_bytes);
        return;
    }
    for (int y = 0; y < rows; y++) {
        const uint8_t *row = pixels + (size_t)mirror(y + top, height) * row_bytes;
        for (int x = 0; x < columns; x++) {
            int from = mirror((view->flip ? columns - 1 - x : x) + left, width);
            const uint8_t *pixel = row + (size_t)from * (size_t)C;
            for (int c = 0; c < C; c++) *out++ = pixel[c];
        }
    }
}
