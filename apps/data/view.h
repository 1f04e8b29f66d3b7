/* Views: which part of an image the network sees, at what size, and whether mirrored. A view is a
 * pure value, drawn from (seed, epoch, image): the same on any number of ranks and threads and after
 * a resume. decode.h makes its pixels, which stay 8-bit; the step normalises them
 * (dag/kernels/pixel.h). [P]
 *
 * Training as in He et al. 2015 (arXiv:1512.03385, section 4.2): 4 pixels around the image, a random
 * crop of the original size, a flip about the vertical axis half of the time; with two changes that
 * make short runs more accurate (Jordan 2024, arXiv:2404.00498): the border mirrors the image
 * instead of being black, and flips alternate: a random half of the images is mirrored in even
 * epochs, the other half in odd ones, so that two epochs show every image both ways. In the last
 * epochs of a run the caller may omit the crop, so that the network ends with images positioned as
 * in the test set (Touvron et al. 2019, arXiv:1906.06423, on such shifts between training and
 * test). */
#ifndef TUTTI_VIEW_H
#define TUTTI_VIEW_H

#include <stdint.h>

enum { TUTTI_VIEW_PAD = 4 };

typedef struct tutti_view {
    int x, y, width, height; /* a rectangle of the image; beyond the edges, the image is mirrored */
    int flip;                /* about the vertical axis, after the crop */
} tutti_view;

/* How views are chosen. */
typedef struct tutti_view_choice {
    int augment; /* 0: every view is the whole image */
    int crop;    /* with augment; 0: the whole image; flips are the same as with a crop */
    int flip;    /* without augment: mirror every view */
    uint64_t seed;
    int64_t epoch;
} tutti_view_choice;

/* The view of image number `image`, which has this size. */
tutti_view tutti_view_choose(const tutti_view_choice *choice, int64_t image, int width, int height);

/* pixels [in]: (height,width,C), an image of this size. out [out]: (view.height,view.width,C), not
 * overlapping. Every pixel of `out` is one of `pixels`, because the border mirrors the image: no
 * value has to stand for "outside". */
void tutti_view_copy(
    const tutti_view *view, int width, int height, int C, const uint8_t *pixels, uint8_t *out);

#endif
