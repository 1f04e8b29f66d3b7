/* What the ranks of a run do together while they set it up. All ranks call it, but for what is [P].
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_AGREE_H
#define TUTTI_TRAIN_AGREE_H

#include "apps/train/trainer.h"

/* Ends a stage: a failure of any rank becomes that of all. INTERRUPTED if one was asked to end. */
tutti_status tutti_trainer_agree(tutti_trainer *trainer, tutti_status mine);
/* Returns the status; before the first step rank 0 logs an interruption. [P] */
tutti_status tutti_trainer_note_interrupt(const tutti_trainer *trainer, tutti_status status);
/* Rank 0's data on all ranks. Errors as of tutti_exchange_call. */
tutti_status tutti_trainer_broadcast(
    tutti_trainer *trainer, const char *name, tutti_dtype dtype, int64_t count, void *data);

#endif
