/* A StarPU program that attaches and is traced.
 *
 *     attached trace DESIGN FILE     STEPS times: a task "fill" and an allreduce on one vector, and WORK
 *                                    tasks "work" on another; one more of each before and after the trace
 *     attached detach DESIGN FILE    the same, and tutti_detach ends the trace
 *     attached late DESIGN FILE      the same, and the last rank detaches where the others end the trace
 *     attached groups DESIGN FILE    collectives of all three ranks, of two groups, and messages
 *     attached misuse DESIGN FOLDER  calls that are errors, and what follows them
 *     attached fails DESIGN FILE     the ranks' collectives differ while the trace is recorded */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <tutti/starpu.h>
#include <unistd.h>

enum { LENGTH = 50000, STEPS = 3, WORK = 10, WORK_MS = 3 };

static int failures, rank;

/* Every rank has the status, and a sentence, whichever rank it comes from. */
static void expect(int line, tutti_status wanted, tutti_status got)
{
    int says = !wanted || wanted == TUTTI_ERR_MISMATCH || strstr(tutti_last_error(), "trac");
    if (got == wanted && says) return;
    printf("rank %d, line %d: %s instead of %s: %s\n", rank, line, tutti_status_name(got),
        tutti_status_name(wanted), tutti_last_error());
    failures++;
}
#define IS(wanted, call) expect(__LINE__, wanted, call)
#define GOOD(call) expect(__LINE__, TUTTI_OK, call)

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void spin(double for_ms)
{
    double until_ms = now_ms() + for_ms;
    while (now_ms() < until_ms) continue;
}

/* The first rank's sums are in flight until the others have filled theirs. */
static void fill(void *buffers[], void *arg)
{
    double *v = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = 1;
    if (rank) spin(3 * WORK_MS);
}
static struct starpu_codelet filling = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "fill"};

static void work(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    spin(WORK_MS);
}
static struct starpu_codelet working = {
    .cpu_funcs = {work}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "a codelet"};

static tutti_status inside;
static void call_inside(void *buffers[], void *arg)
{
    (void)buffers;
    inside = tutti_trace_end(arg);
}
static struct starpu_codelet calling = {.cpu_funcs = {call_inside}};

static double vector[2][LENGTH];
static starpu_data_handle_t data[2];
static tutti_session *tutti;

static void submit(const char *fill_name, const char *work_name)
{
    GOOD((tutti_status)starpu_task_insert(&filling, STARPU_RW, data[0], STARPU_NAME, fill_name, 0));
    GOOD(tutti_allreduce(tutti, data[0], TUTTI_F64, TUTTI_SUM));
    for (int i = 0; i < WORK; i++)
        GOOD((tutti_status)starpu_task_insert(
            &working, STARPU_RW, data[1], STARPU_NAME, work_name, 0));
}

static void be_traced(const char *mode, const char *file)
{
    char name[] = "work";
    submit("before", "before");
    GOOD(tutti_wait(tutti, 60));
    starpu_task_wait_for_all();
    GOOD(tutti_trace_begin(tutti, rank ? NULL : file)); /* the file counts on rank 0 */
    for (int i = 0; i < STEPS; i++) {
        submit("fill", name);
        GOOD(tutti_wait(tutti, 60));
        starpu_task_wait_for_all();
    }
    memset(name, 'x', sizeof name - 1); /* names are copied */
    int late = strcmp(mode, "late") == 0 && rank == tutti_size(tutti) - 1;
    if (strcmp(mode, "detach") == 0 || late) {
        GOOD(tutti_detach(tutti));
        return;
    }
    GOOD(tutti_trace_end(tutti));
    if (strcmp(mode, "trace") == 0) submit("after", "after");
    GOOD(tutti_detach(tutti));
}

static void trace_groups(const char *file)
{
    static const int backwards[] = {2, 1, 0}, two[] = {0, 1};
    tutti_session *three, *pair;
    GOOD(tutti_group(tutti, 3, backwards, &three));
    GOOD(tutti_group(tutti, 2, two, &pair));
    GOOD(tutti_trace_begin(tutti, file));
    for (int i = 0; i < 2; i++) {
        GOOD(tutti_allreduce(tutti, data[0], TUTTI_F64, TUTTI_MAX));
        GOOD(tutti_allreduce(three, data[1], TUTTI_F64, TUTTI_MAX));
        if (pair) GOOD(tutti_allreduce(pair, data[0], TUTTI_F64, TUTTI_MAX));
        if (rank == 0) GOOD(tutti_send(tutti, data[1], TUTTI_F64, 2, 5));
        if (rank == 2) GOOD(tutti_recv(tutti, data[1], TUTTI_F64, 0, 5));
    }
    GOOD(tutti_trace_end(tutti));
    GOOD(tutti_detach(tutti));
}

