/* Snapshots: what a checkpoint holds of a trainer, in this rank's memory. The tensors are those of a checkpoint
 * (apps/session/weights.h), so training continues from a snapshot as from a checkpoint of the same step.
 *
 * There are two generations: a rank may have made a newer one when another, which has not, is lost. Each rank has
 * all of it, also where a strategy shards tensors: then all ranks call what is marked [*]. Threads: [M], with nothing
 * submitted. */
#ifndef TUTTI_TRAIN_SNAPSHOT_H
#define TUTTI_TRAIN_SNAPSHOT_H

#include "apps/train/trainer.h"

typedef struct tutti_snapshot {
    int64_t step; /* after it; 0: the beginning, of which nothing is kept; -1: there is none */
    int tensors;
    void **data; /* [tensors] */
    tutti_train_best best;
    tutti_rate_plateau plateau;
    tutti_epoch_sums sums;
    int64_t steps_per_epoch; /* an epoch with another number of steps has no part in the sums */
    tutti_dtype precision;
} tutti_snapshot;

typedef struct tutti_snapshots {
    tutti_snapshot newest, before;
} tutti_snapshots;

/* None, or the beginning of a run alone. */
void tutti_snapshots_begin(tutti_snapshots *kept, int has_beginning);
/* Makes one of the trainer after `step` steps, which becomes the newest. trainer->sums are those of that step. NOMEM
 * (logged). Errors of tutti_weights_gather. [*] On failure the newest is as before, and the one before it is gone. */
tutti_status tutti_snapshots_take(
    tutti_snapshots *kept, const tutti_trainer *trainer, int64_t step);
/* What a rank does that has this snapshot, where others make it. [*] */
tutti_status tutti_snapshots_attend(const tutti_trainer *trainer);
/* Newer ones are void; -1: all are. */
void tutti_snapshots_cut(tutti_snapshots *kept, int64_t step);
/* The snapshot of this step, if it is more than the beginning; NULL: there is none. */
const tutti_snapshot *tutti_snapshots_find(const tutti_snapshots *kept, int64_t step);
/* Writes it into a trainer whose session is STARTED: all of it, or, where tensors are sharded, all but these. */
tutti_status tutti_snapshot_restore(const tutti_snapshot *snapshot, tutti_trainer *trainer);
/* Then writes the tensors on all ranks, from rank 0, where alone it is not NULL. [*] Errors of tutti_weights_spread. */
tutti_status tutti_snapshot_spread(const tutti_snapshot *snapshot, tutti_trainer *trainer);
void tutti_snapshots_free(tutti_snapshots *kept);

#endif
