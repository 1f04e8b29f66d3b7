/* RandAugment: a few operations on a training image, drawn from a list of 14, all with one magnitude. Which ones is
 * drawn from (seed, epoch, image): the same on any number of ranks and threads and after a resume. [P]
 *
 * Magnitudes are whole numbers M from 0 to 30, and mean
 *   shear x, y      a shift by 0.3 M/30 of the distance from the corner         (signed)
 *   translate x, y  150/331 M/30 of the side, rounded down                      (signed)
 *   rotate          M degrees about the centre                                  (signed)
 *   brightness, colour, contrast, sharpness: a factor of 1 + 0.9 M/30           (signed)
 *   posterize       4 M/30 lowest bits, rounded, become 0
 *   solarize        what is at least 255 (1 - M/30) is inverted
 *   identity, autocontrast, equalize  no magnitude
 * Half of the signed ones are negative. Pixels that move take the nearest one, and are black outside. The list,
 * magnitudes and arithmetic are those of torchvision's RandAugment on Pillow's images (jitter.h on factors; contrast
 * is stretched in whole numbers). Source: Cubuk et al. 2019, arXiv:1909.13719. */
#ifndef TUTTI_RAND_AUGMENT_H
#define TUTTI_RAND_AUGMENT_H

#include <stdint.h>

typedef enum tutti_rand_kind {
    TUTTI_RAND_IDENTITY,
    TUTTI_RAND_SHEAR_X,
    TUTTI_RAND_SHEAR_Y,
    TUTTI_RAND_TRANSLATE_X,
    TUTTI_RAND_TRANSLATE_Y,
    TUTTI_RAND_ROTATE,
    TUTTI_RAND_BRIGHTNESS,
    TUTTI_RAND_COLOUR,
    TUTTI_RAND_CONTRAST,
    TUTTI_RAND_SHARPNESS,
    TUTTI_RAND_POSTERIZE,
    TUTTI_RAND_SOLARIZE,
    TUTTI_RAND_AUTOCONTRAST,
    TUTTI_RAND_EQUALIZE,
    TUTTI_RAND_KINDS
} tutti_rand_kind;

enum { TUTTI_RAND_MOST = 8, TUTTI_RAND_MAGNITUDE = 30 };

/* How many operations, 0 to MOST, and their magnitude. */
typedef struct tutti_rand_range {
    int operations, magnitude;
} tutti_rand_range;

/* What happens to an image, in this order. */
typedef struct tutti_rand_augment {
    int operations;
    tutti_rand_kind kind[TUTTI_RAND_MOST];
    int magnitude[TUTTI_RAND_MOST]; /* below 0 of some signed ones */
} tutti_rand_augment;

tutti_rand_augment tutti_rand_augment_choose(
    const tutti_rand_range *range, uint64_t seed, int64_t epoch, int64_t image);

/* pixels [in, out]: (height,width,3), red, green and blue; scratch: memory of the same size */
void tutti_rand_augment_apply(
    const tutti_rand_augment *augment, int width, int height, uint8_t *scratch, uint8_t *pixels);

#endif
