/* What of a trainer goes into a checkpoint: every parameter, its momentum and every running
 * statistic, and the words that resuming checks.
 *
 *   model, shape, classes                     must be the same: the weights would mean something else
 *   seed, batch, ranks, images, steps, rate,  may differ: to go on with a lower rate, or for longer, is
 *   schedule, warm-up, momentum, decay,       what people resume for. A warning names all that does,
 *   smoothing, augmentation                   as the run is not the one that was interrupted
 *
 * With --design auto also what that has chosen, so that a resumed run chooses the same: other buckets
 * give sums other last bits.
 *
 * Checkpoints of versions that did not write all of these can be resumed from. Threads: [M], with
 * nothing submitted. */
#ifndef TUTTI_TRAIN_STATE_H
#define TUTTI_TRAIN_STATE_H

#include "apps/train/checkpoint.h"
#include "apps/train/trainer.h"

/* Its tensors, in the order of a checkpoint: how many, and the graph's number of each. */
int tutti_state_tensors(const tutti_trainer *trainer);
int tutti_state_tensor(const tutti_trainer *trainer, int i);

/* What --design auto had chosen for the run of a checkpoint. Returns whether there is such a choice,
 * and this run has as many ranks and the same batch. */
int tutti_state_choice(const tutti_trainer *trainer, const tutti_checkpoint *checkpoint,
    tutti_configuration *configuration);
/* To where tutti_outputs_place says. */
tutti_status tutti_state_save(tutti_trainer *trainer, int64_t step);
/* FORMAT (logged) when the file is no checkpoint of this model and data. */
tutti_status tutti_state_load(
    const tutti_trainer *trainer, tutti_checkpoint *checkpoint, int64_t *step);

#endif
