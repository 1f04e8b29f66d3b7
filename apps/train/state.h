/* What of a trainer goes into a checkpoint: every parameter, its momentum and every running
 * statistic, and the words that resuming checks: model, shape and classes must be the same; another
 * seed, batch or number of ranks is allowed, with a warning that the run is not the one that was
 * interrupted. Threads: [M], with nothing submitted. */
#ifndef TUTTI_TRAIN_STATE_H
#define TUTTI_TRAIN_STATE_H

#include "apps/train/checkpoint.h"
#include "apps/train/trainer.h"

/* Its tensors, in the order of a checkpoint: how many, and the graph's number of each. */
int tutti_state_tensors(const tutti_trainer *trainer);
int tutti_state_tensor(const tutti_trainer *trainer, int i);

tutti_status tutti_state_save(const tutti_trainer *trainer, const char *path, int64_t step);
/* FORMAT (logged) when the file is no checkpoint of this model and data. */
tutti_status tutti_state_load(const tutti_trainer *trainer, const char *path, int64_t *step);

#endif
