/* MPI whose ranks may die: Open MPI 5.0 with fault tolerance (ULFM), started by mpirun --with-ft ulfm. Nothing
 * collective is called after a death: all communicators are made at the start, one for each epoch of a membership
 * (designs/membership), and any of them still carries messages between two ranks that live.
 *
 *   open -> { gather }* -> { transport of an epoch -> its close }* -> close
 *
 * Threads: [M]. */
#ifndef TUTTI_LASTING_H
#define TUTTI_LASTING_H

#include "collectives/transport/transport.h"

typedef struct tutti_lasting tutti_lasting;

/* NULL, or why not: this build's MPI has no fault tolerance, or mpirun was not asked for it. As a sentence with what to
 * do. [A] */
const char *tutti_lasting_lacks(void);

/* Starts MPI, with communicators for two epochs a rank, and some more: with almost each change a rank is
 * lost. All ranks call it. UNSUPPORTED, COMM, NOMEM (logged). */
tutti_status tutti_lasting_open(tutti_lasting **lasting);
int tutti_lasting_rank(const tutti_lasting *lasting);
int tutti_lasting_size(const tutti_lasting *lasting);
/* Whether all ranks share one machine's memory. */
int tutti_lasting_near(const tutti_lasting *lasting);
/* As MPI_Allgather, before the first epoch. COMM (logged). */
tutti_status tutti_lasting_gather(
    tutti_lasting *lasting, const void *mine, size_t bytes, void *all);

typedef struct tutti_lasting_epoch {
    int64_t epoch;     /* from 1; each one has its own communicator */
    const int *member; /* [size] ranks of MPI */
    int size, rank, lanes;
    const atomic_int *broken; /* once set, what is under way ends with an error */
} tutti_lasting_epoch;
/* A transport of these ranks. It has no collectives of MPI. No member is waited for. COMM (logged): there are no
 * communicators left; NOMEM. */
tutti_status tutti_lasting_transport(
    tutti_lasting *lasting, const tutti_lasting_epoch *epoch, tutti_transport **transport);

/* Ends MPI, unless a rank may be missing: MPI_Finalize waits for it. Then MPI ends with the process. Accepts NULL. */
void tutti_lasting_close(tutti_lasting *lasting, int all_there);

#endif
