/* The thread on which MPI starts and ends where exchanges come and go over one MPI: MPI wants to end
 * on the thread that started it, and the threads of exchanges (designs/thread/comm_thread.h) do not last.
 * In between it sleeps; other threads call MPI, one at a time. */
#ifndef TUTTI_MPI_THREAD_H
#define TUTTI_MPI_THREAD_H

#include "collectives/boot.h"

typedef struct tutti_mpi_thread tutti_mpi_thread;

/* Starts MPI with at least this level, or fails as tutti_boot_init does; TIMEOUT when that takes
 * longer than timeout_s, and then the thread stays, because it may be inside MPI. [M] */
tutti_status tutti_mpi_thread_open(
    tutti_thread_level level, double timeout_s, tutti_mpi_thread **thread);
const tutti_boot *tutti_mpi_thread_boot(const tutti_mpi_thread *thread); /* valid until close */
/* Ends MPI, nothing in flight, within the time that open was given (designs/thread/deadline.h); orderly 0: leaves
 * it as it is, since ending it would wait for a rank that is missing. Accepts NULL. [M] */
void tutti_mpi_thread_close(tutti_mpi_thread *thread, int orderly);

#endif
