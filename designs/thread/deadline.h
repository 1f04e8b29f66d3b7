/* A deadline for calls that block inside MPI on a thread that no other thread waits for: setup on the
 * main thread (the sequential design), and MPI_Finalize. If a rank never arrives, such a call waits
 * forever, and it cannot be interrupted.
 *
 *   open -> the call -> close
 *
 * Threads: both are called by the thread that makes the call. */
#ifndef TUTTI_DEADLINE_H
#define TUTTI_DEADLINE_H

typedef struct tutti_deadline tutti_deadline;

typedef enum tutti_deadline_of {
    TUTTI_DEADLINE_START, /* MPI_Init_thread, and opening the lanes */
    TUTTI_DEADLINE_END    /* MPI_Finalize */
} tutti_deadline_of;

/* The call must return within limit_s seconds from now. Otherwise the process logs which call has not
 * returned and exits with status 1, which ends all ranks. NULL if memory or a thread is lacking
 * (logged): then the call has no deadline. */
tutti_deadline *tutti_deadline_open(tutti_deadline_of of, double limit_s);
void tutti_deadline_close(tutti_deadline *deadline); /* the call has returned; accepts NULL */

#endif
