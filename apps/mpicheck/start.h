/* How this process becomes a rank of the checked program, and how it ceases to be one.
 *
 * The judge has a connection to each rank. A thread of the rank, the listener, reads from it. */
#ifndef TUTTI_MPICHECK_START_H
#define TUTTI_MPICHECK_START_H

#include "apps/mpicheck/threads.h"

/* After PMPI_Init: starts the judge (on rank 0) and connects to it. Collective over MPI_COMM_WORLD.
 * `before`: threads of the process before PMPI_Init. [M] */
void mpicheck_process_start(const mpicheck_threads *before);
/* Waits for every rank to get here and for the judge to leave; then the tool is off. [M] */
void mpicheck_process_stop(void);

#endif
