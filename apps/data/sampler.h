/* The order of images in an epoch as a pure function, and each rank's share of it. [P]
 *
 * The order of epoch e is a permutation of 0..count-1 that depends on (seed, e) alone. It is
 * computed place by place and never stored, so any thread, rank or resumed run may ask for any
 * place of any epoch. Method: a Feistel cipher on a x b >= count, with cycle walking when it leaves
 * 0..count-1. Source: Black & Rogaway 2002, "Ciphers with arbitrary finite domains", generalised
 * Feistel.
 *
 * With a window of G images reads are nearly sequential: an epoch goes through the data set in runs
 * of G images that follow each other there, and shuffles the images of each run. Both orders, of the
 * runs and within each, are such permutations. The runs begin at an image that the epoch draws, and
 * continue at the first image after the last one, so that other images meet in every epoch. The run at
 * the end of an epoch has what is left, fewer than G images.
 *
 * Global order: step s takes the next ranks*batch places of its epoch; rank r has the r-th run of
 * `batch` among them. So P ranks with batch b read what 1 rank with batch P*b reads, in the same
 * order. */
#ifndef TUTTI_SAMPLER_H
#define TUTTI_SAMPLER_H

#include <stdint.h>

typedef struct tutti_sampler {
    int64_t count; /* images in the data set, > 0 */
    int64_t batch; /* images per rank and step, > 0 */
    int rank, ranks;
    /* 1: endless shuffled epochs, without the tail that fills no global batch; 0: once, in
     * order. */
    int train;
    int64_t multiple; /* training: an epoch has a multiple of this many steps; 0: 1 */
    int64_t most;     /* training: an epoch has at most this many steps; 0: any number */
    /* training: images are shuffled within runs of this many; 0, or count and more: all at once */
    int64_t window;
    uint64_t seed;
} tutti_sampler;

/* What stands at place `place` (0..count-1) of a permutation of 0..count-1. With window 0 this is
 * the image at that place of an epoch. */
int64_t tutti_sampler_permute(uint64_t seed, int64_t epoch, int64_t count, int64_t place);

/* Steps of one epoch, or of the evaluation: the same on every rank. 0: too few images for one
 * training step. */
int64_t tutti_sampler_steps(const tutti_sampler *sampler);

/* The image in row `row` (0..batch-1) of step `step` on this rank; -1 past the end of an
 * evaluation. Training needs steps > 0. `epoch` (may be NULL) is set to the step's epoch; 0 in an
 * evaluation. */
int64_t tutti_sampler_image(
    const tutti_sampler *sampler, int64_t step, int64_t row, int64_t *epoch);

#endif
