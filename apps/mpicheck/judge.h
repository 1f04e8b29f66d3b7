/* The judge: a thread of rank 0 that follows what all ranks do and reports what does not fit.
 *
 * Collectives are matched by communicator and number as they are announced; a blocking one starts
 * when all members have announced the same. A waiting rank reports what it waits for; when no
 * running rank can ever free some of the waiting ones, and they still wait after two questions,
 * that is a deadlock. The judge reports one error, then all ranks end. */
#ifndef TUTTI_MPICHECK_JUDGE_H
#define TUTTI_MPICHECK_JUDGE_H

#include "apps/mpicheck/channel.h"

typedef struct mpicheck_judge mpicheck_judge;

/* Starts the thread, which owns the listening socket; NULL when memory or threads run out. */
mpicheck_judge *mpicheck_judge_start(int listener, const mpicheck_card *card, int ranks);
/* Stops the thread, whatever the ranks do, and frees the judge. */
void mpicheck_judge_quit(mpicheck_judge *judge);
/* Waits until the thread has ended, and frees the judge; accepts NULL. */
void mpicheck_judge_join(mpicheck_judge *judge);

#endif
