/* What the ranks of a run do together while they set it up. All ranks call it, but for what is [P].
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_AGREE_H
#define TUTTI_TRAIN_AGREE_H

#include "apps/train/trainer.h"

/* Ends a stage: a failure of any rank becomes that of all. INTERRUPTED if one was asked to end; but a run that
 * begins from a snapshot ends before its first step, when that is saved. */
tutti_status tutti_trainer_agree(tutti_trainer *trainer, tutti_status mine);
/* The signal that asks this rank to end the run; 0: none. In an elastic run SIGTERM is none: it asks the rank alone to
 * leave, after the next step. */
int tutti_trainer_ends(const tutti_trainer *trainer);
/* Returns the status. After an interruption before the first step the ranks agree on the signal, and rank 0
 * logs it. All ranks have the same status. */
tutti_status tutti_trainer_record_interrupt(const tutti_trainer *trainer, tutti_status status);
/* Whether a run that starts again meets this failure again: a file that is not what it should be. [P] */
int tutti_trainer_is_lasting(tutti_status status);
/* Tells tutti-run so, where it has started the run; to be called once a run. */
void tutti_trainer_warn_lasting(void);
/* Rank 0's data on all ranks. Errors as of tutti_exchange_call. */
tutti_status tutti_trainer_broadcast(
    tutti_trainer *trainer, const char *name, tutti_dtype dtype, int64_t count, void *data);

#endif
