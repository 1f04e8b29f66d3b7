/* Ranks of an MPI program: every collective is one of <tutti/starpu.h>, as a program outside of this tree
 * calls them, and work runs as StarPU tasks. */
#include "apps/svm/world.h"
#include "dag/base/log.h"
#include "dag/run/scheduler.h"

#include <tutti/starpu.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct attached {
    tutti_svm_world world; /* first */
    tutti_svm_world_options options;
    tutti_session *session;
    tutti_reduce_op combine;
    tutti_handle sent, received; /* of the collective that runs */
    int starpu, traced;
} attached;

static void combine_record(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    const attached *a = ctx;
    (void)dtype;
    a->options.combine(left, right, result, (size_t)count * sizeof(double));
}

/* One variable, and nothing as a vector of nothing: vectors of StarPU have 32-bit counts. */
static void register_bytes(const void *data, int64_t bytes, tutti_handle *handle)
{
    if (bytes)
        starpu_variable_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)data, (size_t)bytes);
    else
        starpu_vector_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)data, 0, sizeof(char));
}

static int64_t total(const int64_t counts[], int ranks)
{
    int64_t sum = 0;
    for (int r = 0; r < ranks; r++) sum += counts[r];
    return sum;
}

/* The data of the collective that runs: what is sent, and what is received. */
static void register_both(
    attached *a, const void *send, int64_t send_bytes, void *receive, int64_t receive_bytes)
{
    register_bytes(send, send_bytes, &a->sent);
    register_bytes(receive, receive_bytes, &a->received);
}

enum { MOST_SECONDS_OF_ABORT = 2 };

/* Ends all ranks. */
static void end_program(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(MOST_SECONDS_OF_ABORT); /* another thread may hold what MPI_Abort needs */
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Waits for it. After a TIMEOUT the data are still in use, and callers free them or leave their function: so the
 * program ends here. tutti_wait has said why. */
static tutti_status end_call(attached *a, tutti_status status)
{
    if (!status) status = tutti_wait(a->session, a->options.timeout_s);
    if (status == TUTTI_ERR_TIMEOUT) end_program();
    if (a->sent) starpu_data_unregister(a->sent);
    if (a->received) starpu_data_unregister(a->received);
    a->sent = a->received = NULL;
    return status;
}

static tutti_status gather(
    tutti_svm_world *world, const void *send, const int64_t *counts, void *receive)
{
    attached *a = (attached *)world;
    register_both(a, send, counts[world->rank], receive, total(counts, world->size));
    return end_call(a, tutti_allgatherv(a->session, a->sent, a->received, TUTTI_U8, counts));
}

static tutti_status exchange(tutti_svm_world *world, const void *send, const int64_t *send_counts,
    void *receive, const int64_t *receive_counts)
{
    attached *a = (attached *)world;
    register_both(
        a, send, total(send_counts, world->size), receive, total(receive_counts, world->size));
    return end_call(a,
        tutti_alltoallv(a->session, a->sent, a->received, TUTTI_U8, send_counts, receive_counts));
}

static tutti_status shift(tutti_svm_world *world, const void *send, int64_t send_bytes,
    void *receive, int64_t receive_bytes)
{
    attached *a = (attached *)world;
    const int next = (world->rank + 1) % world->size;
    const int before = (world->rank + world->size - 1) % world->size;
    register_both(a, send, send_bytes, receive, receive_bytes);
    tutti_status status =
        tutti_sendrecv(a->session, a->sent, next, a->received, before, TUTTI_U8, 0);
    return status ? end_call(a, status) : TUTTI_OK;
}

static tutti_status shifted(tutti_svm_world *world)
{
    return end_call((attached *)world, TUTTI_OK);
}

static tutti_status combine(tutti_svm_world *world, void *record, size_t bytes)
{
    attached *a = (attached *)world;
    register_bytes(record, (int64_t)bytes, &a->sent);
    return end_call(a, tutti_allreduce(a->session, a->sent, tutti_several(TUTTI_F64), a->combine));
}

typedef struct task {
    tutti_svm_work *work;
    void *ctx;
    int part;
} task;

static void run_task(void *buffers[], void *arg)
{
    (void)buffers;
    const task *t = arg;
    t->work(t->ctx, t->part);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {run_task}, .cpu_funcs_name = {"svm"}, .nbuffers = 0, .name = "svm"};

static tutti_status run(tutti_svm_world *world, int parts, tutti_svm_work *work, void *ctx)
{
    (void)world;
    task *tasks = calloc((size_t)parts, sizeof *tasks);
    if (!tasks) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d tasks", parts);
    int failed = 0;
    for (int p = 0; p < parts && !failed; p++) {
        tasks[p] = (task){work, ctx, p};
        failed = starpu_task_insert(&codelet, STARPU_CL_ARGS_NFREE, &tasks[p], sizeof tasks[p], 0);
    }
    starpu_task_wait_for_all();
    free(tasks);
    return failed ? tutti_fail(TUTTI_ERR_INTERNAL, "StarPU refused a task: %s", strerror(-failed))
                  : TUTTI_OK;
}

static const tutti_svm_world_ops ops = {
    .gather = gather,
    .exchange = exchange,
    .shift = shift,
    .shifted = shifted,
    .combine = combine,
    .run = run,
};

static tutti_status start_starpu(attached *a)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = a->options.workers;
    conf.ncuda = conf.nopencl = 0;
    conf.catch_signals = 0;
    if (!getenv("STARPU_SCHED")) conf.sched_policy = &tutti_scheduler;
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    tutti_status status = tutti_start_starpu(&conf);
    a->starpu = !status;
    return status;
}

tutti_status tutti_svm_world_attach(const tutti_svm_world_options *options, tutti_svm_world **world)
{
    attached *a = calloc(1, sizeof *a);
    if (!a) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a rank");
    a->options = *options;
    int granted, rank = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tutti_log_set_rank(rank);
    const tutti_attach_options attach = {.may_abort = 1};
    tutti_status status = start_starpu(a);
    if (!status) status = tutti_attach(MPI_COMM_WORLD, &attach, &a->session);
    if (status) {
        if (a->starpu) starpu_shutdown();
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); /* the others may wait for this rank */
        return status;
    }
    a->world = (tutti_svm_world){.ops = &ops,
        .rank = tutti_rank(a->session),
        .size = tutti_size(a->session),
        .workers = options->workers,
        .combine = options->combine,
        .counts = calloc(2 * (size_t)tutti_size(a->session), sizeof(int64_t))};
    if (!a->world.counts) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for counts");
    if (!status && options->combine)
        status = tutti_operator_whole(a->session, "svm-record", combine_record, a, 1, &a->combine);
    if (!status && options->trace) {
        status = tutti_trace_begin(a->session, options->trace);
        a->traced = !status;
    }
    *world = &a->world;
    if (status) {
        tutti_svm_world_detach(*world);
        *world = NULL;
    }
    return status;
}

tutti_status tutti_svm_world_detach(tutti_svm_world *world)
{
    attached *a = (attached *)world;
    if (!a) return TUTTI_OK;
    tutti_status status = a->traced ? tutti_trace_end(a->session) : TUTTI_OK;
    tutti_status left = tutti_detach(a->session);
    starpu_shutdown();
    MPI_Finalize();
    free(a->world.counts);
    free(a);
    return status ? status : left;
}
