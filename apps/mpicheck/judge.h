/* The judge: a thread of rank 0 that hears what all ranks do and says what does not fit.
 *
 * Collectives are matched by communicator and number as they are announced; a blocking one starts when
 * all members have announced the same. Ranks that wait say for what; when no rank that runs can ever free
 * some of them, and they still wait after two questions, that is a deadlock. An error is reported once,
 * and all ranks end. */
#ifndef TUTTI_MPICHECK_JUDGE_H
#define TUTTI_MPICHECK_JUDGE_H

#include "apps/mpicheck/channel.h"

typedef struct mpicheck_judge mpicheck_judge;

/* Starts the thread, which owns the listening socket; NULL when there is no memory or no thread. */
mpicheck_judge *mpicheck_judge_start(int listener, const mpicheck_card *card, int ranks);
/* Has the thread end, whatever the ranks do, and frees the judge. */
void mpicheck_judge_quit(mpicheck_judge *judge);
/* Waits until the thread has ended, and frees the judge; NULL is nothing. */
void mpicheck_judge_join(mpicheck_judge *judge);

#endif
