/* Small MPI programs that are wrong, each in one way. */
#include "tests/check/programs.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static MPI_Comm world = MPI_COMM_WORLD;
static int x[64], y[64];
#define NEXT ((check_rank + 1) % check_size)
#define BEFORE ((check_rank + check_size - 1) % check_size)
#define RECV(from, tag) MPI_Recv(y, 1, MPI_INT, from, tag, world, MPI_STATUS_IGNORE)
#define SEND(to, tag) MPI_Send(x, 1, MPI_INT, to, tag, world)
#define FIRST if (check_rank == 0)
#define SECOND if (check_rank == 1)

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
    MPI_Ssend(x, 1, MPI_INT, NEXT, 0, world);
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
        MPI_Isend(x, 1, MPI_INT, 1, 0, world, &r);
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
    MPI_Comm_dup(world, &copy);
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
        MPI_Ssend(x, 1, MPI_INT, 1, 1, world);
        MPI_Ssend(x, 1, MPI_INT, 1, 2, world);
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
    MPI_Irecv(y, 1, MPI_INT, NEXT, 0, world, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    SEND(BEFORE, 0);
}

static void waitall(void)
{
    MPI_Request r[2];
    MPI_Irecv(y, 1, MPI_INT, NEXT, 0, world, &r[0]);
    MPI_Irecv(y + 1, 1, MPI_INT, NEXT, 1, world, &r[1]);
    SEND(BEFORE, 0);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void probe(void)
{
    FIRST MPI_Probe(1, 0, world, MPI_STATUS_IGNORE);
}

static void barrier_and_recv(void)
{
    FIRST RECV(1, 0);
    MPI_Barrier(world);
    SECOND SEND(0, 0);
}

static void bcast_and_send(void)
{
    FIRST
    {
        SEND(1, 0);
        MPI_Bcast(x, 1, MPI_INT, 0, world);
    }
    SECOND
    {
        MPI_Bcast(x, 1, MPI_INT, 0, world);
        RECV(0, 0);
    }
}

static void others_run(void)
{
    if (check_rank == 2)
        sleep(6);
    else
        RECV(1 - check_rank, 0);
    MPI_Barrier(world);
}

static void halves(void)
{
    MPI_Comm half;
    MPI_Comm_split(world, check_rank / 2, 0, &half);
    if (check_rank != 3) MPI_Barrier(half);
    MPI_Barrier(world);
}

static void overlapping(void)
{
    MPI_Comm pair[3];
    for (int i = 0; i < 3; i++)
        MPI_Comm_split(world, check_rank == i ? MPI_UNDEFINED : 0, 0, &pair[i]);
    /* Each rank is in two of three pairs, and begins with another one. */
    MPI_Barrier(pair[(check_rank + 1) % 3]);
    MPI_Barrier(pair[(check_rank + 2) % 3]);
}

static void early_end(void)
{
    if (check_rank == 2) return;
    MPI_Barrier(world);
}

static void exits(void)
{
    if (check_rank == 1) exit(0);
    MPI_Barrier(world);
}

static void dies(void)
{
    if (check_rank == 1) abort();
    MPI_Barrier(world);
}

static void loops_differ(void)
{
    for (int i = 0; i < 3 + (check_rank == 1); i++) MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, world);
}

static void dup_missing(void)
{
    MPI_Comm copy;
    if (check_rank != 1) MPI_Comm_dup(world, &copy);
}

static void dup_and_barrier(void)
{
    MPI_Comm copy;
    FIRST MPI_Comm_dup(world, &copy);
    else MPI_Barrier(world);
}

static void intercomm(void)
{
    MPI_Comm half, both;
    int side = check_rank % 2;
    MPI_Comm_split(world, side, 0, &half);
    MPI_Intercomm_create(half, 0, world, 1 - side, 7, &both);
    if (side == 0)
        MPI_Barrier(both);
    else
        MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, both);
}

static void create_group(void)
{
    MPI_Group all;
    MPI_Comm comm;
    MPI_Comm_group(world, &all);
    if (check_rank != 1) MPI_Comm_create_group(world, all, 4, &comm);
    MPI_Group_free(&all);
}

static void fence(void)
{
    MPI_Win win;
    MPI_Win_create(x, sizeof(x), 1, MPI_INFO_NULL, world, &win);
    if (check_rank != 1) MPI_Win_fence(0, win);
}

static void win_free(void)
{
    MPI_Win win;
    MPI_Win_create(x, sizeof(x), 1, MPI_INFO_NULL, world, &win);
    MPI_Win_fence(0, win);
    if (check_rank != 1) MPI_Win_free(&win);
}

