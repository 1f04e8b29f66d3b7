/* The threads of this process, as the kernel lists them: how many of them could do something for the program. */
#ifndef TUTTI_CHECK_THREADS_H
#define TUTTI_CHECK_THREADS_H

#include <stdbool.h>

enum { TUTTI_THREADS_MOST = 256 };

/* Threads of the process at a moment. */
typedef struct tutti_threads {
    int count; /* at most TUTTI_THREADS_MOST */
    int id[TUTTI_THREADS_MOST];
} tutti_threads;

tutti_threads tutti_threads_now(void);
/* Those of `now` that are not in `before`. */
tutti_threads tutti_threads_new(const tutti_threads *now, const tutti_threads *before);
/* How many there are now that are not in `others` and do not wait, without a limit, for another thread of
 * the process. At least 1: the caller. */
int tutti_threads_awake(const tutti_threads *others);

#endif
