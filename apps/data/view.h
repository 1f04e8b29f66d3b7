/* Views: which part of an image the network sees, at what size, whether mirrored, and how its colours
 * are changed. A view is a pure value, drawn from (seed, epoch, image): the same on any number of
 * ranks and threads and after a resume. decode.h makes its pixels, which stay 8-bit; the step
 * normalises them (dag/kernels/pixel.h). [P]
 *
 * Images of one size (CIFAR) are trained on as in He et al. 2015 (arXiv:1512.03385, section 4.2):
 * 4 pixels around the image, a random crop of the original size, a flip about the vertical axis half
 * of the time; with two changes that make short runs more accurate (Jordan 2024, arXiv:2404.00498):
 * the border mirrors the image instead of being black, and flips alternate: a random half of the
 * images is mirrored in even epochs, the other half in odd ones, so that two epochs show every image
 * both ways.
 *
 * Photographs have any size. An evaluation resizes the shorter side and cuts out the centre.
 * Training crops
 *   CROP      a random square of what an evaluation would resize (Krizhevsky et al. 2012), or
 *   STANDARD  a random rectangle of 8 to 100 % of the area with sides of 3:4 to 4:3, which is
 *             resized (Szegedy et al. 2015, arXiv:1409.4842, section 6); ten tries to fit one in,
 *             then the largest in the centre.
 *
 * In the last epochs of a run the caller may omit the crop, so that the network ends with images
 * positioned as in the test set (Touvron et al. 2019, arXiv:1906.06423, on such shifts between
 * training and test). */
#ifndef TUTTI_VIEW_H
#define TUTTI_VIEW_H

#include "apps/data/erase.h"
#include "apps/data/jitter.h"
#include "apps/data/rand_augment.h"

#include <stdint.h>

enum { TUTTI_VIEW_PAD = 4 };

typedef struct tutti_view {
    /* A rectangle of the image, in its pixels. At its own size it may reach beyond the edges, where
     * the image is mirrored. */
    double x, y, width, height;
    /* Resized: 1: only pixels in the rectangle count; 0: its neighbours, too, as if the whole image
     * had been resized */
    int clip;
    int out_width, out_height;
    int flip;            /* about the vertical axis */
    tutti_rand_augment rand_augment; /* then, of images with three channels */
    tutti_jitter jitter; /* then, of images with three channels */
    tutti_erase erase;   /* at last */
} tutti_view;

typedef enum tutti_augment {
    TUTTI_AUGMENT_NONE, /* as in an evaluation */
    TUTTI_AUGMENT_CROP,
    TUTTI_AUGMENT_STANDARD /* the same as CROP for images of one size */
} tutti_augment;

/* What all views of a data set have in common. */
typedef struct tutti_view_shape {
    int width, height; /* of every view */
    int resize; /* photographs: an evaluation resizes the shorter side to this; 0: all images have
                   the size of a view */
} tutti_view_shape;

/* How views are chosen. */
typedef struct tutti_view_choice {
    tutti_augment augment;
    int crop; /* with augment; 0: as in an evaluation, but flips are the same as with a crop */
    int flip; /* without augment: mirror every view */
    tutti_rand_range rand_augment; /* with or without augment */
    tutti_jitter_range jitter;     /* with or without augment */
    double erase; /* with or without augment: the chance of erasing a rectangle, 0 to 1 */
    uint64_t seed;
    int64_t epoch;
} tutti_view_choice;

/* The view of image number `image`, which has this size. */
tutti_view tutti_view_choose(const tutti_view_choice *choice, const tutti_view_shape *shape,
    int64_t image, int width, int height);

/* The size of a photograph whose shorter side becomes `side`, as torchvision's Resize rounds it. */
void tutti_view_fit(int side, int width, int height, int *fit_width, int *fit_height);

/* Makes a view that is not resized, with the colours of the image. pixels [in]: (height,width,C), an
 * image of this size. out [out]: (out_height,out_width,C), not overlapping. Every pixel of `out` is
 * one of `pixels`, because the border mirrors the image: no value has to stand for "outside". */
void tutti_view_copy(
    const tutti_view *view, int width, int height, int C, const uint8_t *pixels, uint8_t *out);

#endif
