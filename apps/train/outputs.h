/* The files that a run writes, --checkpoint, --json, --trace, --csv and --report, and the checkpoint
 * that it resumes from.
 *
 *   claim -> (save, write) -> release
 *
 * Rank 0 first makes this process the writer of each (dag/base/lock.h), so that of two runs with
 * the same file the second ends at once, with an error that names the first. An existing checkpoint
 * that this run does not resume from is refused without --overwrite: a forgotten --resume would
 * destroy a training run. Threads: [M]; saving on one thread at a time. */
#ifndef TUTTI_TRAIN_OUTPUTS_H
#define TUTTI_TRAIN_OUTPUTS_H

#include "apps/train/checkpoint.h"
#include "apps/train/options.h"
#include "dag/base/lock.h"

enum { TUTTI_OUTPUTS = 7 };

typedef struct tutti_outputs {
    const tutti_train_options *options; /* borrowed */
    tutti_lock *lock[TUTTI_OUTPUTS];
    tutti_checkpoint *resumed; /* open until it is loaded; NULL without --resume */
    char *best;                /* of --keep-best; NULL without it */
    int earlier;               /* n: it is FILE.n, because FILE is missing or damaged; 0: FILE */
    int resumed_here;          /* --checkpoint and --resume name the same file */
    int continues;             /* the file of --checkpoint is this run's: earlier ones are kept */
} tutti_outputs;

/* Takes the locks, and opens the checkpoint of --resume. continues: the files are this run's already; restored: its
 * weights come from elsewhere, so --resume is not opened. After a failure only release is allowed.
 * USAGE (logged): --overwrite is missing; the errors of tutti_lock_take and
 * tutti_checkpoint_open_newest. */
tutti_status tutti_outputs_claim(
    const tutti_train_options *options, int continues, int restored, tutti_outputs *outputs);
/* After its weights are loaded: closes the checkpoint. If it is an earlier file of --checkpoint, it
 * replaces that one. IO (logged). */
tutti_status tutti_outputs_resumed(tutti_outputs *outputs);
/* Where to save the next checkpoint, or the best one. */
tutti_checkpoint_place tutti_outputs_place(const tutti_outputs *outputs, int best);
/* Whether FILE.best is missing, damaged or of a step before this one. */
int tutti_outputs_lost_best(const tutti_outputs *outputs, int64_t step);
/* Releases everything. May be called twice. */
void tutti_outputs_release(tutti_outputs *outputs);

#endif
