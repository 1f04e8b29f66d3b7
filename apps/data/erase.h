/* Random erasing: a rectangle of some views is filled with random bytes, so that the network does not depend on a
 * single part of an image. Which views, where, and the bytes are drawn from (seed, epoch, image): the same on any
 * number of ranks and threads and after a resume. [P]
 *
 * A rectangle has 2 to 33 % of the area, uniform, and a height of 0.3 to 3.3 times its width, uniform in the
 * logarithm; ten tries to fit one in that is smaller than the image both ways, then none. That is what torchvision's
 * RandomErasing draws. Source: Zhong et al. 2017, arXiv:1708.04896, section 3, whose best fill (RE-R) are random
 * bytes. */
#ifndef TUTTI_ERASE_H
#define TUTTI_ERASE_H

#include <stdint.h>

typedef struct tutti_erase {
    int x, y, width, height; /* in the view; width 0: nothing is erased */
    uint64_t seed;           /* of the bytes */
    int64_t epoch, image;
} tutti_erase;

/* In a view of this size, with this chance, 0 to 1. */
tutti_erase tutti_erase_choose(
    double chance, uint64_t seed, int64_t epoch, int64_t image, int width, int height);

/* pixels [in, out]: (.,width,C) of the view */
void tutti_erase_apply(const tutti_erase *erase, int width, int C, uint8_t *pixels);

#endif
