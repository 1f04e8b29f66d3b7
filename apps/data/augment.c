#include "apps/data/augment.h"

#include "dag/base/rng.h"

#include <stddef.h>

tutti_augment tutti_augment_draw(uint64_t seed, int64_t epoch, int64_t image, int crop)
{
    enum { PLACES = 2 * TUTTI_AUGMENT_PAD + 1 };
    uint32_t place[4], first_flip[4];
    tutti_rng_philox(
        seed ^ tutti_rng_stream("augment.draw"), (uint64_t)epoch, (uint64_t)image, place);
    tutti_rng_philox(seed ^ tutti_rng_stream("augment.flip"), 0, (uint64_t)image, first_flip);
    return (tutti_augment){
        .dy = crop ? (int)(((uint64_t)place[0] * PLACES) >> 32) - TUTTI_AUGMENT_PAD : 0,
        .dx = crop ? (int)(((uint64_t)place[1] * PLACES) >> 32) - TUTTI_AUGMENT_PAD : 0,
        .flip = (int)((first_flip[0] ^ (uint32_t)epoch) & 1),
    };
}

/* The pixel of a row of n that appears at place p, with mirrors at both ends. */
static int mirror(int p, int n)
{
    if (n == 1) return 0;
    while (p < 0 || p >= n) p = p < 0 ? -p : 2 * (n - 1) - p;
    return p;
}

void tutti_augment_apply(
    tutti_augment augment, int H, int W, int C, const uint8_t *pixels, uint8_t *out)
{
    for (int y = 0; y < H; y++) {
        const uint8_t *row = pixels + (size_t)mirror(y + augment.dy, H) * (size_t)W * (size_t)C;
        for (int x = 0; x < W; x++) {
            int from = mirror((augment.flip ? W - 1 - x : x) + augment.dx, W);
            const uint8_t *pixel = row + (size_t)from * (size_t)C;
            for (int c = 0; c < C; c++) *out++ = pixel[c];
        }
    }
}
