/* One rank of the MPI tests: mpi_ranks MODE. Run by mpi.sh under mpirun.
 *   cases         every algorithm, every case, over the MPI transport; also with messages in pieces
 *   attach        an MPI program lends half of its ranks as a communicator
 *   low-level     MPI_Init grants too low a level: refused, with advice
 *   mismatch      the ranks disagree about a count: an error on each, no crash
 *   late          MPI's own sums do not wait for each other, nor do other sums for one that a rank is late for
 *   gone          a rank never comes to MPI's own sum: it is not over before that, and closing does not wait
 *   lent          lanes of one communicator: a sweep of one leaves the messages of another
 *   large         a sum that is cut into more messages than Open MPI 5.0 has room for
 *   abort-early   aborts before MPI is initialised, with status 3
 *   abort-thread  the last rank aborts from a second thread while the others wait, with status 7
 *   bench         seconds of small and large allreduces (not part of the test) */
#include "collectives/boot.h"
#include "collectives/choose.h"
#include "collectives/coll.h"
#include "collectives/transport/mpi.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "dag/base/mem.h"
#include "dag/base/rank.h"
#include "tests/collectives/cases.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_comm *open_comm(const tutti_boot *boot, int lanes, size_t piece, const char *algorithm)
{
    tutti_transport *transport;
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = algorithm};
    tutti_status status = piece ? tutti_transport_mpi_pieces(boot->comm, lanes, piece, &transport)
                                : tutti_transport_mpi(boot->comm, lanes, &transport);
    if (!status) status = tutti_comm_new(transport, &options, &comm);
    if (status) tutti_boot_abort(EXIT_FAILURE);
    return comm;
}

/* MPI moves bf16, and does not add them. */
static int refuses_bf16(tutti_comm *comm)
{
    uint16_t x[2] = {(uint16_t)tutti_comm_rank(comm), 5};
    tutti_coll_args args = {.dtype = TUTTI_BF16, .count = 2, .recv = x};
    tutti_coll_request *request = NULL;
    int refused = tutti_coll_post(comm, 0, &args, &request) == TUTTI_ERR_UNSUPPORTED;
    args.kind = TUTTI_BROADCAST;
    args.root = tutti_comm_size(comm) - 1;
    if (tutti_coll_post(comm, 0, &args, &request) || tutti_coll_wait(comm, request, 30)) return 1;
    tutti_coll_free(request);
    return !refused || x[0] != args.root || x[1] != 5;
}

