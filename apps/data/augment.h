/* Images as the network sees them: cropped and mirrored, still as 8-bit pixels, which the step
 * normalises (dag/kernels/pixel.h). [P]
 *
 * Augmentation as in He et al. 2015 (arXiv:1512.03385, section 4.2): 4 pixels around the image, a
 * random crop of the original size, a flip about the vertical axis half of the time; with two
 * changes that make short runs more accurate (Jordan 2024, arXiv:2404.00498): the border mirrors
 * the image instead of being black, and flips alternate: a random half of the images is mirrored in
 * even epochs, the other half in odd ones, so that two epochs show every image both ways. In the
 * last epochs of a run the caller may omit the crop, so that the network ends with images
 * positioned as in the test set (Touvron et al. 2019, arXiv:1906.06423, on such shifts between
 * training and test). The random choices are a function of (seed, epoch, image): the same on any
 * number of ranks and after a resume. */
#ifndef TUTTI_AUGMENT_H
#define TUTTI_AUGMENT_H

#include <stdint.h>

enum { TUTTI_AUGMENT_PAD = 4 };

typedef struct tutti_augment {
    int dy, dx; /* -4..4: where the crop begins, relative to the image */
    int flip;   /* mirrored after the crop */
} tutti_augment;

/* crop 0: dy and dx are 0; flip is the same as with a crop. */
tutti_augment tutti_augment_draw(uint64_t seed, int64_t epoch, int64_t image, int crop);

/* pixels [in], out [out]: (H,W,C), not overlapping. Every pixel of `out` is one of `pixels`, because
 * the border mirrors the image: no value has to stand for "outside". */
void tutti_augment_apply(
    tutti_augment augment, int H, int W, int C, const uint8_t *pixels, uint8_t *out);

#endif
