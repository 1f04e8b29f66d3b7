/* Wrong programs: messages and collectives that wait forever. */
#include "tests/mpicheck/programs.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int x[64], y[64];

static void recv_recv(void)
{
    RECV(NEXT, 0);
    SEND(BEFORE, 0);
}

static void send_send(void)
{
    SEND(NEXT, 0);
    RECV(BEFORE, 0);
}

static void ssend_ssend(void)
{
    MPI_Ssend(x, 1, MPI_INT, NEXT, 0, WORLD);
    RECV(BEFORE, 0);
}

static void missing_send(void)
{
    FIRST RECV(1, 0);
}

static void missing_recv(void)
{
    FIRST SEND(1, 0);
}

static void missing_recv_isend(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Isend(x, 1, MPI_INT, 1, 0, WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

static void tags_differ(void)
{
    FIRST SEND(1, 1);
    SECOND RECV(0, 2);
}

static void comms_differ(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(WORLD, &copy);
    FIRST SEND(1, 1);
    SECOND MPI_Recv(y, 1, MPI_INT, 0, 1, copy, MPI_STATUS_IGNORE);
}

static void wildcard(void)
{
    FIRST
    {
        for (int i = 0; i < check_size; i++) RECV(MPI_ANY_SOURCE, MPI_ANY_TAG);
    }
    else SEND(0, 0);
}

static void wildcard_all(void)
{
    RECV(MPI_ANY_SOURCE, MPI_ANY_TAG);
}

static void to_self(void)
{
    SEND(check_rank, 0);
    RECV(check_rank, 0);
}

static void order_of_tags(void)
{
    FIRST
    {
        MPI_Ssend(x, 1, MPI_INT, 1, 1, WORLD);
        MPI_Ssend(x, 1, MPI_INT, 1, 2, WORLD);
    }
    SECOND
    {
        RECV(0, 2);
        RECV(0, 1);
    }
}

static void irecv_wait(void)
{
    MPI_Request r;
    MPI_Irecv(y, 1, MPI_INT, NEXT, 0, WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    SEND(BEFORE, 0);
}

static void waitall(void)
{
    MPI_Request r[2];
    MPI_Irecv(y, 1, MPI_INT, NEXT, 0, WORLD, &r[0]);
    MPI_Irecv(y + 1, 1, MPI_INT, NEXT, 1, WORLD, &r[1]);
    SEND(BEFORE, 0);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

/* One of the two messages arrives. */
static void waitall_one_sent(void)
{
    MPI_Request r[2];
    FIRST SEND(1, 0);
    SECOND
    {
        for (int i = 0; i < 2; i++) MPI_Irecv(y + i, 1, MPI_INT, 0, 0, WORLD, &r[i]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
}

static void probe(void)
{
    FIRST MPI_Probe(1, 0, WORLD, MPI_STATUS_IGNORE);
}

static void barrier_and_recv(void)
{
    FIRST RECV(1, 0);
    MPI_Barrier(WORLD);
    SECOND SEND(0, 0);
}

static void bcast_and_send(void)
{
    FIRST
    {
        SEND(1, 0);
        MPI_Bcast(x, 1, MPI_INT, 0, WORLD);
    }
    SECOND
    {
        MPI_Bcast(x, 1, MPI_INT, 0, WORLD);
        RECV(0, 0);
    }
}

static void others_run(void)
{
    if (check_rank == 2)
        sleep(6);
    else
        RECV(1 - check_rank, 0);
    MPI_Barrier(WORLD);
}

static void halves(void)
{
    MPI_Comm half;
    MPI_Comm_split(WORLD, check_rank / 2, 0, &half);
    if (check_rank != 3) MPI_Barrier(half);
    MPI_Barrier(WORLD);
}

static void overlapping(void)
{
    MPI_Comm pair[3];
    for (int i = 0; i < 3; i++)
        MPI_Comm_split(WORLD, check_rank == i ? MPI_UNDEFINED : 0, 0, &pair[i]);
    /* Each rank is in two of three pairs, and begins with a different one. */
    MPI_Barrier(pair[(check_rank + 1) % 3]);
    MPI_Barrier(pair[(check_rank + 2) % 3]);
}

static void early_end(void)
{
    if (check_rank == 2) return;
    MPI_Barrier(WORLD);
}

static void exits(void)
{
    if (check_rank == 1) exit(0);
    MPI_Barrier(WORLD);
}

static void dies(void)
{
    if (check_rank == 1) abort();
    MPI_Barrier(WORLD);
}

static void loops_differ(void)
{
    for (int i = 0; i < 3 + (check_rank == 1); i++) MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, WORLD);
}

static void *barrier(void *comm)
{
    MPI_Barrier(*(MPI_Comm *)comm);
    return NULL;
}

static void threads_exhausted(void)
{
    /* Three collectives and two threads that each block in one, in a different order on each rank. */
    MPI_Comm comms[4];
    pthread_t threads[2];
    for (int i = 0; i < 4; i++) MPI_Comm_dup(WORLD, &comms[i]);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, barrier, &comms[2 * check_rank + i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static const check_case cases[] = {
    {"recv_recv_nok", 2, "deadlock", recv_recv},
    {"recv_recv_cycle_nok", 4, "deadlock", recv_recv},
    {"send_send_nok", 2, "deadlock", send_send},
    {"send_send_cycle_nok", 3, "deadlock", send_send},
    {"ssend_ssend_nok", 3, "deadlock", ssend_ssend},
    {"missing_send_nok", 2, "deadlock", missing_send},
    {"missing_recv_nok", 2, "deadlock", missing_recv},
    {"missing_recv_isend_nok", 2, "deadlock", missing_recv_isend},
    {"tags_differ_nok", 2, "deadlock", tags_differ},
    {"comms_differ_nok", 2, "deadlock", comms_differ},
    {"wildcard_nok", 3, "deadlock", wildcard},
    {"wildcard_all_nok", 3, "deadlock", wildcard_all},
    {"to_self_nok", 1, "deadlock", to_self},
    {"order_of_tags_nok", 2, "deadlock", order_of_tags},
    {"irecv_wait_nok", 3, "deadlock", irecv_wait},
    {"waitall_nok", 2, "deadlock", waitall},
    {"waitall_one_sent_nok", 2, "deadlock", waitall_one_sent},
    {"probe_nok", 2, "deadlock", probe},
    {"barrier_and_recv_nok", 2, "deadlock", barrier_and_recv},
    {"bcast_and_send_nok", 2, "deadlock", bcast_and_send},
    {"others_run_nok", 3, "deadlock", others_run},
    {"halves_nok", 4, "", halves},
    {"overlapping_nok", 3, "deadlock", overlapping},
    {"early_end_nok", 3, "deadlock", early_end},
    {"exits_nok", 3, "without calling MPI_Finalize", exits},
    {"dies_nok", 3, "has died", dies},
    {"loops_differ_nok", 3, "deadlock", loops_differ},
    {"threads_exhausted_nok", 2, "deadlock", threads_exhausted},
};
const check_table check_messages_nok = {cases, sizeof cases / sizeof *cases};
