/* The threads of this process, as the kernel lists them, and how many of them can make progress. */
#ifndef TUTTI_MPICHECK_THREADS_H
#define TUTTI_MPICHECK_THREADS_H

#include <stdbool.h>

enum { MPICHECK_THREADS_MOST = 256 };

/* The threads of the process at one moment. */
typedef struct mpicheck_threads {
    int count; /* at most MPICHECK_THREADS_MOST */
    int id[MPICHECK_THREADS_MOST];
} mpicheck_threads;

mpicheck_threads mpicheck_threads_now(void);
/* Those of `now` that are not in `before`. */
mpicheck_threads mpicheck_threads_new(const mpicheck_threads *now, const mpicheck_threads *before);
/* How many threads, of any number, are not in `others` and do not wait, without a timeout, for another
 * thread of the process. At least 1: the caller. INT_MAX: they cannot be listed. */
int mpicheck_threads_awake(const mpicheck_threads *others);

#endif