static void misuse(const char *folder, const tutti_attach_options *options)
{
    char good[512], gone[512], text[1024];
    tutti_session *other;
    snprintf(good, sizeof good, "%s/good", folder);
    snprintf(gone, sizeof gone, "%s/gone/trace", folder);
    snprintf(text, sizeof text, "%s/gone", folder);

    IS(TUTTI_ERR_INVAL, tutti_trace_end(tutti));
    IS(TUTTI_ERR_INVAL, tutti_trace_end(NULL));
    IS(TUTTI_ERR_INVAL, tutti_trace_begin(NULL, good));
    IS(TUTTI_ERR_INVAL, tutti_trace_begin(tutti, rank ? good : NULL));
    IS(TUTTI_ERR_INVAL, tutti_trace_begin(tutti, rank ? good : ""));
    IS(TUTTI_ERR_INVAL, tutti_trace_begin(tutti, "/dev/null"));
    IS(TUTTI_ERR_IO, tutti_trace_begin(tutti, gone));
    setenv("TUTTI_TRACE_SPANS", "many", 1);
    IS(TUTTI_ERR_USAGE, tutti_trace_begin(tutti, good));
    unsetenv("TUTTI_TRACE_SPANS");
    IS(TUTTI_ERR_INVAL, tutti_trace_end(tutti));

    GOOD(tutti_trace_begin(tutti, good));
    IS(TUTTI_ERR_INVAL, tutti_trace_begin(tutti, good));
    GOOD(tutti_attach(MPI_COMM_WORLD, options, &other));
    IS(TUTTI_ERR_UNSUPPORTED, tutti_trace_begin(other, gone));
    GOOD(tutti_detach(other));
    GOOD((tutti_status)starpu_task_insert(&calling, STARPU_CL_ARGS_NFREE, tutti, (size_t)0, 0));
    starpu_task_wait_for_all();
    IS(TUTTI_ERR_INVAL, inside);
    submit("fill", "work");
    GOOD(tutti_trace_end(tutti));
    IS(TUTTI_ERR_INVAL, tutti_trace_end(tutti));

    /* A folder that is removed meanwhile: the file cannot be written, and the session goes on. */
    if (!rank && mkdir(text, 0700)) failures++;
    GOOD(tutti_trace_begin(tutti, gone));
    if (!rank) {
        snprintf(text, sizeof text, "rm -r '%s/gone'", folder);
        if (system(text)) failures++;
    }
    submit("fill", "work");
    IS(TUTTI_ERR_IO, tutti_trace_end(tutti));
    submit("fill", "work");
    GOOD(tutti_wait(tutti, 60));
    starpu_task_wait_for_all();
    GOOD(tutti_trace_begin(tutti, good)); /* the first one is kept */
    submit("fill", "work");
    GOOD(tutti_trace_end(tutti));
    GOOD(tutti_detach(tutti));
    IS(TUTTI_ERR_INVAL, tutti_trace_begin(tutti, good));
    IS(TUTTI_ERR_INVAL, tutti_trace_end(tutti));
}

static void fail(const char *file)
{
    GOOD(tutti_trace_begin(tutti, file));
    if (rank)
        GOOD(tutti_allreduce(tutti, data[0], TUTTI_F64, TUTTI_MAX));
    else
        GOOD(tutti_allreduce(tutti, data[0], TUTTI_F64, TUTTI_SUM));
    IS(TUTTI_ERR_MISMATCH, tutti_trace_end(tutti));
    IS(TUTTI_ERR_INVAL, tutti_trace_end(tutti));
    IS(TUTTI_ERR_MISMATCH, tutti_trace_begin(tutti, file));
    IS(TUTTI_ERR_MISMATCH, tutti_detach(tutti));
}

int main(int argc, char **argv)
{
    int level;
    if (argc != 4) return 2;
    const char *mode = argv[1];
    const tutti_attach_options options = {.design = argv[2]};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (tutti_start_starpu(NULL)) return 77;
    GOOD(tutti_attach(MPI_COMM_WORLD, &options, &tutti));
    for (int i = 0; i < 2; i++)
        starpu_vector_data_register(
            &data[i], STARPU_MAIN_RAM, (uintptr_t)vector[i], LENGTH, sizeof(double));
    GOOD(tutti_name(tutti, data[0], "the sum"));
    if (strcmp(mode, "misuse") == 0)
        misuse(argv[3], &options);
    else if (strcmp(mode, "groups") == 0)
        trace_groups(argv[3]);
    else if (strcmp(mode, "fails") == 0)
        fail(argv[3]);
    else
        be_traced(mode, argv[3]);
    for (int i = 0; i < 2; i++) starpu_data_unregister(data[i]);
    starpu_shutdown();
    MPI_Finalize();
    return failures ? 1 : 0;
}
