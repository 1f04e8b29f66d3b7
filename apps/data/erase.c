#include "apps/data/erase.h"

#include "apps/data/draw.h"
#include "dag/base/rng.h"

#include <math.h>
#include <string.h>

static const double area_least = 0.02, area_most = 0.33;
/* Logarithms of 0.3 and 3.3. */
static const double log_ratio_least = -1.2039728043259361, log_ratio_most = 1.1939224684724346;

/* One of the rectangles that are tried; width 0: it does not fit. */
static void draw_rectangle(const uint32_t word[4], int width, int height, tutti_erase *erase)
{
    const double area =
        (double)width * height * (area_least + (area_most - area_least) * tutti_draw_unit(word[0]));
    const double ratio = tutti_draw_exp(
        log_ratio_least + (log_ratio_most - log_ratio_least) * tutti_draw_unit(word[1]));
    const int h = tutti_draw_rounded(sqrt(area * ratio)),
              w = tutti_draw_rounded(sqrt(area / ratio));
    if (w < 1 || h < 1 || w >= width || h >= height) return;
    erase->x = tutti_draw_below(word[2], width - w + 1);
    erase->y = tutti_draw_below(word[3], height - h + 1);
    erase->width = w;
    erase->height = h;
}

tutti_erase tutti_erase_choose(
    double chance, uint64_t seed, int64_t epoch, int64_t image, int width, int height)
{
    enum { TRIES = 10, STRIDE = 16 };
    tutti_erase erase = {.seed = seed, .epoch = epoch, .image = image};
    const uint64_t key = seed ^ tutti_rng_stream("view.erase"), first = (uint64_t)image * STRIDE;
    uint32_t word[4];
    if (!(chance > 0)) return erase;
    tutti_rng_philox(key, (uint64_t)epoch, first + TRIES, word);
    if (tutti_draw_unit(word[0]) >= chance) return erase;
    for (uint64_t n = 0; n < TRIES && !erase.width; n++) {
        tutti_rng_philox(key, (uint64_t)epoch, first + n, word);
        draw_rectangle(word, width, height, &erase);
    }
    return erase;
}

void tutti_erase_apply(const tutti_erase *erase, int width, int C, uint8_t *pixels)
{
    enum { BLOCKS = 20 }; /* of 16 bytes: less than 2^BLOCKS in an image */
    const uint64_t key = erase->seed ^ tutti_rng_stream("view.erase.bytes");
    const size_t row_bytes = (size_t)erase->width * (size_t)C;
    uint64_t block = (uint64_t)erase->image << BLOCKS;
    uint32_t word[4];
    size_t left = 0; /* bytes of `word` that have not been used */
    for (int y = 0; y < erase->height && erase->width; y++) {
        uint8_t *row =
            pixels + ((size_t)(erase->y + y) * (size_t)width + (size_t)erase->x) * (size_t)C;
        for (size_t done = 0, n; done < row_bytes; done += n, left -= n) {
            if (!left) tutti_rng_philox(key, (uint64_t)erase->epoch, block++, word);
            if (!left) left = sizeof word;
            n = row_bytes - done < left ? row_bytes - done : left;
            memcpy(row + done, (const uint8_t *)word + (sizeof word - left), n);
        }
    }
}
