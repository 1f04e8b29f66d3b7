/* What a driver is made of: shared by driver.c (starting and ending collectives), driver_fail.c
 * (failing, telling the other ranks, parting), driver_order.c (the order of a step's collectives)
 * and driver_show.c (reports). */
#ifndef TUTTI_DRIVER_PARTS_H
#define TUTTI_DRIVER_PARTS_H

#include "designs/driver.h"
#include "designs/fault.h"
#include "designs/queue.h"

#include <pthread.h>

struct tutti_driver {
    tutti_driver_options options;
    tutti_comm *comm;
    tutti_verify *verify;       /* NULL when nothing is compared */
    tutti_fault *fault;         /* NULL but in tests of what goes wrong */
    int64_t *asking;            /* [lanes] the sequence number of who asks to start, or -1 */
    pthread_mutex_t comm_lock;  /* protects calls on comm and verify; first of the two locks */
    pthread_mutex_t queue_lock; /* protects what follows */
    tutti_queue queue;
    tutti_record record;
    tutti_observed *observed; /* NULL: nobody wants to know; borrowed */
    int64_t ended;            /* collectives */
    int held;                 /* ORDER_READY: entries that are ready and had to wait */
    int curious;              /* verify wants more passes */
    tutti_status failure;     /* given to fail: nothing starts any more */
};

/* Ends the driver with this status. Returns whether it is the first. */
int tutti_driver_set_failure(tutti_driver *d, tutti_status failure);
tutti_status tutti_driver_failure(tutti_driver *d);
/* This rank's own trouble, which its log has told: its lanes are out of step, so that the others end,
 * too. comm_lock held. */
void tutti_driver_share(tutti_driver *d, tutti_status status);
/* Another rank says that all must end: a tutti_control_handler. comm_lock held. */
void tutti_driver_hear_abort(void *ctx, const tutti_control_message *message);
/* Whether something is ready that whoever passes may start. queue_lock held. */
int tutti_driver_may_start(tutti_driver *d);

#endif
