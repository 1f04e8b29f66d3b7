/* Writing a checkpoint while the other ranks wait, however long the disk takes.
 *   rank 0    a thread writes; once a second it lets the others know that it still does
 *   others    wait for rank 0's next message, each time with the usual deadline
 *
 * So a slow disk is not mistaken for a lost rank, and a lost rank is still found within --timeout.
 * A checkpoint that takes longer than ten times --timeout fails. Threads: [M]. */
#ifndef TUTTI_TRAIN_SAVER_H
#define TUTTI_TRAIN_SAVER_H

#include "apps/train/trainer.h"

/* Writes --checkpoint (best: FILE.best) on rank 0 after `step` steps; all ranks call it with nothing submitted and
 * return the same. *together: whether all do; 0 if the ranks lost each other (COMM, TIMEOUT) or the
 * checkpoint took too long (TIMEOUT, logged; the thread may still be writing, so its data must
 * stay; in an elastic run it has ended, or this call ends the process). NOMEM, and the errors of tutti_state_save. */
tutti_status tutti_saver_save(tutti_trainer *trainer, int64_t step, int best, int *together);

#endif
