/* Right programs: messages, requests and threads, each with something that a checker might mistake for an error. */
#include "tests/mpicheck/programs.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void ring(void)
{
    int out = check_rank, in = -1;
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv(
            &out, 1, MPI_INT, NEXT, 0, &in, 1, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(&out, 1, MPI_INT, NEXT, 0, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    if (in != BEFORE || out != BEFORE) MPI_Abort(WORLD, 3);
}

static void even_odd(void)
{
    int x = check_rank;
    if (check_rank % 2 == 0) {
        MPI_Send(&x, 1, MPI_INT, check_rank + 1, 5, WORLD);
        MPI_Recv(&x, 1, MPI_INT, check_rank + 1, 5, WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&x, 1, MPI_INT, check_rank - 1, 5, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, check_rank - 1, 5, WORLD);
    }
}

static void isend_irecv(void)
{
    int out[4] = {1, 2, 3, 4}, in[4];
    MPI_Request r[8];
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, BEFORE, i, WORLD, &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, NEXT, i, WORLD, &r[4 + i]);
    }
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

static void wait_any_some(void)
{
    int out[4] = {0}, in[4], index, n, indices[4];
    MPI_Request r[4], s[4];
    for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, BEFORE, i, WORLD, &r[i]);
    for (int i = 3; i >= 0; i--) MPI_Isend(&out[i], 1, MPI_INT, NEXT, i, WORLD, &s[i]);
    MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    for (int left = 3; left > 0; left -= n) MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
    MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    if (index != MPI_UNDEFINED) MPI_Abort(WORLD, 3);
    MPI_Waitall(4, s, MPI_STATUSES_IGNORE);
}

static void test_loops(void)
{
    int out = 1, in, flag = 0, index;
    MPI_Request r[2];
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(&out, 1, MPI_INT, NEXT, 0, WORLD, &r[1]);
    while (!flag) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    MPI_Ibarrier(WORLD, &r[0]);
    for (flag = 0; !flag;) MPI_Test(&r[0], &flag, &status);
    MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, WORLD, &r[0]);
    for (flag = 0; !flag;) MPI_Testany(1, r, &index, &flag, &status);
}

