/* Run by tests/programs/host.sh, as a foreign program: the library's host stays in control. Two ranks.
 *
 *   host stands DESIGN S [abort] rank 1 stops until the collectives of rank 0 have failed and its patience is over;
 *                                then both go on to MPI_Finalize, rank 0 with a collective in flight. abort: rank 0
 *                                lets Tutti end it (may_abort)
 *   host leaves DESIGN S abort   the same, but rank 1 is not continued, and rank 0 detaches at once: Tutti ends it
 *   host absent DESIGN S         rank 1 attaches only after rank 0's tutti_attach has given up, and is told the truth
 *   host crossed DESIGN S abort  in a second session, with the ranks the other way round, each rank's first call needs
 *                                the other's second: at the limit both have their data again, and nothing ends them
 *                                once they have detached
 *   host differs DESIGN S        the ranks' collectives differ
 *
 * Patience lasts S seconds. The program's log handler prints "log: LEVEL: SENTENCE" on stdout. */
#include <mpi.h>
#include <signal.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/starpu.h>
#include <unistd.h>

enum { LENGTH = 1000, ARGS = 4 };

static int rank, others_pid, leaves;
static unsigned patience_s;
static float data[LENGTH];
static starpu_data_handle_t handle;

static void note(void *ctx, tutti_log_level level, const char *sentence)
{
    static const char *const words[] = {"error", "warning", "info"};
    fprintf(ctx, "log: rank %d: %s: %s\n", rank, words[level], sentence);
    fflush(ctx);
}

static void tell(const char *call, tutti_status status)
{
    printf("rank %d: %s: %s: %s\n", rank, call, tutti_status_name(status),
        status ? tutti_last_error() : "");
    fflush(stdout);
}

static tutti_status sum(tutti_session *tutti, tutti_reduce_op op)
{
    tutti_status status = tutti_allreduce(tutti, handle, TUTTI_F32, op);
    if (!status) status = tutti_wait(tutti, 60);
    tell("tutti_wait", status);
    return status;
}

static void stand(const tutti_attach_options *options)
{
    tutti_session *tutti;
    tutti_status status = tutti_attach(MPI_COMM_WORLD, options, &tutti);
    tell("tutti_attach", status);
    if (status) return;
    sum(tutti, TUTTI_SUM);
    if (rank) raise(SIGSTOP);
    sum(tutti, TUTTI_SUM);
    if (!rank && !leaves) sleep(patience_s);
    printf("rank %d: is still here\n", rank);
    fflush(stdout);
    if (!rank) tell("tutti_detach", tutti_detach(tutti));
    if (!rank && !leaves) kill(others_pid, SIGCONT);
    if (rank) tell("tutti_detach", tutti_detach(tutti));
}

static void cross(const tutti_attach_options *options)
{
    tutti_session *first, *tutti;
    MPI_Comm swapped;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &swapped);
    tell("tutti_attach", tutti_attach(MPI_COMM_WORLD, options, &first));
    tell("tutti_attach", tutti_attach(swapped, options, &tutti));
    tutti_status status = rank ? tutti_recv(tutti, handle, TUTTI_F32, 1, 0) : TUTTI_OK;
    if (!status) status = tutti_allreduce(tutti, handle, TUTTI_F32, TUTTI_SUM);
    if (!status && !rank) status = tutti_send(tutti, handle, TUTTI_F32, 0, 0);
    if (!status) status = tutti_wait(tutti, 60);
    tell("tutti_wait", status);
    tell("tutti_detach", tutti_detach(tutti));
    tell("tutti_detach", tutti_detach(first));
    starpu_data_unregister(handle);
    sleep(patience_s);
    printf("rank %d: is still here\n", rank);
    fflush(stdout);
}

static void come_late(const tutti_attach_options *options)
{
    tutti_session *tutti;
    if (rank) sleep(patience_s);
    tell("tutti_attach", tutti_attach(MPI_COMM_WORLD, options, &tutti));
    if (!rank) sleep(patience_s);
}

static void differ(const tutti_attach_options *options)
{
    tutti_session *tutti;
    tutti_status status = tutti_attach(MPI_COMM_WORLD, options, &tutti);
    tell("tutti_attach", status);
    if (status) return;
    tutti_allreduce(tutti, handle, TUTTI_U8, TUTTI_SUM);
    tell("nothing", TUTTI_ERR_INVAL); /* the sentence of the previous call */
    sum(tutti, rank ? TUTTI_SUM : TUTTI_MAX);
    tell("tutti_detach", tutti_detach(tutti));
}

int main(int argc, char **argv)
{
    int level, pid = (int)getpid(), pids[2];
    if (argc < ARGS) return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    patience_s = (unsigned)atoi(argv[3]);
    others_pid = pids[!rank];
    tutti_log_to(note, stdout);
    if (starpu_init(NULL)) return 77;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, LENGTH, sizeof *data);
    const tutti_attach_options options = {.design = argv[2], .may_abort = argc > ARGS};
    leaves = strcmp(argv[1], "leaves") == 0;
    if (leaves || strcmp(argv[1], "stands") == 0) stand(&options);
    if (strcmp(argv[1], "crossed") == 0) cross(&options);
    if (strcmp(argv[1], "absent") == 0) come_late(&options);
    if (strcmp(argv[1], "differs") == 0) differ(&options);
    MPI_Finalize();
    printf("rank %d: has ended MPI\n", rank);
    fflush(stdout);
    _exit(0); /* starpu_shutdown would wait for tasks that never end */
}