static void file_open(void)
{
    MPI_File file;
    FIRST MPI_File_open(world, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    else MPI_Barrier(world);
}

static MPI_File open_file(void)
{
    MPI_File file;
    MPI_File_open(world, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    return file;
}

static void file_write(void)
{
    MPI_File file = open_file();
    if (check_rank != 1) MPI_File_write_all(file, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(world);
    MPI_File_close(&file);
}

static void file_order(void)
{
    MPI_File file = open_file();
    FIRST MPI_File_sync(file);
    MPI_File_write_at_all(file, 0, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (check_rank != 0) MPI_File_sync(file);
    MPI_File_close(&file);
}

static void file_close(void)
{
    MPI_File file = open_file();
    FIRST MPI_File_read_all_begin(file, x, 4, MPI_INT);
    MPI_File_close(&file);
}

static void *barrier(void *comm)
{
    MPI_Barrier(*(MPI_Comm *)comm);
    return NULL;
}

static void threads_exhausted(void)
{
    /* Three collectives, two threads that each block in one, in another order on each rank. */
    MPI_Comm comms[4];
    pthread_t threads[2];
    for (int i = 0; i < 4; i++) MPI_Comm_dup(world, &comms[i]);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, barrier, &comms[2 * check_rank + i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void types_differ(void)
{
    FIRST MPI_Send(x, 4, MPI_INT, 1, 0, world);
    SECOND MPI_Recv(y, 4, MPI_FLOAT, 0, 0, world, MPI_STATUS_IGNORE);
}

static void itypes_differ(void)
{
    MPI_Request r;
    FIRST MPI_Isend(x, 4, MPI_INT, 1, 0, world, &r);
    SECOND MPI_Irecv(y, 16, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void truncated(void)
{
    FIRST MPI_Send(x, 8, MPI_INT, 1, 0, world);
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
}

static void send_changed(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Isend(x, 4, MPI_INT, 1, 0, world, &r);
        x[1] = 7;
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
}

static void collective_changed(void)
{
    MPI_Request r;
    MPI_Iallreduce(x, y, 4, MPI_INT, MPI_SUM, world, &r);
    x[1] = 7;
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void persistent_changed(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Send_init(x, 4, MPI_INT, 1, 0, world, &r);
        MPI_Start(&r);
        x[1] = 7;
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
    }
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
}

static void polls(void)
{
    int flag = 0;
    MPI_Request r;
    FIRST
    {
        MPI_Irecv(y, 1, MPI_INT, 1, 0, world, &r);
        while (!flag) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
    else MPI_Barrier(world);
}

static void probes(void)
{
    int flag = 0;
    FIRST while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 3, world, &flag, MPI_STATUS_IGNORE);
}

static void missing_wait(void)
{
    MPI_Request r;
    FIRST MPI_Isend(x, 1, MPI_INT, 1, 0, world, &r);
    SECOND RECV(0, 0);
}

static void missing_wait_collective(void)
{
    MPI_Request r;
    MPI_Ibarrier(world, &r);
}

static void missing_start(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Send_init(x, 1, MPI_INT, 1, 0, world, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
    }
    SECOND RECV(0, 0);
}

static void started_twice(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Send_init(x, 1, MPI_INT, 1, 0, world, &r);
        MPI_Start(&r);
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
    }
    SECOND RECV(0, 0);
}

static void overwritten_request(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Isend(x, 1, MPI_INT, 1, 0, world, &r);
        MPI_Isend(x, 1, MPI_INT, 1, 0, world, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    SECOND
    {
        RECV(0, 0);
        RECV(0, 0);
    }
}

static void freed_collective(void)
{
    MPI_Request r;
    MPI_Ibarrier(world, &r);
    MPI_Request_free(&r);
}

static void bad_rank(void)
{
    FIRST SEND(check_size, 0);
}

static void bad_tag(void)
{
    FIRST SEND(1, -3);
}

static void bad_count(void)
{
    FIRST MPI_Send(x, -1, MPI_INT, 1, 0, world);
}

static void bad_type(void)
{
    FIRST MPI_Send(x, 1, MPI_DATATYPE_NULL, 1, 0, world);
}

static void bad_type_collective(void)
{
    MPI_Allreduce(x, y, 1, check_rank ? MPI_INT : MPI_DATATYPE_NULL, MPI_SUM, world);
}

static void uncommitted(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Bcast(x, 1, type, 0, world);
    MPI_Type_free(&type);
}

static void bad_comm(void)
{
    MPI_Barrier(check_rank ? world : MPI_COMM_NULL);
}

static void freed_comm(void)
{
    MPI_Comm copy, before;
    MPI_Comm_dup(world, &copy);
    before = copy;
    MPI_Comm_free(&copy);
    (void)before;
    MPI_Barrier(copy);
}

static void bad_root(void)
{
    MPI_Bcast(x, 1, MPI_INT, check_rank ? 0 : check_size, world);
}

static void negative_root(void)
{
    MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, -7, world);
}

static void bad_op(void)
{
    MPI_Allreduce(x, y, 1, MPI_INT, check_rank ? MPI_SUM : MPI_OP_NULL, world);
}

static void op_and_type(void)
{
    MPI_Allreduce(x, y, 1, MPI_FLOAT, MPI_BAND, world);
}

static void null_send(void)
{
    FIRST MPI_Send(NULL, 1, MPI_INT, 1, 0, world);
    SECOND RECV(0, 0);
}

static void null_recv(void)
{
    FIRST SEND(1, 0);
    SECOND MPI_Recv(NULL, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
}

static void null_collective(void)
{
    MPI_Allreduce(x, check_rank ? y : NULL, 1, MPI_INT, MPI_SUM, world);
}

static void aliased(void)
{
    MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, world);
}

static void different_functions_a(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void different_functions_b(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)inout)[i] *= ((int *)in)[i];
}

static void made_operators(void)
{
    MPI_Op op;
    MPI_Op_create(check_rank ? different_functions_a : different_functions_b, 1, &op);
    MPI_Allreduce(x, y, 1, MPI_INT, op, world);
    MPI_Op_free(&op);
}

const check_case check_nok_cases[] = {
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
    {"probe_nok", 2, "deadlock", probe},
    {"barrier_and_recv_nok", 2, "deadlock", barrier_and_recv},
    {"bcast_and_send_nok", 2, "deadlock", bcast_and_send},
    {"others_run_nok", 3, "deadlock", others_run},
    {"halves_nok", 4, "", halves},
    {"overlapping_nok", 3, "deadlock", overlapping},
    {"early_end_nok", 3, "deadlock", early_end},
    {"exits_nok", 3, "without having called MPI_Finalize", exits},
    {"dies_nok", 3, "has died", dies},
    {"loops_differ_nok", 3, "deadlock", loops_differ},
    {"dup_missing_nok", 3, "deadlock", dup_missing},
    {"dup_and_barrier_nok", 3, "the kind of collective", dup_and_barrier},
    {"intercomm_nok", 4, "the kind of collective", intercomm},
    {"create_group_nok", 3, "deadlock", create_group},
    {"fence_nok", 3, "deadlock", fence},
    {"win_free_nok", 3, "deadlock", win_free},
    {"file_open_nok", 3, "the kind of collective", file_open},
    {"file_write_nok", 3, "deadlock", file_write},
    {"file_order_nok", 3, "the kind of collective", file_order},
    {"file_close_nok", 3, "the kind of collective", file_close},
    {"threads_exhausted_nok", 2, "deadlock", threads_exhausted},
    {"types_differ_nok", 2, "type", types_differ},
    {"itypes_differ_nok", 2, "type", itypes_differ},
    {"truncated_nok", 2, "TRUNCATE", truncated},
    {"send_changed_nok", 2, "was changed", send_changed},
    {"collective_changed_nok", 2, "was changed", collective_changed},
    {"persistent_changed_nok", 2, "was changed", persistent_changed},
    {"polls_nok", 3, "deadlock", polls},
    {"probes_nok", 2, "deadlock", probes},
    {"missing_wait_nok", 2, "never completed", missing_wait},
    {"missing_wait_collective_nok", 2, "never completed", missing_wait_collective},
    {"missing_start_nok", 2, "deadlock", missing_start},
    {"started_twice_nok", 2, "", started_twice},
    {"overwritten_request_nok", 2, "never completed", overwritten_request},
    {"freed_collective_nok", 2, "freed before it is complete", freed_collective},
    {"bad_rank_nok", 2, "refuses", bad_rank},
    {"bad_tag_nok", 2, "refuses", bad_tag},
    {"bad_count_nok", 2, "refuses", bad_count},
    {"bad_type_nok", 2, "refuses", bad_type},
    {"bad_type_collective_nok", 2, "refuses", bad_type_collective},
    {"uncommitted_nok", 2, "refuses", uncommitted},
    {"bad_comm_nok", 2, "refuses", bad_comm},
    {"freed_comm_nok", 2, "refuses", freed_comm},
    {"bad_root_nok", 2, "refuses", bad_root},
    {"negative_root_nok", 2, "refuses", negative_root},
    {"bad_op_nok", 2, "refuses", bad_op},
    {"op_and_type_nok", 2, "refuses", op_and_type},
    {"null_send_nok", 2, "null pointer", null_send},
    {"null_recv_nok", 2, "null pointer", null_recv},
    {"null_collective_nok", 2, "null pointer", null_collective},
    {"aliased_nok", 2, "MPI_IN_PLACE", aliased},
    {"made_operators_nok", 2, "the operator", made_operators},
};
const int check_nok_count = sizeof(check_nok_cases) / sizeof(check_nok_cases[0]);