static int run_cases(void)
{
    tutti_boot boot;
    int failures = 0;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    for (int i = 0; tutti_algorithms[i]; i++) {
        tutti_comm *comm = open_comm(&boot, 3, 0, tutti_algorithms[i]->name);
        const char *name = tutti_algorithms[i]->name;
        int library = !strcmp(name, "mpi"), here = cases_run(comm, name);
        here += cases_same_bits(comm, 11, library) + cases_wrap(comm);
        /* Another library may compute in any order, and knows no bf16. */
        if (library)
            here += refuses_bf16(comm);
        else
            here += cases_in_order(comm) + cases_bf16(comm, name, 11);
        here += cases_extras(comm, 11);
        if (here) printf("rank %d: %s: %d failures\n", boot.rank, name, here);
        failures += here;
        tutti_comm_free(comm);
    }
    static const char *const split[] = {"ring", "mpi"};
    for (int i = 0; i < 2; i++) {
        tutti_comm *comm = open_comm(&boot, 2, 1001, split[i]);
        failures += cases_run(comm, split[i]);
        tutti_comm_free(comm);
    }
    tutti_boot_finalize(&boot);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Every case in a group of all ranks, backwards, on lanes made late, and in the pairs of neighbours
 * that share a lane. */
static int run_groups(void)
{
    tutti_boot boot;
    tutti_transport *whole, *transport;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    int failures = 0, done = 0, of[64];
    if (tutti_transport_mpi(boot.comm, 1, &whole)) tutti_boot_abort(EXIT_FAILURE);
    while (!done)
        if (whole->ops->grow(whole, 3, NULL, &done)) tutti_boot_abort(EXIT_FAILURE);
    for (int r = 0; r < boot.size; r++) of[r] = boot.size - 1 - r;
    for (int g = 0; g < boot.size; g++) { /* pair g: ranks g - 1 and g */
        tutti_members members;
        tutti_comm *comm;
        int pair[2] = {g - 1, g};
        if (tutti_members_set(g + 1, g ? 2 : boot.size, g ? pair : of, boot.rank, &members))
            tutti_boot_abort(EXIT_FAILURE);
        const tutti_part part = {&members, g ? 3 : 1, 2, g ? 11 : -1};
        if (members.rank >= 0) {
            if (tutti_transport_part(whole, &part, &transport) ||
                tutti_comm_new(transport, NULL, &comm))
                tutti_boot_abort(EXIT_FAILURE);
            failures += cases_run(comm, NULL) + cases_in_order(comm) + cases_whole(comm);
            tutti_comm_free(comm);
        }
        tutti_members_free(&members);
    }
    whole->ops->close(whole);
    if (failures) printf("rank %d: groups: %d failures\n", boot.rank, failures);
    tutti_boot_finalize(&boot);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_attach(void)
{
    int granted, rank, running = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    tutti_boot boot;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, &half, &boot)) return EXIT_FAILURE;
    tutti_comm *comm = open_comm(&boot, 2, 0, NULL);
    int failures = cases_run(comm, NULL);
    failures += tutti_log_get_rank() != rank; /* messages name the process */
    tutti_comm_free(comm);
    tutti_boot_finalize(&boot);
    tutti_boot_finalize(&boot);
    MPI_Comm_free(&half);
    MPI_Finalized(&running);
    running = !running && !boot.initialised_here && boot.rank == rank / 2;
    MPI_Finalize();
    tutti_boot late;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &late) != TUTTI_ERR_UNSUPPORTED) failures++;
    return running && !failures ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_low_level(void)
{
    MPI_Init(NULL, NULL);
    int granted;
    MPI_Query_thread(&granted);
    tutti_boot boot;
    tutti_status status = tutti_boot_init(TUTTI_THREAD_MULTIPLE, NULL, &boot);
    if (!status) tutti_boot_finalize(&boot);
    MPI_Finalize();
    return (status == TUTTI_ERR_UNSUPPORTED) == (granted < MPI_THREAD_MULTIPLE) ? EXIT_SUCCESS
                                                                                : EXIT_FAILURE;
}

/* Messages are sent in pieces of `piece` bytes (0: whole). */
static tutti_status meet_with_other_counts(const tutti_boot *boot, size_t piece, int less)
{
    float x[1000] = {0};
    tutti_comm *comm = open_comm(boot, 1, piece, "ring");
    const tutti_coll_args args = {.count = 1000 - less * boot->rank, .recv = x};
    tutti_coll_request *request;
    if (tutti_coll_post(comm, 0, &args, &request)) tutti_boot_abort(EXIT_FAILURE);
    tutti_status status = tutti_coll_wait(comm, request, 10);
    tutti_coll_free(request);
    tutti_comm_free(comm);
    return status;
}

static int run_mismatch(void)
{
    tutti_boot boot;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    tutti_status whole = meet_with_other_counts(&boot, 0, 10),
                 cut = meet_with_other_counts(&boot, 512, 300);
    tutti_boot_finalize(&boot);
    return whole == TUTTI_ERR_MISMATCH && cut == TUTTI_ERR_MISMATCH ? EXIT_SUCCESS : EXIT_FAILURE;
}

static tutti_coll_request *post_sum(tutti_comm *comm, int lane, float *x)
{
    const tutti_coll_args args = {.count = 1000, .recv = x};
    tutti_coll_request *request;
    for (int i = 0; i < 1000; i++) x[i] = 1;
    if (tutti_coll_post(comm, lane, &args, &request)) tutti_boot_abort(EXIT_FAILURE);
    return request;
}

/* Whether it ends in time, with the right sum. */
static int ends(tutti_comm *comm, tutti_coll_request *request, const float *x)
{
    if (tutti_coll_wait(comm, request, 10)) tutti_boot_abort(EXIT_FAILURE);
    tutti_coll_free(request);
    return x[0] == (float)tutti_comm_size(comm) && !memcmp(x, x + 1, 999 * sizeof *x);
}

