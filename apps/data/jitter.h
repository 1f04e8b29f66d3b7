/* Colour jitter: brightness, contrast and saturation of an image, each multiplied with a factor near
 * 1, one after the other. Factors and order are drawn from (seed, epoch, image): the same on any
 * number of ranks and threads and after a resume. [P]
 *
 * A pixel x moves on the line through x and another value: x' = other + factor * (x - other), cut off
 * to 0..255, without the fraction. The other value is
 *   brightness  0
 *   contrast    the mean grey of the image, rounded
 *   saturation  the pixel's own grey, (19595 R + 38470 G + 7471 B + 32768) / 65536
 * That is what Pillow's ImageEnhance computes, and torchvision's ColorJitter with it; factors are
 * multiples of 1/16384, with which Pillow's float arithmetic is exact, and equal to that in integers
 * here. Order: any of the six (torchvision's are four operations in any order; without hue, whose
 * place then makes no difference, that is the same). Source: Howard 2013, arXiv:1312.5402. */
#ifndef TUTTI_JITTER_H
#define TUTTI_JITTER_H

#include <stdint.h>

typedef enum tutti_jitter_operation {
    TUTTI_JITTER_BRIGHTNESS,
    TUTTI_JITTER_CONTRAST,
    TUTTI_JITTER_SATURATION,
} tutti_jitter_operation;

enum { TUTTI_JITTER_OPERATIONS = 3, TUTTI_JITTER_ONE = 1 << 14, TUTTI_JITTER_CHANNELS = 3 };

/* How far a factor may be from 1, at most ONE, by operation; in 1/ONE. All 0: colours stay. */
typedef struct tutti_jitter_range {
    int most[TUTTI_JITTER_OPERATIONS];
} tutti_jitter_range;

/* What happens to an image, in this order. */
typedef struct tutti_jitter {
    tutti_jitter_operation operation[TUTTI_JITTER_OPERATIONS];
    int factor[TUTTI_JITTER_OPERATIONS]; /* of operation[i], in 1/ONE, 0 to 2 ONE */
} tutti_jitter;

/* Factors are uniform, and all orders equally likely. */
tutti_jitter tutti_jitter_choose(
    const tutti_jitter_range *range, uint64_t seed, int64_t epoch, int64_t image);

/* pixels [in, out]: (count,3), red, green and blue */
void tutti_jitter_apply(const tutti_jitter *jitter, int64_t count, uint8_t *pixels);

#endif
