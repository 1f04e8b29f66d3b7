/* What a driver is made of: shared by driver_pass.c (posting, and a pass over all), driver_start.c (which
 * collective may start), driver_entry.c (how one starts and ends), driver_fail.c (failing, telling
 * the other ranks, parting), driver_drain.c (the end of what is in flight then), driver_order.c (the
 * order of a step's collectives) and driver_show.c (reports). */
#ifndef TUTTI_DRIVER_PARTS_H
#define TUTTI_DRIVER_PARTS_H

#include "dag/base/log.h"
#include "designs/drive/driver.h"
#include "designs/drive/fault.h"
#include "designs/queue/queue.h"

#include <pthread.h>

/* After a failure nothing starts, and what is in flight ends without a result: messages that have met
 * no partner are cancelled, those that have end. Only then are tokens finished, for their data are the program's
 * again. Ranks need each other for that, and each goes on until all have said that nothing of theirs is in flight. */
typedef struct tutti_drain {
    double began_s;   /* 0: it has not */
    double clean_s;   /* nothing of this rank is in flight since then; 0: something is */
    int others_clean; /* how many have said so */
} tutti_drain;

struct tutti_driver {
    tutti_driver_options options;
    tutti_comm *comm;
    tutti_verify *verify;       /* NULL when nothing is compared */
    tutti_fault *fault;         /* NULL but in tests of what goes wrong */
    int64_t *asking;            /* [lanes] the sequence number of who asks to start, or -1 */
    pthread_mutex_t *comm_lock; /* protects calls on comm and verify; first of the two locks. The
                                   transport's, which drivers may share, or own_lock */
    pthread_mutex_t own_lock;
    pthread_mutex_t queue_lock; /* protects what follows */
    tutti_queue queue;
    tutti_record record;
    tutti_observed *observed; /* NULL: nobody wants to know; borrowed */
    int64_t ended;            /* collectives */
    int held;                 /* rules that start at_once: entries that are ready and had to wait */
    int curious;              /* verify wants more passes */
    tutti_status failure;     /* given to fail: nothing starts any more */
    char why[TUTTI_ERROR_TEXT]; /* its sentence */
    tutti_drain drain;        /* after it */
};

/* Ends the driver with this status and sentence. Returns whether it is the first. */
int tutti_driver_set_failure(tutti_driver *d, tutti_status failure, const char *sentence);
tutti_status tutti_driver_failure(tutti_driver *d);
/* This rank's own trouble, which its log has told: its lanes are out of step, so that the others end,
 * too. comm_lock held. */
void tutti_driver_share(tutti_driver *d, tutti_status status);
/* Another rank says that all must end: a tutti_control_handler. comm_lock held. */
void tutti_driver_hear_abort(void *ctx, const tutti_control_message *message);

/* Starts what may start in a pass. Returns how many. comm_lock held. */
int tutti_driver_start_next(tutti_driver *d);
/* Rules that start at_once: starts the chunks from this sequence number on. One that cannot start at once is tried
 * again in every pass; so are those behind it. comm_lock held. */
void tutti_driver_start_at_once(tutti_driver *d, int64_t first, int chunks);
/* Whether something is ready that whoever passes may start. queue_lock held. */
int tutti_driver_may_start(tutti_driver *d);

/* Posts this entry on its lane; where that fails it ends at once. comm_lock held. */
void tutti_driver_start_entry(tutti_driver *d, const tutti_entry *ready);
/* Forgets an entry, and finishes its token after the last chunk. comm_lock held. */
void tutti_driver_end_entry(tutti_driver *d, int64_t sequence, tutti_status status);
/* Ends what is done. comm_lock held. */
void tutti_driver_end_done(tutti_driver *d);
/* A pass after a failure: ends with it what is ready, and what was in flight once it is drained. comm_lock held. */
void tutti_driver_drain(tutti_driver *d, tutti_status failure);
/* Whether the drain still has to be hurried: something waits for it, here or on another rank. queue_lock held. */
int tutti_driver_draining(tutti_driver *d);
/* Another rank says that nothing of it is in flight: a tutti_control_handler. comm_lock held. */
void tutti_driver_hear_drained(void *ctx, const tutti_control_message *message);

#endif
