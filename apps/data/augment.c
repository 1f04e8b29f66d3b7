#include "apps/data/augment.h"

#include "dag/base/rng.h"

#include <stddef.h>

tutti_augment tutti_augment_draw(uint64_t seed, int64_t epoch, int64_t image)
{
    enum { PLACES = 2 * TUTTI_AUGMENT_PAD + 1 };
    uint32_t w[4];
    tutti_rng_philox(seed ^ tutti_rng_stream("augment.draw"), (uint64_t)epoch, (uint64_t)image, w);
    return (tutti_augment){
        .dy = (int)(((uint64_t)w[0] * PLACES) >> 32) - TUTTI_AUGMENT_PAD,
        .dx = (int)(((uint64_t)w[1] * PLACES) >> 32) - TUTTI_AUGMENT_PAD,
        .flip = (int)(w[2] >> 31),
    };
}

void tutti_normalise_init(
    tutti_normalise *table, int channels, const float *mean, const float *deviation)
{
    for (int c = 0; c < channels; c++)
        for (int v = 0; v < 256; v++)
            table->value[c][v] = ((float)v / 255.0f - mean[c]) / deviation[c];
}

void tutti_augment_apply(const tutti_augment *augment, const tutti_normalise *table, int H, int W,
    int C, const uint8_t *pixels, float *out)
{
    static const tutti_augment none = {0};
    if (!augment) augment = &none;
    for (int y = 0; y < H; y++) {
        int from_y = y + augment->dy;
        int outside = from_y < 0 || from_y >= H;
        for (int x = 0; x < W; x++) {
            int from_x = (augment->flip ? W - 1 - x : x) + augment->dx;
            int black = outside || from_x < 0 || from_x >= W;
            const uint8_t *pixel =
                black ? NULL : pixels + ((size_t)from_y * (size_t)W + (size_t)from_x) * (size_t)C;
            for (int c = 0; c < C; c++) *out++ = table->value[c][pixel ? pixel[c] : 0];
        }
    }
}
