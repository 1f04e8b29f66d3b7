/* Starting and ending MPI, and what all ranks agree on before there are lanes. In collectives/ the
 * only file beside transport/mpi*.c that names MPI_. Calls take the process's lock for MPI
 * (transport/mpi_lock.h), and wait for other ranks without keeping it.
 *
 * The thread that calls tutti_boot_init is MPI's main thread and is the one that calls the rest,
 * too, except abort [A]. */
#ifndef TUTTI_BOOT_H
#define TUTTI_BOOT_H

#include "dag/base/status.h"

#include <stddef.h>

typedef enum tutti_thread_level { /* MPI_THREAD_*, in the same order */
    TUTTI_THREAD_SINGLE,
    TUTTI_THREAD_FUNNELED,
    TUTTI_THREAD_SERIALIZED,
    TUTTI_THREAD_MULTIPLE
} tutti_thread_level;

const char *tutti_thread_level_name(tutti_thread_level level); /* "MPI_THREAD_FUNNELED" */

typedef struct tutti_boot {
    int rank, size; /* in MPI_COMM_WORLD, or in the attached communicator */
    tutti_thread_level granted;
    int initialised_here;       /* finalize ends MPI only when init started it */
    void *comm;                 /* points to an MPI_Comm that finalize frees */
    struct tutti_boot_end *end; /* of tutti_boot_attach, or NULL */
} tutti_boot;

/* Initialises MPI with the level needed (or, when the program has done so, checks the level it was
 * granted), and makes a private communicator. `comm`: NULL for MPI_COMM_WORLD, or a pointer to the
 * MPI_Comm of an existing program (collective over it). UNSUPPORTED, saying what to do, when less
 * than `needed` is granted. Sets the log's rank. */
tutti_status tutti_boot_init(tutti_thread_level needed, const void *comm, tutti_boot *boot);
void tutti_boot_finalize(tutti_boot *boot);
/* A program that has initialised MPI itself. When it calls MPI_Finalize before
 * tutti_boot_finalize, on_end(ctx) runs at the beginning of that, on its thread, while MPI still
 * works; it should come to tutti_boot_finalize, or see to it that nobody calls MPI any more.
 * NULL: nothing happens. */
typedef struct tutti_boot_program {
    const void *comm; /* points to the MPI_Comm */
    void (*on_end)(void *ctx);
    void *ctx;
} tutti_boot_program;
/* As init over the program's communicator. COMM, NOMEM (logged), too. */
tutti_status tutti_boot_attach(
    tutti_thread_level needed, const tutti_boot_program *program, tutti_boot *boot);
/* As init over MPI_COMM_WORLD, with the highest level that MPI grants, whatever it is. */
tutti_status tutti_boot_init_highest(tutti_boot *boot);
/* Starts MPI asking for MPI_THREAD_MULTIPLE and ends it again. *highest: what was granted. For
 * programs that only tell. */
tutti_status tutti_boot_probe(tutti_thread_level *highest);
/* Whether every rank gives the same text. All ranks call it. OK, or MISMATCH on all ranks when any
 * text differs from rank 0's; it is for the caller to log what differs. *first: rank 0's text,
 * which the caller frees, in both cases. COMM, NOMEM (logged). */
tutti_status tutti_boot_compare(const tutti_boot *boot, const char *mine, char **first);
/* The largest status of any rank. All ranks call it. COMM (logged). */
tutti_status tutti_boot_agree(const tutti_boot *boot, tutti_status mine);
/* One more exchange of this process uses MPI; `blocks`: its algorithm blocks inside MPI, so it must be the
 * only one. All ranks call it: UNSUPPORTED on all, and nothing claimed, when one cannot (logged there). */
tutti_status tutti_boot_claim(const tutti_boot *boot, int blocks);
void tutti_boot_disclaim(int blocks);
/* Gathers `bytes` bytes of every rank that shares this one's memory, in rank order: *all, which the
 * caller frees, *ranks how many, *rank which of them this one is. All ranks call it. Blocks inside MPI
 * with its lock held: for programs that have one exchange. COMM, NOMEM (logged). */
tutti_status tutti_boot_gather_host(
    const tutti_boot *boot, const void *mine, size_t bytes, void **all, int *ranks, int *rank);
/* Ends all ranks at once with this exit code; does not return. Where MPI itself is stuck, this process
 * is ended by SIGALRM after 2 s. [A] */
_Noreturn void tutti_boot_abort(int exit_code);
/* Ends this process at once with this exit code, which is not 0, so that its launcher ends the other ranks.
 * For a process that is stuck in MPI_Init_thread or MPI_Finalize, where MPI_Abort has crashed Open MPI's mpirun. [A] */
_Noreturn void tutti_boot_quit(int exit_code);
/* "Open MPI v4.1.4, ..." [A] before and after init. Static storage. */
const char *tutti_boot_version(void);

#endif
