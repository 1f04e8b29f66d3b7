/* The thread on which MPI starts and ends when several exchanges use one MPI, one after the other. MPI
 * must end on the thread that started it, and the threads of exchanges (designs/thread/comm_thread.h)
 * end earlier. In between it sleeps, and other threads call MPI, one at a time. */
#ifndef TUTTI_MPI_THREAD_H
#define TUTTI_MPI_THREAD_H

#include "collectives/boot.h"

typedef struct tutti_mpi_thread tutti_mpi_thread;

/* Starts MPI with at least this level, or fails as tutti_boot_init does. TIMEOUT if that takes
 * longer than timeout_s; the thread then stays, because it may be inside MPI. [M] */
tutti_status tutti_mpi_thread_open(
    tutti_thread_level level, double timeout_s, tutti_mpi_thread **thread);
const tutti_boot *tutti_mpi_thread_boot(const tutti_mpi_thread *thread); /* valid until close */
/* Ends MPI, with nothing in flight, within open's timeout_s (designs/thread/deadline.h). orderly 0:
 * does not finalise MPI, which would wait for a missing rank. Accepts NULL. [M] */
void tutti_mpi_thread_close(tutti_mpi_thread *thread, int orderly);

#endif
