/* One lock for all MPI calls of this process.
 *
 * A process has one MPI, however many exchanges and sessions are open, and MPI_THREAD_SERIALIZED
 * allows only one thread inside it at a time. So the lock belongs to the process, too: it is the
 * library's only state without a handle. Every thread that calls MPI holds it, except for
 * MPI_Init_thread, MPI_Finalize (when no other thread is left) and MPI_Abort. A transport over MPI
 * passes it to its users (tutti_transport.lock).
 *
 * No thread blocks inside MPI with the lock held while another session is open: that session's partner
 * on another rank could be waiting for progress that only the blocked process can make. So every
 * operation that waits for other ranks is nonblocking and polled, including MPI's own collectives. */
#ifndef TUTTI_TRANSPORT_MPI_LOCK_H
#define TUTTI_TRANSPORT_MPI_LOCK_H

#include <mpi.h>
#include <pthread.h>

/* Lasts as long as the process. First in the order of locks (doc/threads.md). [A] */
pthread_mutex_t *tutti_mpi_lock(void);

/* MPI_Finalize has been called: threads that wait in tutti_mpi_await do not enter MPI again, and never return. [A] */
void tutti_mpi_ends(void);

/* Waits until the request has ended. The caller holds the lock, which is released while this waits.
 * Returns MPI's code. It has no deadline: a thread that waits for this one has one. [A] */
int tutti_mpi_await(MPI_Request *request);

#endif
