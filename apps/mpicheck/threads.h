/* The threads of this process, as the kernel lists them: how many of them could do something for the program. */
#ifndef TUTTI_MPICHECK_THREADS_H
#define TUTTI_MPICHECK_THREADS_H

#include <stdbool.h>

enum { MPICHECK_THREADS_MOST = 256 };

/* Threads of the process at a moment. */
typedef struct mpicheck_threads {
    int count; /* at most MPICHECK_THREADS_MOST */
    int id[MPICHECK_THREADS_MOST];
} mpicheck_threads;

mpicheck_threads mpicheck_threads_now(void);
/* Those of `now` that are not in `before`. */
mpicheck_threads mpicheck_threads_new(const mpicheck_threads *now, const mpicheck_threads *before);
/* How many there are now that are not in `others` and do not wait, without a limit, for another thread of
 * the process. At least 1: the caller. */
int mpicheck_threads_awake(const mpicheck_threads *others);

#endif
