/* Whether a checkpoint's tensors are finite, and what the ranks do if one is not, or if a rank was
 * asked to end. Threads: [M], with nothing submitted. */
#ifndef TUTTI_TRAIN_FINITE_H
#define TUTTI_TRAIN_FINITE_H

#include "apps/train/trainer.h"

/* Whether all of these are finite. [P] */
int tutti_finite_block(const float *data, int64_t count);
/* The first of the weights (apps/session/weights.h) with a value that is not finite, or -1. Cost:
 * one pass over the tensors. */
int tutti_finite_find(const tutti_training_session *session);

/* What one rank has found, in order of increasing weight. */
typedef enum tutti_finding_kind {
    TUTTI_FINDING_NONE,
    TUTTI_FINDING_LEAVES,  /* of an elastic run: a signal asks this rank alone; what: the signal */
    TUTTI_FINDING_SIGNAL,  /* what: the signal */
    TUTTI_FINDING_WEIGHTS, /* what: the tensor's number among the weights */
    TUTTI_FINDING_AFTER,   /* the loss of the last batch, after its update */
    TUTTI_FINDING_LOSS     /* what: the step, from 1, whose loss is not finite */
} tutti_finding_kind;

typedef struct tutti_finding {
    int64_t kind, what;
} tutti_finding;

/* Logs on rank 0 what `rank` (-1: all ranks, with the test images) has found, and returns
 * KERNEL. */
tutti_status tutti_finding_refuse(const tutti_trainer *trainer, int64_t step, int64_t saved,
    int rank, const tutti_finding *found);

/* All ranks call it after `step` steps and get the same result: KERNEL if a value is not finite
 * (rank 0 logs the rank, the step or tensor, and the checkpoint's step `saved`; 0: no checkpoint);
 * otherwise OK and the signal that ends the run, or 0. COMM, TIMEOUT: the ranks could not
 * agree. */
tutti_status tutti_finding_agree(const tutti_trainer *trainer, int64_t step, int64_t saved,
    const tutti_finding *mine, int *signal);

#endif
