/* Batches, decoded and augmented ahead of the step by dedicated threads, which take a row of the
 * earliest unfinished batch at a time. Their images are bytes, a
 * quarter of what float32 would take here and on the way into the step, which normalises them.
 *
 * Training: an endless sequence of steps. Epoch e (step / steps_per_epoch) is a permutation of the
 * data set, a function of (seed, e) alone (sampler.h); each step takes the next ranks*batch images of it, rank
 * r the r-th run of `batch`; the tail of an epoch that fills no global batch is dropped (a
 * different tail every epoch). No image comes twice in an epoch, every rank has the same number of
 * steps, and step s has the same batch whether or not the run was resumed in between. Evaluation:
 * the whole split once, in order; rows beyond the end are zero with label -1: they do not count, and
 * in an evaluation an image has no influence on another one's loss. A damaged image fails its step,
 * or, where `bad` is given, is a row of zeros with label -1, too.
 *
 * Threads: open, next, await, close [M]; release [A]. */
#ifndef TUTTI_PREFETCH_H
#define TUTTI_PREFETCH_H

#include "apps/data/bad_images.h"
#include "apps/data/source.h"
#include "apps/data/view.h"

typedef struct tutti_prefetch tutti_prefetch;

typedef struct tutti_batch {
    int64_t step;
    const uint8_t *images; /* (batch,H,W,C) */
    const int32_t *labels; /* (batch) */
    tutti_prefetch *owner;
    int slot;
} tutti_batch;

/* Who wants to know when a thread (0..threads-1) made images of a step. Both are called by the
 * threads that read, at any time between open and close. */
typedef struct tutti_prefetch_observer {
    double (*now)(void *ctx); /* the time; 0: the next images do not matter */
    void (*made)(void *ctx, int thread, int64_t step, double begin_s, double end_s);
    void *ctx;
} tutti_prefetch_observer;

typedef struct tutti_prefetch_options {
    const tutti_dataset *dataset; /* borrowed until close */
    int train;                    /* 1: shuffled and endless; 0: evaluation */
    int rank, ranks;
    int64_t batch;             /* images per rank and step */
    int64_t first_step;        /* where to start (resume) */
    tutti_augment augment;     /* training only: random crops and flips (view.h) */
    tutti_rand_range rand_augment; /* training only, in every epoch (rand_augment.h) */
    tutti_jitter_range jitter; /* training only: of colours, in every epoch (jitter.h) */
    double erase;              /* training only: the chance of erasing a rectangle (erase.h) */
    int64_t multiple;          /* training only: an epoch has a multiple of this many steps; 0: 1 */
    int64_t most; /* training only: an epoch has at most this many steps; 0: any number */
    /* training only: images are shuffled within runs of this many (sampler.h); 0: all at once */
    int64_t window;
    int64_t crop_epochs; /* images of the first epochs are cropped; later ones only flipped */
    int views; /* evaluation only: 2: every batch twice, as it is and then mirrored; 0, 1: once */
    uint64_t seed;
    tutti_bad_images *bad; /* borrowed; used by next alone. NULL: a damaged image is a failure */
    int threads;           /* that read; 0: 1. Batches are bit-identical with any number */
    int depth; /* batches in memory, including those that the caller holds; 0: threads + 3 */
    int64_t memory_bytes; /* at most, for images: fewer batches, but at least 3; 0: any */
    int tell;             /* log how much is read ahead */
    tutti_prefetch_observer observer; /* zeroed: none */
} tutti_prefetch_options;

/* Steps in one epoch of training (a multiple of `multiple`), or in the evaluation: the same on every
 * rank. 0 if the data set is too small. [P] */
int64_t tutti_prefetch_steps(
    const tutti_dataset *dataset, int train, int ranks, int64_t batch, int64_t multiple);

/* INVAL (logged) if three batches, the least that open takes, are more than memory_bytes, unless those
 * are 0. [P] */
tutti_status tutti_prefetch_fits(const tutti_dataset *dataset, int64_t batch, int64_t memory_bytes);

/* INVAL (logged) if the data set is too small for a training step, an option is out of range, or
 * three batches do not fit into the memory; NOMEM. */
tutti_status tutti_prefetch_open(const tutti_prefetch_options *options, tutti_prefetch **prefetch);
/* The next batch in step order; the caller holds it until released, and may hold several (up to
 * depth). TIMEOUT (logged) after timeout_s: call again, nothing is lost. Returns a failure to read
 * at its step, and from then on: earlier steps are delivered, later ones are not. So it does FORMAT
 * at the step of a damaged image that is one too many. INVAL (logged) past the end of an
 * evaluation. */
tutti_status tutti_prefetch_next(
    tutti_prefetch *prefetch, double timeout_s, const tutti_batch **batch);
/* Waits for the next batch, at most at_most_s, which counts towards the timeout of next. Returns
 * whether next would return without waiting. */
int tutti_prefetch_await(tutti_prefetch *prefetch, double at_most_s);
/* Returns a batch, whose memory is reused. Takes const tutti_batch* as void* so that it can be a
 * feed's release. */
void tutti_prefetch_release(void *batch);
/* Stops and joins the threads, each after the image it is reading. All batches must have been
 * released. Accepts NULL. */
void tutti_prefetch_close(tutti_prefetch *prefetch);

#endif