/* The last rank starts its sum of lane 0 when all others have ended on all ranks: those of lane 1, also MPI's own,
 * and those of another communicator, of Tutti. */
static int run_late(void)
{
    tutti_boot boot;
    static float first[1000], second[1000], other[1000];
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    tutti_comm *own = open_comm(&boot, 2, 0, "mpi"), *tutti = open_comm(&boot, 1, 0, "ring");
    const int is_late = boot.rank == boot.size - 1;
    tutti_coll_request *held = is_late ? NULL : post_sum(own, 0, first);
    int right = ends(own, post_sum(own, 1, second), second);
    for (int i = 0; i < 20; i++) right &= ends(tutti, post_sum(tutti, 0, other), other);
    const int waits = is_late || !tutti_coll_done(held);
    if (is_late) held = post_sum(own, 0, first);
    right &= ends(own, held, first);
    tutti_comm_free(own);
    tutti_comm_free(tutti);
    tutti_boot_finalize(&boot);
    return right && waits ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_gone(void)
{
    tutti_boot boot;
    static float x[1000], y[1000];
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    tutti_comm *own = open_comm(&boot, 2, 0, "mpi");
    const int comes = boot.rank != boot.size - 1;
    tutti_coll_request *request = comes ? post_sum(own, 0, x) : NULL;
    int right = ends(own, post_sum(own, 1, y), y);
    if (comes) right &= tutti_coll_wait(own, request, 0.1) == TUTTI_ERR_TIMEOUT;
    for (int i = 0; i < 100; i++) right &= tutti_comm_drain(own) == !comes;
    tutti_coll_free(request); /* x stays MPI's */
    tutti_comm_free(own);
    tutti_boot_finalize(&boot);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Tests it, and sweeps lane 0, until it has ended. Returns whether it has, in time and without a failure. */
static int ends_swept(tutti_transport *t, tutti_message *message)
{
    const double until_s = tutti_clock_s() + 10;
    int done = 0;
    while (!done && tutti_clock_s() < until_s) {
        if (t->ops->test(t, message, &done)) return 0;
        t->ops->sweep(t, 0, 1);
    }
    return done;
}

/* Rank 0 sends on lane 1, which rank 1 receives after its sweeps of lane 0, and on lane 0, which it does not
 * receive. */
static int run_lent(void)
{
    enum { LARGE = 1 << 22 }; /* it ends when it is received */
    static char large[LARGE];
    static const int members[] = {0, 1};
    static const uint64_t hosts[] = {1, 1};
    tutti_boot boot;
    tutti_transport *t;
    tutti_message *m[2] = {NULL, NULL};
    int64_t value = 7;
    int right = 1;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    const tutti_mpi_lent lent = {.comm = MPI_COMM_WORLD,
        .member = members,
        .size = 2,
        .rank = boot.rank,
        .lanes = 2,
        .host = hosts};
    if (tutti_transport_mpi_lent(&lent, &t)) tutti_boot_abort(EXIT_FAILURE);
    if (!boot.rank) {
        right = !t->ops->isend(t, 1, 1, 3, &value, sizeof value, &m[0]) &&
                !t->ops->isend(t, 0, 1, 3, large, LARGE, &m[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 2 && right; i++) right = ends_swept(t, m[i]);
    } else {
        value = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 100; i++) {
            t->ops->sweep(t, 0, 1);
            tutti_clock_sleep(1e-3);
        }
        right = !t->ops->irecv(t, 1, 0, 3, &value, sizeof value, &m[0]) && ends_swept(t, m[0]);
        right &= value == 7;
        for (int i = 0; i < 100; i++) {
            t->ops->sweep(t, 0, 1);
            tutti_clock_sleep(1e-3);
        }
    }
    if (!right) tutti_boot_abort(EXIT_FAILURE);
    MPI_Barrier(MPI_COMM_WORLD);
    tutti_transport_close(t);
    tutti_boot_finalize(&boot);
    return EXIT_SUCCESS;
}

static int run_abort_early(void)
{
    if (!strlen(tutti_boot_version())) return EXIT_FAILURE;
    tutti_boot_abort(3);
}

static void *abort_here(void *arg)
{
    (void)arg;
    tutti_clock_sleep(0.1);
    tutti_boot_abort(7);
}

static int run_abort_thread(void)
{
    tutti_boot boot;
    pthread_t thread;
    if (tutti_boot_init(TUTTI_THREAD_SERIALIZED, NULL, &boot)) return EXIT_FAILURE;
    if (boot.rank == boot.size - 1 && pthread_create(&thread, NULL, abort_here, NULL)) return 1;
    tutti_clock_sleep(30);
    return EXIT_SUCCESS;
}

static double seconds(tutti_comm *comm, float *x, int64_t count, int repeats)
{
    const tutti_coll_args args = {.count = count, .recv = x};
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double start_s = tutti_clock_s();
        for (int i = 0; i < repeats; i++) {
            tutti_coll_request *request;
            if (tutti_coll_post(comm, 0, &args, &request)) tutti_boot_abort(1);
            if (tutti_coll_wait(comm, request, 30)) tutti_boot_abort(1);
            tutti_coll_free(request);
        }
        double each = (tutti_clock_s() - start_s) / repeats;
        if (each < best) best = each;
    }
    return best;
}

static int run_bench(void)
{
    tutti_boot boot;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    int64_t most = 16 << 20;
    float *x = tutti_mem_aligned((size_t)most);
    for (int64_t bytes = 1 << 10; bytes <= most; bytes *= 4) {
        if (boot.rank == 0) printf("%9lld bytes, us:", (long long)bytes);
        for (int i = 1; tutti_algorithms[i]; i++) {
            tutti_comm *comm = open_comm(&boot, 1, 0, tutti_algorithms[i]->name);
            double s = seconds(comm, x, bytes / 4, bytes > 1 << 18 ? 20 : 500);
            if (boot.rank == 0) printf("  %s %.1f", tutti_algorithms[i]->name, 1e6 * s);
            tutti_comm_free(comm);
        }
        if (boot.rank == 0) printf("\n");
    }
    free(x);
    tutti_boot_finalize(&boot);
    return EXIT_SUCCESS;
}

static int run_large(void)
{
    tutti_boot boot;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    tutti_comm *comm = open_comm(&boot, 1, 0, "ring");
    const int64_t count = (640 << 20) + 5; /* more than 600 messages from each of two ranks */
    unsigned char *x = malloc((size_t)count);
    if (!x) return EXIT_FAILURE;
    memset(x, 3 + boot.rank, (size_t)count);
    const tutti_coll_args args = {
        .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_U8, .op = TUTTI_SUM, .count = count, .recv = x};
    tutti_coll_request *request;
    tutti_status status = tutti_coll_post(comm, 0, &args, &request);
    if (!status) status = tutti_coll_wait(comm, request, 90);
    if (status) tutti_boot_abort(EXIT_FAILURE);
    tutti_coll_free(request);
    unsigned char sum = 0;
    for (int r = 0; r < boot.size; r++) sum = (unsigned char)(sum + 3 + r);
    int wrong = x[0] != sum || memcmp(x, x + 1, (size_t)count - 1) != 0;
    if (wrong) printf("rank %d: a wrong sum\n", boot.rank);
    free(x);
    tutti_comm_free(comm);
    tutti_boot_finalize(&boot);
    return wrong;
}

static const struct mode {
    const char *name;
    int (*run)(void);
} modes[] = {
    {"cases", run_cases},
    {"groups", run_groups},
    {"attach", run_attach},
    {"low-level", run_low_level},
    {"mismatch", run_mismatch},
    {"late", run_late},
    {"gone", run_gone},
    {"lent", run_lent},
    {"large", run_large},
    {"abort-early", run_abort_early},
    {"abort-thread", run_abort_thread},
    {"bench", run_bench},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) return modes[i].run();
    fprintf(stderr, "usage: mpi_ranks cases|groups|attach|low-level|mismatch|late|gone|lent|large|"
                    "abort-early|abort-thread|bench\n");
    return 2;
}
