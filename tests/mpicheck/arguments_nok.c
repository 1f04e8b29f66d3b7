/* Wrong programs: data, requests and arguments. */
#include "tests/mpicheck/programs.h"

#include <stddef.h>

static int x[64], y[64];

static void types_differ(void)
{
    FIRST MPI_Send(x, 4, MPI_INT, 1, 0, WORLD);
    SECOND MPI_Recv(y, 4, MPI_FLOAT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static void itypes_differ(void)
{
    MPI_Request r;
    FIRST MPI_Isend(x, 4, MPI_INT, 1, 0, WORLD, &r);
    SECOND MPI_Irecv(y, 16, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void truncated(void)
{
    FIRST MPI_Send(x, 8, MPI_INT, 1, 0, WORLD);
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static void send_changed(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Isend(x, 4, MPI_INT, 1, 0, WORLD, &r);
        x[1] = 7;
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static void collective_changed(void)
{
    MPI_Request r;
    MPI_Iallreduce(x, y, 4, MPI_INT, MPI_SUM, WORLD, &r);
    x[1] = 7;
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void persistent_changed(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Send_init(x, 4, MPI_INT, 1, 0, WORLD, &r);
        MPI_Start(&r);
        x[1] = 7;
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
    }
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static void polls(void)
{
    int flag = 0;
    MPI_Request r;
    FIRST
    {
        MPI_Irecv(y, 1, MPI_INT, 1, 0, WORLD, &r);
        while (!flag) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
    else MPI_Barrier(WORLD);
}

static void probes(void)
{
    int flag = 0;
    FIRST while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 3, WORLD, &flag, MPI_STATUS_IGNORE);
}

static void missing_wait(void)
{
    MPI_Request r;
    FIRST MPI_Isend(x, 1, MPI_INT, 1, 0, WORLD, &r);
    SECOND RECV(0, 0);
}

static void missing_wait_collective(void)
{
    MPI_Request r;
    MPI_Ibarrier(WORLD, &r);
}

static void missing_start(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Send_init(x, 1, MPI_INT, 1, 0, WORLD, &r);
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
        MPI_Send_init(x, 1, MPI_INT, 1, 0, WORLD, &r);
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
        MPI_Isend(x, 1, MPI_INT, 1, 0, WORLD, &r);
        MPI_Isend(x, 1, MPI_INT, 1, 0, WORLD, &r);
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
    MPI_Ibarrier(WORLD, &r);
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
    FIRST MPI_Send(x, -1, MPI_INT, 1, 0, WORLD);
}

static void bad_type(void)
{
    FIRST MPI_Send(x, 1, MPI_DATATYPE_NULL, 1, 0, WORLD);
}

static void bad_type_collective(void)
{
    MPI_Allreduce(x, y, 1, check_rank ? MPI_INT : MPI_DATATYPE_NULL, MPI_SUM, WORLD);
}

static void uncommitted(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Bcast(x, 1, type, 0, WORLD);
    MPI_Type_free(&type);
}

static void bad_comm(void)
{
    MPI_Barrier(check_rank ? WORLD : MPI_COMM_NULL);
}

static void freed_comm(void)
{
    MPI_Comm copy, before;
    MPI_Comm_dup(WORLD, &copy);
    before = copy;
    MPI_Comm_free(&copy);
    (void)before;
    MPI_Barrier(copy);
}

static void bad_root(void)
{
    MPI_Bcast(x, 1, MPI_INT, check_rank ? 0 : check_size, WORLD);
}

static void negative_root(void)
{
    MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, -7, WORLD);
}

static void bad_op(void)
{
    MPI_Allreduce(x, y, 1, MPI_INT, check_rank ? MPI_SUM : MPI_OP_NULL, WORLD);
}

static void op_and_type(void)
{
    MPI_Allreduce(x, y, 1, MPI_FLOAT, MPI_BAND, WORLD);
}

static void null_send(void)
{
    FIRST MPI_Send(NULL, 1, MPI_INT, 1, 0, WORLD);
    SECOND RECV(0, 0);
}

static void null_recv(void)
{
    FIRST SEND(1, 0);
    SECOND MPI_Recv(NULL, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static void null_collective(void)
{
    MPI_Allreduce(x, check_rank ? y : NULL, 1, MPI_INT, MPI_SUM, WORLD);
}

static void aliased(void)
{
    MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, WORLD);
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
    MPI_Allreduce(x, y, 1, MPI_INT, op, WORLD);
    MPI_Op_free(&op);
}

static const check_case cases[] = {
    {"types_differ_nok", 2, "type", types_differ},
    {"itypes_differ_nok", 2, "type", itypes_differ},
    {"truncated_nok", 2, "truncated", truncated},
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
const check_table check_arguments_nok = {cases, sizeof cases / sizeof *cases};
