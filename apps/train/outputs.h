/* The files that a run writes: --checkpoint, --json and --trace, and which checkpoint it goes on from.
 *
 *   claim -> (save, write) -> release
 *
 * Rank 0 makes this process the writer of each (dag/base/lock.h) before anything else is done, so that
 * of two runs with one file the second ends at once, with a sentence that names the first. A
 * checkpoint that is there and that this run does not go on from is refused without --overwrite: one
 * forgotten --resume would cost a training. Threads: [M]; saving on one thread at a time. */
#ifndef TUTTI_TRAIN_OUTPUTS_H
#define TUTTI_TRAIN_OUTPUTS_H

#include "apps/train/checkpoint.h"
#include "apps/train/options.h"
#include "dag/base/lock.h"

enum { TUTTI_OUTPUTS = 3 };

typedef struct tutti_outputs {
    const tutti_train_options *options; /* borrowed */
    tutti_lock *lock[TUTTI_OUTPUTS];
    tutti_checkpoint *resumed; /* open until it is loaded; NULL without --resume */
    int earlier;      /* it is FILE.1, FILE.2 ..., as FILE is missing or damaged; 0: FILE */
    int resumed_here; /* --checkpoint is what --resume names */
    int continues;    /* what --checkpoint names is this run's: earlier ones are kept */
} tutti_outputs;

/* Takes the locks, and opens the checkpoint of --resume. On failure it can only be released. USAGE
 * (logged): --overwrite is missing; the errors of tutti_lock_take and
 * tutti_checkpoint_open_newest. */
tutti_status tutti_outputs_claim(const tutti_train_options *options, tutti_outputs *outputs);
/* After its weights are loaded: closes the checkpoint; where it is an earlier one of --checkpoint, it
 * takes that one's place. IO (logged). */
tutti_status tutti_outputs_resumed(tutti_outputs *outputs);
/* Where the next checkpoint goes. */
tutti_checkpoint_place tutti_outputs_place(const tutti_outputs *outputs);
/* Gives everything back. Can be called twice. */
void tutti_outputs_release(tutti_outputs *outputs);

#endif
