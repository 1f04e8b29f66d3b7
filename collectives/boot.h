/* Starts and ends MPI, and compares the ranks' settings before there are lanes. The only file in
 * collectives/ besides transport/mpi*.c and lasting.c that names MPI_. Calls take the process's lock for MPI
 * (transport/mpi_lock.h), but release it while they wait for other ranks.
 *
 * The thread that calls tutti_boot_init is MPI's main thread; it must make all other calls, too,
 * except abort [A]. */
#ifndef TUTTI_BOOT_H
#define TUTTI_BOOT_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

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

/* Initialises MPI with the level needed (or, if the program has done so, checks the granted level)
 * and makes a private communicator. `comm`: NULL for MPI_COMM_WORLD, or a pointer to the MPI_Comm
 * of an existing program (collective over it). UNSUPPORTED, with the remedy, when less than
 * `needed` is granted. Sets the log's rank. */
tutti_status tutti_boot_init(tutti_thread_level needed, const void *comm, tutti_boot *boot);
void tutti_boot_finalize(tutti_boot *boot);
/* A program that has initialised MPI itself. If it calls MPI_Finalize before tutti_boot_finalize,
 * on_end(ctx) runs at the beginning of MPI_Finalize, on its thread, while MPI still works. on_end must
 * cause tutti_boot_finalize, or make sure that no thread calls MPI any more. NULL: nothing happens. */
typedef struct tutti_boot_program {
    const void *comm; /* points to the MPI_Comm */
    void (*on_end)(void *ctx);
    void *ctx;
} tutti_boot_program;
/* As init, over the program's communicator. Also COMM, NOMEM (logged). */
tutti_status tutti_boot_attach(
    tutti_thread_level needed, const tutti_boot_program *program, tutti_boot *boot);
/* As init, over MPI_COMM_WORLD, with the highest level that MPI grants, whatever it is. */
tutti_status tutti_boot_init_highest(tutti_boot *boot);
/* Starts MPI asking for MPI_THREAD_MULTIPLE and ends it again. *highest: what was granted;
 * *refuses_gpus: tutti_boot_refuses_gpus. For programs that only report. */
tutti_status tutti_boot_probe(tutti_thread_level *highest, const char **refuses_gpus);
/* Compares the ranks' settings, as tutti_conf_text writes them. All ranks call it. USAGE on all ranks when any rank's
 * differ from rank 0's, with the setting logged; COMM, NOMEM (logged). */
tutti_status tutti_boot_compare(const tutti_boot *boot, const char *settings);
/* The largest status of any rank. All ranks call it. COMM (logged). */
tutti_status tutti_boot_agree(const tutti_boot *boot, tutti_status mine);
/* As MPI_Comm_split: *part is a communicator of the ranks with the same colour, in the order of ranks. Finalize it
 * before `boot`. All ranks call it, with no exchange open. COMM, NOMEM (logged). */
tutti_status tutti_boot_split(const tutti_boot *boot, int colour, tutti_boot *part);
/* NULL: this MPI reports that it accepts GPU memory (CUDA-aware). Else a sentence with the reason. MPI must have been
 * initialised. [A] */
const char *tutti_boot_refuses_gpus(void);
/* Sums x[count] over all ranks, in place, with MPI_Allreduce, as programs do without Tutti. Blocks with MPI's lock
 * held. At most INT_MAX elements. COMM (logged). */
tutti_status tutti_boot_sum(const tutti_boot *boot, float *x, int64_t count);
/* Gathers `bytes` bytes from every rank that shares this rank's memory, in rank order: *all (freed by
 * the caller); *ranks, their number; *rank, this rank's index among them. All ranks call it. Blocks
 * inside MPI with its lock held: for programs with a single exchange. COMM, NOMEM (logged). */
tutti_status tutti_boot_gather_host(
    const tutti_boot *boot, const void *mine, size_t bytes, void **all, int *ranks, int *rank);
/* Ends all ranks at once with this exit code; does not return. If MPI itself is stuck, SIGALRM ends
 * this process after 2 s. [A] */
_Noreturn void tutti_boot_abort(int exit_code);
/* Ends this process at once with this exit code, which is not 0, so that its launcher ends the
 * other ranks. For a process that is stuck in MPI_Init_thread or MPI_Finalize, where MPI_Abort has
 * crashed Open MPI's mpirun. [A] */
_Noreturn void tutti_boot_quit(int exit_code);
/* "Open MPI v4.1.4, ..."; static storage. [A], before and after init. */
const char *tutti_boot_version(void);

#endif
