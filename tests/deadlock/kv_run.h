/* One rank of a case of keys as a program: StarPU, and a real store in one mpirun (tutti/kv.h). [M] */
#ifndef TUTTI_DEADLOCK_KV_RUN_H
#define TUTTI_DEADLOCK_KV_RUN_H

#include "tests/deadlock/case.h"

#include <mpi.h>

/* Every rank of `ranks` calls it. TIMEOUT: the rank has not ended in time, and is left as it is:
 * threads of it still run, so that the process can run nothing more. *wrong: what it has pulled is
 * wrong. what: a sentence about either. */
tutti_status kv_run_rank(
    const deadlock_case *c, MPI_Comm ranks, double deadline_s, int *wrong, char *what, size_t size);

#endif
