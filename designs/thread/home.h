/* The thread on which MPI starts and ends where exchanges come and go over one MPI: MPI wants to end
 * on the thread that started it, and the threads of exchanges (designs/thread/comm_thread.h) do not last.
 * In between it sleeps; other threads call MPI, one at a time. */
#ifndef TUTTI_HOME_H
#define TUTTI_HOME_H

#include "collectives/boot.h"

typedef struct tutti_home tutti_home;

/* Starts MPI with at least this level, or fails as tutti_boot_init does; TIMEOUT when that takes
 * longer than timeout_s, and then the thread stays, because it may be inside MPI. [M] */
tutti_status tutti_home_open(tutti_thread_level level, double timeout_s, tutti_home **home);
const tutti_boot *tutti_home_boot(const tutti_home *home); /* valid until close */
/* Ends MPI, nothing in flight, within the time that open was given (designs/thread/deadline.h); orderly 0: leaves
 * it as it is, since ending it would wait for a rank that is missing. Accepts NULL. [M] */
void tutti_home_close(tutti_home *home, int orderly);

#endif
