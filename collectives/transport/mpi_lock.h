/* One lock for all calls of MPI in this process.
 *
 * MPI is one for a process, however many exchanges and sessions are open, and MPI_THREAD_SERIALIZED lets
 * one thread be inside it at a time. So the lock belongs to the process as well: it is the library's one
 * piece of state that hangs on no handle. Every thread that calls MPI holds it, except for MPI_Init_thread,
 * MPI_Finalize (when nobody else is left) and MPI_Abort. A transport over MPI gives it to its users
 * (tutti_transport.lock).
 *
 * Nobody blocks inside MPI with the lock held while another session is open: that session's partner on
 * another rank could be waiting for progress that only the blocked process can make. What has to wait for
 * other ranks is therefore started without blocking and awaited in turns, and the algorithm "mpi", which
 * blocks, needs MPI for itself (claim). */
#ifndef TUTTI_TRANSPORT_MPI_LOCK_H
#define TUTTI_TRANSPORT_MPI_LOCK_H

#include "dag/base/status.h"

#include <mpi.h>
#include <pthread.h>

/* Lasts as long as the process. First in the order of locks (doc/threads.md). [A] */
pthread_mutex_t *tutti_mpi_lock(void);

/* MPI_Finalize has been called: a thread of this library that awaits something will not be inside MPI
 * again, and never returns from tutti_mpi_await. [A] */
void tutti_mpi_ends(void);

/* Waits until the request has ended. The lock is held by the caller, and released while this waits.
 * Returns MPI's code. No deadline of its own: whoever waits for this thread has one. [A] */
int tutti_mpi_await(MPI_Request *request);

/* One more user of MPI in this process; `blocks`: it blocks inside MPI. UNSUPPORTED (logged) when one that blocks
 * would not be alone; then nothing is claimed. [A] */
tutti_status tutti_mpi_claim(int blocks);
void tutti_mpi_disclaim(int blocks);

#endif
