/* One thread waits until another signals that something has ended.
 *
 *   init -> open (once, any thread) -> wait has returned 1 -> destroy
 *
 * The latch may live on the waiting thread's stack: open does not touch it after wait has returned
 * 1. [A] */
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
void tutti_latch_destroy(tutti_latch *latch); /* no thread waits, and none will open it */
void tutti_latch_open(tutti_latch *latch, tutti_status status);
/* Waits at most timeout_s seconds (0: not at all) until it is open; returns whether it is. */
int tutti_latch_wait(tutti_latch *latch, double timeout_s);

#endif
