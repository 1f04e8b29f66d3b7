/* A StarPU program whose last rank does something else in the second of three steps:
 *
 *     mismatch DESIGN VERIFY ALGORITHM CASE...
 *
 * Each case is a separate session (tutti_attach ... tutti_detach). Prints one line per rank and case: the
 * result of tutti_wait, and after how many seconds. Exit status: 0 if every wait was OK and every sum
 * right; 1 if the ranks got a mismatch; 3 if a sum is wrong or something else failed. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/starpu.h>

enum { STEPS = 3, VECTORS = 4, SMALL = 16, LARGE = 20000 };
enum { A, B, C, D }; /* A and B have the same size */

typedef struct state {
    tutti_session *tutti;
    int rank, size;
    float *data[VECTORS];
    starpu_data_handle_t handle[VECTORS];
} state;

static int elements(int vector)
{
    return vector <= B ? SMALL : vector == C ? LARGE : SMALL / 2;
}

static tutti_status sum(state *s, int vector)
{
    return tutti_allreduce(s->tutti, s->handle[vector], TUTTI_F32, TUTTI_SUM);
}

/* One step of the program: sums of A, B and C, and rank 0's D for all. */
static tutti_status usual(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = sum(s, B);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

/* What the last rank does instead of sum(B), or instead of the whole step. */
static tutti_status swap(state *s)
{
    tutti_status status = sum(s, B);
    if (!status) status = sum(s, A);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

static tutti_status swap_sizes(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = sum(s, C);
    if (!status) status = sum(s, B);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

static tutti_status kind(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = tutti_reduce(s->tutti, s->handle[B], TUTTI_F32, TUTTI_SUM, 0);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

static tutti_status operator(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = tutti_allreduce(s->tutti, s->handle[B], TUTTI_F32, TUTTI_MAX);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

static tutti_status type(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = tutti_allreduce(s->tutti, s->handle[B], TUTTI_I32, TUTTI_SUM);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

static tutti_status count(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = sum(s, D);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

static tutti_status root(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = sum(s, B);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 1);
}

static tutti_status extra(state *s)
{
    tutti_status status = sum(s, D);
    return status ? status : usual(s);
}

static tutti_status missing(state *s)
{
    tutti_status status = sum(s, A);
    if (!status) status = sum(s, C);
    return status ? status : tutti_broadcast(s->tutti, s->handle[D], TUTTI_F32, 0);
}

/* A usual step with priorities, which handles that are registered later do not inherit. */
static tutti_status with_priorities(state *s, int a, int c)
{
    tutti_status status = tutti_priority(s->tutti, s->handle[A], a);
    if (!status) status = tutti_priority(s->tutti, s->handle[C], c);
    if (!status) status = usual(s);
    if (!status) status = tutti_priority(s->tutti, s->handle[A], 0);
    return status ? status : tutti_priority(s->tutti, s->handle[C], 0);
}

static tutti_status prior(state *s)
{
    return with_priorities(s, 1, 2);
}

static tutti_status prior_otherwise(state *s)
{
    return with_priorities(s, 1, -2);
}

/* steps: how many the last rank runs; others: what the other ranks do in the second step. */
static const struct row {
    const char *name;
    tutti_status (*step)(state *s);
    int steps;
    tutti_status (*others)(state *s);
} rows[] = {
    {"same", usual, STEPS, usual},
    {"swap", swap, STEPS, usual},
    {"swap-sizes", swap_sizes, STEPS, usual},
    {"kind", kind, STEPS, usual},
    {"op", operator, STEPS, usual},
    {"type", type, STEPS, usual},
    {"count", count, STEPS, usual},
    {"root", root, STEPS, usual},
    {"extra", extra, STEPS, usual},
    {"missing", missing, STEPS, usual},
    {"fewer-steps", usual, STEPS - 1, usual},
    {"more-steps", usual, STEPS + 1, usual},
    {"priority", prior, STEPS, prior},
    {"priority-differs", prior_otherwise, STEPS, prior},
    {"priority-none", usual, STEPS, prior},
    {"priority-fewer-steps", prior, STEPS - 1, prior},
    {"priority-more-steps", prior, STEPS + 1, prior},
};

static void fill(state *s)
{
    for (int v = 0; v < VECTORS; v++)
        for (int i = 0; i < elements(v); i++)
            s->data[v][i] = (float)((s->rank + 1) * (i % 7 + v + 1));
}

/* Whether this step's results are right. */
static int right(const state *s)
{
    float ranks = (float)(s->size * (s->size + 1) / 2);
    for (int v = 0; v < VECTORS; v++)
        for (int i = 0; i < elements(v); i++)
            if (s->data[v][i] != (v == D ? 1 : ranks) * (float)(i % 7 + v + 1)) return 0;
    return 1;
}

/* Data are registered for one step: between steps this program fills and reads them. */
static tutti_status run_step(state *s, tutti_status (*step)(state *s))
{
    static const char *const names[VECTORS] = {"a", "b", "c", "d"};
    tutti_status status = TUTTI_OK;
    fill(s);
    for (int v = 0; v < VECTORS && !status; v++) {
        starpu_vector_data_register(&s->handle[v], STARPU_MAIN_RAM, (uintptr_t)s->data[v],
            (uint32_t)elements(v), sizeof(float));
        status = tutti_name(s->tutti, s->handle[v], names[v]);
    }
    if (!status) status = step(s);
    if (!status) status = tutti_wait(s->tutti, 20);
    for (int v = 0; v < VECTORS && status != TUTTI_ERR_TIMEOUT; v++)
        starpu_data_unregister(s->handle[v]);
    return status;
}

static tutti_status (*step_of(const struct row *row, int odd, int step))(state *s)
{
    if (step != 1) return usual;
    return odd ? row->step : row->others;
}

/* Returns the exit status. */
static int run_case(state *s, const struct row *row, const tutti_attach_options *options)
{
    tutti_status status = tutti_attach(MPI_COMM_WORLD, options, &s->tutti);
    if (status) return 3;
    int odd = s->rank == s->size - 1, good = 1;
    int steps = odd ? row->steps : STEPS;
    double start_s = MPI_Wtime(), waited_s = 0;
    for (int i = 0; i < steps && !status && good; i++) {
        start_s = MPI_Wtime();
        status = run_step(s, step_of(row, odd, i));
        waited_s = MPI_Wtime() - start_s;
        if (!status && !(odd && i == 1)) good = right(s);
    }
    start_s = MPI_Wtime();
    tutti_status left = tutti_detach(s->tutti);
    if (!status) status = left;
    printf("%s: rank %d: %s after %.2f s, left after %.2f s\n", row->name, s->rank,
        good ? tutti_status_name(status) : "WRONG SUM", waited_s, MPI_Wtime() - start_s);
    fflush(stdout);
    if (!good || (status && status != TUTTI_ERR_MISMATCH)) return 3;
    return status == TUTTI_ERR_MISMATCH;
}

static const struct row *find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    fprintf(stderr, "no case has the name '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    state s = {0};
    int granted, worst = 0;
    if (argc < 5) return 2;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &granted);
#ifdef MPICH_NAME /* MPICH raises errors of requests on this communicator: tutti-run(1), MPICH */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    if (tutti_start_starpu(NULL)) return 77;
    for (int v = 0; v < VECTORS; v++) s.data[v] = calloc((size_t)elements(v), sizeof(float));
    const tutti_attach_options options = {
        .design = argv[1], .verify = argv[2], .algorithm = argv[3]};
    for (int i = 4; i < argc; i++) {
        int code = run_case(&s, find(argv[i]), &options);
        if (code > worst) worst = code;
    }
    for (int v = 0; v < VECTORS; v++) free(s.data[v]);
    starpu_shutdown();
    MPI_Finalize();
    return worst;
}
