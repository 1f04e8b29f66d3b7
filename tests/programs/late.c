/* A StarPU program whose last rank is late, or hangs:
 *
 *     late DESIGN CASE SECONDS
 *
 * code      its main thread sleeps for SECONDS before it inserts the collectives that the others wait for
 * task      one of its tasks takes SECONDS before that
 * left      it has detached without verification, while the others go on
 * part      its part of a reduction comes when ranks that have done theirs have long detached without verification
 * held      it waits for a collective on data that it has acquired itself
 * acquire   every rank waits for a collective with starpu_data_acquire alone
 * ring      both ranks receive before they send, on the same data
 * away      the same of two ranks, and a third has detached
 * gone      as left, and it has given up waiting for the others
 * unheard   as left, and rank 0 sends a large message that nobody receives
 * Exit status: 0 if every sum is right; 1 if a wait failed. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/starpu.h>
#include <unistd.h>

enum { LENGTH = 1000, LARGE = 1 << 20 };

static void take_time(void *buffers[], void *arg)
{
    (void)buffers;
    sleep(*(const unsigned *)arg);
}
static struct starpu_codelet slow = {
    .cpu_funcs = {take_time}, .cpu_funcs_name = {"take_time"}, .nbuffers = 1, .modes = {STARPU_RW}};

typedef struct state {
    tutti_session *tutti;
    starpu_data_handle_t handle;
    float data[LARGE];
    int late; /* this rank is late */
    unsigned seconds;
} state;

static tutti_status sum(state *s)
{
    return tutti_allreduce(s->tutti, s->handle, TUTTI_F32, TUTTI_SUM);
}

/* Edge r is that from rank r. */
static tutti_status pass_round(state *s)
{
    const int rank = tutti_rank(s->tutti), other = 1 - rank;
    tutti_status status = tutti_recv(s->tutti, s->handle, TUTTI_F32, other, other);
    return status ? status : tutti_send(s->tutti, s->handle, TUTTI_F32, other, rank);
}

static tutti_status run_case(state *s, const char *what)
{
    tutti_status status = sum(s);
    if (!status) status = tutti_wait(s->tutti, 120);
    if (status) return status;
    if ((strcmp(what, "code") == 0 || strcmp(what, "part") == 0) && s->late) sleep(s->seconds);
    if (strcmp(what, "task") == 0 && s->late)
        starpu_task_insert(
            &slow, STARPU_RW, s->handle, STARPU_CL_ARGS_NFREE, &s->seconds, sizeof s->seconds, 0);
    const int is_gone = strcmp(what, "gone") == 0, is_unheard = strcmp(what, "unheard") == 0;
    if ((is_gone || is_unheard || strcmp(what, "left") == 0) && s->late) {
        status = tutti_detach(s->tutti);
        s->tutti = NULL;
        sleep(60);
        return status;
    }
    if (strcmp(what, "held") == 0 && s->late) starpu_data_acquire(s->handle, STARPU_R);
    const int is_away = strcmp(what, "away") == 0;
    if (is_away && s->late) return TUTTI_OK;
    status =
        is_away || strcmp(what, "ring") == 0      ? pass_round(s)
        : is_unheard && tutti_rank(s->tutti) == 0 ? tutti_send(s->tutti, s->handle, TUTTI_F32, 1, 0)
        : strcmp(what, "part") == 0 ? tutti_reduce(s->tutti, s->handle, TUTTI_F32, TUTTI_SUM, 0)
                                    : sum(s);
    if (!status && strcmp(what, "acquire") == 0) {
        starpu_data_acquire(s->handle, STARPU_R);
        starpu_data_release(s->handle);
    }
    if (!status) status = tutti_wait(s->tutti, strcmp(what, "held") == 0 ? s->seconds : 120);
    if (strcmp(what, "held") == 0 && s->late) starpu_data_release(s->handle);
    return status;
}

static int is_right(const state *s, int value)
{
    for (int i = 0; i < LENGTH; i++)
        if (s->data[i] < (float)value || s->data[i] > (float)value) return 0;
    return 1;
}

int main(int argc, char **argv)
{
    static state s;
    int level, rank, size;
    const char *what = argc > 2 ? argv[2] : "code";
    const int is_part = strcmp(what, "part") == 0, is_gone = strcmp(what, "gone") == 0;
    const int is_unheard = strcmp(what, "unheard") == 0;
    tutti_attach_options options = {.design = argc > 1 ? argv[1] : NULL,
        .verify = is_part || is_gone || is_unheard || strcmp(what, "left") == 0 ? "off" : NULL};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (tutti_start_starpu(NULL)) return 77;
    s.late = rank == size - 1;
    if (is_gone && s.late) options.setup_timeout_s = 3;
    MPI_Barrier(MPI_COMM_WORLD); /* no rank is late for that */
    if (tutti_attach(MPI_COMM_WORLD, &options, &s.tutti)) return 1;
    s.seconds = argc > 3 ? (unsigned)atoi(argv[3]) : 3;
    for (int i = 0; i < LARGE; i++) s.data[i] = 1;
    starpu_vector_data_register(
        &s.handle, STARPU_MAIN_RAM, (uintptr_t)s.data, is_unheard ? LARGE : LENGTH, sizeof *s.data);
    tutti_status status = run_case(&s, what);
    tutti_status left = tutti_detach(s.tutti);
    printf("rank %d: %s, then %s\n", rank, tutti_status_name(status), tutti_status_name(left));
    if (status || left) MPI_Abort(MPI_COMM_WORLD, 1);
    starpu_data_unregister(s.handle);
    starpu_shutdown();
    MPI_Finalize();
    return (is_part && rank != 0) || is_right(&s, size * size) ? 0 : 1;
}