static void master_worker(void)
{
    int x = 0;
    MPI_Status status;
    if (check_rank > 0) {
        for (int i = 0; i < 20; i++) MPI_Send(&x, 1, MPI_INT, 0, i % 3, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 9, WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < 20 * (check_size - 1); i++)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    for (int r = 1; r < check_size; r++) MPI_Send(&x, 1, MPI_INT, r, 9, WORLD);
}

static void probes(void)
{
    int x[10] = {0}, count, flag = 0;
    MPI_Status status;
    MPI_Message message;
    if (check_rank == 0) {
        MPI_Send(x, 10, MPI_INT, 1, 1, WORLD);
        MPI_Send(x, 5, MPI_INT, 1, 2, WORLD);
        MPI_Send(x, 5, MPI_INT, 1, 3, WORLD);
    } else if (check_rank == 1) {
        MPI_Probe(MPI_ANY_SOURCE, 1, WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(x, count, MPI_INT, status.MPI_SOURCE, 1, WORLD, &status);
        MPI_Mprobe(0, 2, WORLD, &message, &status);
        MPI_Mrecv(x, 5, MPI_INT, &message, &status);
        while (!flag) MPI_Iprobe(0, 3, WORLD, &flag, &status);
        MPI_Recv(x, 10, MPI_INT, 0, 3, WORLD, &status);
    }
}

static void persistent(void)
{
    int out = 0, in;
    MPI_Request r[2];
    MPI_Send_init(&out, 1, MPI_INT, NEXT, 0, WORLD, &r[0]);
    MPI_Recv_init(&in, 1, MPI_INT, BEFORE, 0, WORLD, &r[1]);
    for (int i = 0; i < 10; i++) {
        out = i;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        if (in != i) MPI_Abort(WORLD, 3);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Start(&r[1]);
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE); /* inactive */
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void buffered(void)
{
    int size = 4096 + MPI_BSEND_OVERHEAD, x = 1;
    void *buffer = malloc((size_t)size);
    MPI_Buffer_attach(buffer, size);
    MPI_Bsend(&x, 1, MPI_INT, NEXT, 0, WORLD);
    MPI_Recv(&x, 1, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
}

static void ready(void)
{
    int x = 1, y;
    MPI_Request r;
    MPI_Irecv(&y, 1, MPI_INT, BEFORE, 0, WORLD, &r);
    MPI_Barrier(WORLD);
    MPI_Rsend(&x, 1, MPI_INT, NEXT, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void to_self_and_nobody(void)
{
    int x = 1, y;
    MPI_Request r, none = MPI_REQUEST_NULL;
    MPI_Irecv(&y, 1, MPI_INT, check_rank, 0, WORLD, &r);
    MPI_Send(&x, 1, MPI_INT, check_rank, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &y, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD,
        MPI_STATUS_IGNORE);
}

static void large(void)
{
    size_t bytes = (size_t)96 << 20;
    char *out = calloc(1, bytes), *in = calloc(1, bytes);
    MPI_Request r[2];
    MPI_Irecv(in, (int)bytes, MPI_CHAR, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(out, (int)bytes, MPI_CHAR, NEXT, 0, WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    if (check_rank == 0) MPI_Send(out, (int)bytes, MPI_CHAR, 1, 0, WORLD);
    if (check_rank == 1) MPI_Recv(in, (int)bytes, MPI_CHAR, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(in, (int)bytes, MPI_CHAR, 0, WORLD);
    free(out);
    free(in);
}

static void many_nonblocking(void)
{
    enum { n = 40 };
    int x[n], y[n];
    MPI_Request r[n];
    MPI_Comm second;
    MPI_Comm_dup(WORLD, &second);
    for (int i = 0; i < n; i++) {
        x[i] = i;
        MPI_Iallreduce(&x[i], &y[i], 1, MPI_INT, MPI_SUM, i % 2 ? WORLD : second, &r[i]);
    }
    MPI_Barrier(WORLD);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    /* Two communicators in a different order on each rank: right, because the calls are nonblocking. */
    MPI_Ibarrier(check_rank % 2 ? WORLD : second, &r[0]);
    MPI_Ibarrier(check_rank % 2 ? second : WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&second);
}

static void *reduce_loop(void *with)
{
    MPI_Comm *comm = with;
    int x = 1, y;
    for (int i = 0; i < 30; i++) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, *comm);
    return NULL;
}

static void threads_own_comms(void)
{
    enum { n = 3 };
    MPI_Comm comms[n];
    pthread_t threads[n];
    for (int i = 0; i < n; i++) MPI_Comm_dup(WORLD, &comms[i]);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, reduce_loop, &comms[check_rank % 2 ? i : n - 1 - i]);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++) MPI_Comm_free(&comms[i]);
}

static void *late_sender(void *unused)
{
    int x = 1;
    (void)unused;
    sleep(3);
    MPI_Send(&x, 1, MPI_INT, NEXT, 0, WORLD);
    return NULL;
}

static void threads_late_sender(void)
{
    pthread_t thread;
    int x;
    pthread_create(&thread, NULL, late_sender, NULL);
    MPI_Recv(&x, 1, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

static void cancelled(void)
{
    int x, done;
    MPI_Request r;
    MPI_Status status;
    MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 77, WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &done);
    if (!done) MPI_Abort(WORLD, 3);
}

static void freed_request(void)
{
    int x = 1;
    MPI_Request r;
    if (check_rank == 0) {
        MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &r);
        MPI_Request_free(&r);
    }
    if (check_rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(WORLD);
}

static void sleeper(void)
{
    int x = 0;
    if (check_rank == 0) sleep(3);
    MPI_Barrier(WORLD);
    if (check_rank == 1) {
        sleep(3);
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    } else if (check_rank == 0) {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
    }
}

static void poller(void)
{
    int x = 0, y = 0, flag = 0;
    MPI_Request r;
    if (check_rank == 0) {
        double end = MPI_Wtime() + 3;
        MPI_Irecv(&y, 1, MPI_INT, 1, 0, WORLD, &r);
        while (MPI_Wtime() < end) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (check_rank == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    }
}

static void compute_for(double seconds)
{
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) continue;
}

/* Rank 0 computes, and looks for a message now and then. */
static void poller_that_computes(void)
{
    int flag = 0;
    double end = MPI_Wtime() + 9;
    while (check_rank == 0 && MPI_Wtime() < end) {
        compute_for(0.0003);
        MPI_Iprobe(MPI_ANY_SOURCE, 0, WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(WORLD);
}

/* Rank 0 polls for two in turn: the first waits for it, the second is busy. */
static void two_polls(void)
{
    int x = 0, from = 0, flag = 0;
    if (check_rank == 0) {
        while (!flag) {
            MPI_Iprobe(from = 1, 0, WORLD, &flag, MPI_STATUS_IGNORE);
            if (!flag) MPI_Iprobe(from = 2, 0, WORLD, &flag, MPI_STATUS_IGNORE);
        }
        MPI_Recv(&x, 1, MPI_INT, from, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
    } else if (check_rank == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    } else if (check_rank == 2) {
        sleep(7);
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    }
}

static void errors_returned(void)
{
    int x = 1;
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    if (MPI_Send(&x, 1, MPI_INT, check_size + 3, 0, WORLD) == MPI_SUCCESS) MPI_Abort(WORLD, 3);
    MPI_Barrier(WORLD);
}

static const check_case cases[] = {
    {"ring_ok", 3, NULL, ring},
    {"even_odd_ok", 4, NULL, even_odd},
    {"isend_irecv_ok", 3, NULL, isend_irecv},
    {"wait_any_some_ok", 3, NULL, wait_any_some},
    {"test_loops_ok", 3, NULL, test_loops},
    {"master_worker_ok", 4, NULL, master_worker},
    {"probes_ok", 2, NULL, probes},
    {"persistent_ok", 3, NULL, persistent},
    {"buffered_ok", 2, NULL, buffered},
    {"ready_ok", 3, NULL, ready},
    {"to_self_and_nobody_ok", 2, NULL, to_self_and_nobody},
    {"large_ok", 2, NULL, large},
    {"many_nonblocking_ok", 3, NULL, many_nonblocking},
    {"threads_own_comms_ok", 2, NULL, threads_own_comms},
    {"threads_late_sender_ok", 2, NULL, threads_late_sender},
    {"cancelled_ok", 2, NULL, cancelled},
    {"freed_request_ok", 2, NULL, freed_request},
    {"sleeper_ok", 3, NULL, sleeper},
    {"poller_ok", 2, NULL, poller},
    {"poller_that_computes_ok", 2, NULL, poller_that_computes},
    {"two_polls_ok", 3, NULL, two_polls},
    {"errors_returned_ok", 2, NULL, errors_returned},
};
const check_table check_messages_ok = {cases, sizeof cases / sizeof *cases};
