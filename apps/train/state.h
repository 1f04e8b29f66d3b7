/* The part of a trainer that a checkpoint holds: every parameter, what the optimizer keeps of it,
 * every running statistic, averages, and the words that resuming checks.
 *
 *   model, shape, classes, optimizer          must be the same, or the numbers mean something else
 *   seed, batch, ranks, images, steps, rate,  may differ: people resume with a lower rate
 *   schedule, warm-up, momentum, decay,       or for longer. A warning names all differences,
 *   smoothing, augmentation, shuffling, wire, because this is not the run that was interrupted
 *   precision, numbers of the optimizer
 *
 * With --design auto it also holds the choice, and with --engines timed the engines, so that a resumed
 * run chooses the same: other buckets, and other engines, change the last bits of sums.
 *
 * Checkpoints of versions that did not write all of these can still be resumed. Threads: [M], with
 * nothing submitted. */
#ifndef TUTTI_TRAIN_STATE_H
#define TUTTI_TRAIN_STATE_H

#include "apps/train/checkpoint.h"
#include "apps/train/trainer.h"

/* The choice of --design auto for the run of a checkpoint. Returns whether there is one and this
 * run has the same number of ranks and the same batch. */
int tutti_state_choice(const tutti_trainer *trainer, const tutti_checkpoint *checkpoint,
    tutti_configuration *configuration);
/* Takes the engines of the run of a checkpoint, whose sums were added in their order. Warns where this run's are
 * others. FORMAT (logged) if what it has are none. */
tutti_status tutti_state_engines(tutti_trainer *trainer, const tutti_checkpoint *checkpoint);
/* The type in which the run of a checkpoint computed; float32 if it does not say. */
tutti_dtype tutti_state_precision(const tutti_checkpoint *checkpoint);
/* Saves to tutti_outputs_place: the checkpoint, or the best one. In a pipeline trainer->elsewhere has what
 * other stages hold. */
tutti_status tutti_state_save(tutti_trainer *trainer, int64_t step, int best);
/* FORMAT (logged) if the file is not a checkpoint of this model and data. */
tutti_status tutti_state_load(tutti_trainer *trainer, tutti_checkpoint *checkpoint, int64_t *step);
/* In a pipeline load reads no tensors: this fills one (tutti_weights_spread) from the checkpoint that
 * the run resumes. */
tutti_status tutti_state_fill(void *trainer, const tutti_tensor *tensor, void *data, int *filled);

#endif
