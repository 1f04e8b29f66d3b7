/* A thread waits until another says that something has ended.
 *
 *   init -> open (once, any thread) -> wait has returned 1 -> destroy
 *
 * The latch may lie on the stack of the thread that waits: open touches nothing of it after wait has
 * returned 1. [A] */
#ifndef TUTTI_LATCH_H
#define TUTTI_LATCH_H

#include "dag/base/status.h"

#include <pthread.h>

typedef struct tutti_latch {
    pthread_mutex_t lock; /* protects is_open and status; no other lock is taken under it */
    pthread_cond_t opened;
    int is_open;
    tutti_status status; /* given to open; to be read once wait has returned 1 */
} tutti_latch;

void tutti_latch_init(tutti_latch *latch);
void tutti_latch_destroy(tutti_latch *latch); /* nobody waits, and nobody will open it */
void tutti_latch_open(tutti_latch *latch, tutti_status status);
/* Whether it has been opened; waits for that at most timeout_s seconds, and with 0 not at all. */
int tutti_latch_wait(tutti_latch *latch, double timeout_s);

#endif
