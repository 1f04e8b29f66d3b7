/* One rank under SMPI: judge TOPOLOGY [ALGORITHM...]. Runs the allreduces, broadcasts and reduces of these algorithms,
 * or of all, of float32 vectors of several sizes through a comm over the MPI transport, on links that SimGrid
 * simulates, and prints what each has taken there beside its price on the topology: kind, algorithm, bytes, price in
 * ms, SMPI in ms. A wrong result ends the run. */
#define JUDGE_ITSELF
#include "tests/simgrid/judge.h"

#include "apps/trees/predict.h"
#include "collectives/coll.h"
#include "collectives/links/flows.h"
#include "collectives/links/topology_text.h"
#include "collectives/priced.h"
#include "collectives/transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what SMPI lacks ---- */

static int has_nothing_to_do;

int judge_comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_Comm_dup(comm, copy);
}

int judge_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = 1;
    return *request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Test(request, flag, status);
}

int judge_testsome(int count, MPI_Request request[], int *ended, int which[], MPI_Status status[])
{
    *ended = 0;
    if (!has_nothing_to_do) return MPI_SUCCESS;
    has_nothing_to_do = 0; /* what it finds may be something to do */
    return MPI_Waitsome(count, request, ended, which, status);
}

/* ---- what SMPI has besides ---- */

/* With each message an envelope travels, of 16 bytes: here in prices, too (the linker's --wrap). */
tutti_status __real_tutti_flows_start(
    tutti_flows *f, double now_s, int from, int to, double bytes, int *flow);
tutti_status __wrap_tutti_flows_start(
    tutti_flows *f, double now_s, int from, int to, double bytes, int *flow);

tutti_status __wrap_tutti_flows_start(
    tutti_flows *f, double now_s, int from, int to, double bytes, int *flow)
{
    const double envelope = 16;
    return __real_tutti_flows_start(f, now_s, from, to, bytes + envelope, flow);
}

/* ---- the cases ---- */

static const tutti_coll_kind kinds[] = {TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE};
static int rank, size;

/* names: NULL-terminated; none: all are wanted. */
static int is_wanted(const char *name, char *const names[])
{
    if (!*names) return 1;
    while (*names && strcmp(*names, name)) names++;
    return *names != NULL;
}

static void give_up(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* All ranks begin at one time. */
static double begin_together(void)
{
    static const double later_s = 1e-3;
    double now_s = MPI_Wtime(), last_s;
    MPI_Allreduce(&now_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double begin_s = last_s + later_s;
    while ((now_s = MPI_Wtime()) < begin_s - 1e-9) {
        const double rest_us = 1e6 * (begin_s - now_s);
        usleep(rest_us < 1 ? 1 : (useconds_t)rest_us);
    }
    return begin_s;
}

/* Rank r has r + 1 everywhere: every rank, or the root, then has their sum or the root's. */
static void check_result(tutti_coll_kind kind, const float *x, int64_t count)
{
    const float right = kind == TUTTI_BROADCAST ? 1.0f : 0.5f * (float)size * (float)(size + 1);
    if (kind == TUTTI_REDUCE && rank) return;
    for (int64_t i = 0; i < count; i++)
        if (x[i] != right) give_up("the result is wrong");
}

/* The seconds until the last rank has ended. */
static double run(tutti_comm *comm, tutti_coll_kind kind, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = (float)(rank + 1);
    const tutti_coll_args args = {
        .kind = kind, .dtype = TUTTI_F32, .op = TUTTI_SUM, .count = count, .recv = x};
    tutti_coll_request *request;
    const double begin_s = begin_together();
    if (tutti_coll_post(comm, 0, &args, &request)) give_up("it could not be posted");
    while (!tutti_coll_done(request)) {
        int moved;
        if (tutti_coll_progress(comm, &moved)) give_up("it has failed");
        has_nothing_to_do = !moved;
    }
    double mine_s = MPI_Wtime() - begin_s, last_s;
    tutti_coll_free(request);
    MPI_Allreduce(&mine_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    check_result(kind, x, count);
    return last_s;
}

static void judge_algorithm(const tutti_topology *t, tutti_coll_kind kind, const tutti_algorithm *a)
{
    static const int64_t counts[] = {1 << 10, 1 << 14, 1 << 18, 1 << 20};
    tutti_transport *transport;
    tutti_comm *comm;
    MPI_Comm world = MPI_COMM_WORLD;
    /* SMPI lets messages of one pair share a link; here they follow each other, as prices have it */
    const tutti_comm_options options = {.algorithm = a->name, .credit = 1};
    if (tutti_transport_mpi(&world, 1, &transport)) give_up("no transport");
    transport->near = 0; /* SMPI says that all ranks share a machine */
    if (tutti_comm_new(transport, &options, &comm)) give_up("no comm");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        float *x = malloc((size_t)counts[i] * sizeof *x);
        tutti_sched_price price = {0};
        if (!x) give_up("no memory");
        const double time_s = run(comm, kind, x, counts[i]);
        if (!rank && tutti_predict_algorithm(t, kind, a, counts[i], &price)) give_up("no price");
        if (!rank)
            printf("%s %s %lld %.4f %.4f\n", tutti_coll_kind_name(kind), a->name,
                (long long)(4 * counts[i]), 1e3 * price.time_s, 1e3 * time_s);
        free(x);
    }
    tutti_comm_free(comm);
}

int main(int argc, char **argv)
{
    enum { MOST = 16 };
    const tutti_algorithm *algorithm[MOST];
    tutti_topology *t;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || tutti_topology_read_file(argv[1], &t))
        give_up("usage: judge TOPOLOGY [ALGORITHM...]");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const int n = tutti_algorithm_candidates(kinds[k], algorithm, MOST);
        for (int i = 0; i < n; i++)
            if (is_wanted(algorithm[i]->name, argv + 2)) judge_algorithm(t, kinds[k], algorithm[i]);
    }
    tutti_topology_free(t);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
