/* Memory that one call, or two that are under way at once, read and write: wrong where bytes are
 * shared, and right where only their bounds meet. */
#include "tests/mpicheck/programs.h"

#include <stddef.h>

enum { N = 4, ROW = 16 };
static int b[4 * ROW * ROW], z[ROW * ROW];
static int counts[8], places[8], bytes[8];
static MPI_Aint offsets[8];
static MPI_Datatype types[8];

/* The last rank, which is the root of collectives here. */
#define LAST (check_size - 1)
#define ROOT if (check_rank == LAST)

/* Data of N elements for each rank, a gap of one element behind each. */
static void rows(void)
{
    for (int i = 0; i < 8; i++) {
        counts[i] = N;
        places[i] = i * (N + 1);
        bytes[i] = places[i] * (int)sizeof(int);
        offsets[i] = bytes[i];
        types[i] = MPI_INT;
    }
}

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* A column of a matrix of ROW x ROW. */
static MPI_Datatype column(void)
{
    MPI_Datatype type;
    MPI_Type_vector(ROW, 1, ROW, MPI_INT, &type);
    return committed(type);
}

/* The same, with the next column one element on: several are a part of the matrix, transposed. */
static MPI_Datatype columns(void)
{
    MPI_Datatype one = column(), type;
    MPI_Type_create_resized(one, 0, sizeof(int), &type);
    MPI_Type_free(&one);
    return committed(type);
}

/* ---- one collective call, blocking or not ---- */

#define WRONG(name, call, ...)                                                                     \
    static void name(void)                                                                         \
    {                                                                                              \
        rows();                                                                                    \
        MPI_##call(__VA_ARGS__, WORLD);                                                            \
    }
#define WRONG_LATER(name, call, ...)                                                               \
    static void name(void)                                                                         \
    {                                                                                              \
        MPI_Request r;                                                                             \
        rows();                                                                                    \
        MPI_##call(__VA_ARGS__, WORLD, &r);                                                        \
        MPI_Wait(&r, MPI_STATUS_IGNORE);                                                           \
    }
/* Only on the last rank; the others give what is right. */
#define AT_LAST(wrong, right) (check_rank == LAST ? (wrong) : (right))

WRONG(gather, Gather, AT_LAST(b + LAST * N, b), N, MPI_INT, b, N, MPI_INT, LAST)
WRONG(gatherv, Gatherv, AT_LAST(b + N + 2, z), N, MPI_INT, b, counts, places, MPI_INT, LAST)
WRONG_LATER(
    igatherv, Igatherv, AT_LAST(b + 2 * N + 3, z), N, MPI_INT, b, counts, places, MPI_INT, LAST)
WRONG(scatter, Scatter, b, N, MPI_INT, AT_LAST(b + N + 1, z), N, MPI_INT, LAST)
WRONG_LATER(iscatterv, Iscatterv, b, counts, places, MPI_INT, AT_LAST(b + 1, z), N, MPI_INT, LAST)
WRONG(allgather, Allgather, b + 2 * N + 3, N, MPI_INT, b, N, MPI_INT)
WRONG_LATER(iallgatherv, Iallgatherv, b + N + 4, N, MPI_INT, b, counts, places, MPI_INT)
WRONG(alltoall, Alltoall, b, N, MPI_INT, b + 3 * N - 1, N, MPI_INT)
WRONG(alltoallv, Alltoallv, b, counts, places, MPI_INT, b + 2, counts, places, MPI_INT)
WRONG_LATER(ialltoallw, Ialltoallw, b, counts, bytes, types, b + 9, counts, bytes, types)
WRONG(reduce, Reduce, AT_LAST(b + 3, b), b, N, MPI_INT, MPI_SUM, LAST)
WRONG_LATER(iallreduce, Iallreduce, b, b + 1, N, MPI_INT, MPI_SUM)
WRONG(scan, Scan, b + 1, b, N, MPI_INT, MPI_SUM)
WRONG(exscan, Exscan, b, b + N - 1, N, MPI_INT, MPI_SUM)
WRONG(reduce_scatter, Reduce_scatter, b, b + N * check_size - 1, counts, MPI_INT, MPI_SUM)
WRONG(reduce_scatter_block, Reduce_scatter_block, b, b + N * LAST, N, MPI_INT, MPI_SUM)

/* Counts of zero where the data would overlap, except on one rank. */
static void allgatherv_uneven(void)
{
    for (int i = 0; i < check_size; i++) {
        counts[i] = i ? N : 0;
        places[i] = i ? (i - 1) * N : 0;
    }
    MPI_Allgatherv(AT_LAST(b, z), counts[check_rank], MPI_INT, b, counts, places, MPI_INT, WORLD);
}

/* The data of two ranks arrive in the same place. */
static void gatherv_twice(void)
{
    rows();
    places[1] = places[2] - 1;
    MPI_Gatherv(z, N, MPI_INT, b, counts, places, MPI_INT, 0, WORLD);
}

static void alltoallw_twice(void)
{
    rows();
    bytes[0] = bytes[2] + 15;
    MPI_Alltoallw(z, counts, (int[]){0, 0, 0}, types, b, counts, bytes, types, WORLD);
}

static MPI_Comm ring(void)
{
    MPI_Comm ring;
    MPI_Cart_create(WORLD, 1, &check_size, (int[]){1}, 0, &ring);
    return ring;
}

static void neighbors(void)
{
    MPI_Neighbor_allgather(b + N, N, MPI_INT, b, N, MPI_INT, ring());
}

static void neighbors_w(void)
{
    rows();
    MPI_Neighbor_alltoallw(z, counts, offsets, types, z + 2 * N, counts, offsets, types, ring());
}

/* ---- messages ---- */

static void sendrecv(void)
{
    MPI_Sendrecv(
        b, N, MPI_INT, NEXT, 0, b + N - 1, N, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
}

/* Types with gaps that share one element. */
static void sendrecv_strided(void)
{
    MPI_Datatype type = column();
    MPI_Sendrecv(
        b + 3, 1, type, NEXT, 0, b + 2 * ROW, ROW, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

static void pair(void)
{
    MPI_Request r[2];
    MPI_Irecv(b, N, MPI_INT, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(b + N - 1, N, MPI_INT, NEXT, 0, WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void two_receives(void)
{
    MPI_Request r[2];
    MPI_Irecv(b, N, MPI_INT, BEFORE, 0, WORLD, &r[0]);
    MPI_Irecv(b + 1, N, MPI_INT, BEFORE, 1, WORLD, &r[1]);
    for (int i = 0; i < 2; i++) MPI_Send(z, N, MPI_INT, NEXT, i, WORLD);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

/* The type is gone when the second call comes. */
static void freed_type(void)
{
    MPI_Request r;
    MPI_Datatype type = column();
    MPI_Irecv(b + 5, 1, type, BEFORE, 0, WORLD, &r);
    MPI_Type_free(&type);
    MPI_Send(b + 4 * ROW + 4, 2, MPI_INT, NEXT, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    MPI_Request r[2];
    MPI_Recv_init(b, N, MPI_INT, BEFORE, 0, WORLD, &r[0]);
    MPI_Send_init(b + 2, N, MPI_INT, NEXT, 0, WORLD, &r[1]);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void matched(void)
{
    MPI_Message m;
    MPI_Request r[2];
    FIRST MPI_Send(z, N, MPI_INT, 1, 0, WORLD);
    SECOND
    {
        MPI_Irecv(b, N, MPI_INT, 0, 1, WORLD, &r[0]);
        MPI_Mprobe(0, 0, WORLD, &m, MPI_STATUS_IGNORE);
        MPI_Imrecv(b + 3, N, MPI_INT, &m, &r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    }
    FIRST MPI_Send(z, N, MPI_INT, 1, 1, WORLD);
    SECOND MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

static void received_twice(void)
{
    MPI_Datatype overlapping;
    MPI_Type_vector(3, 2, 1, MPI_INT, &overlapping);
    MPI_Type_commit(&overlapping);
    FIRST MPI_Send(z, 6, MPI_INT, 1, 0, WORLD);
    SECOND MPI_Recv(b, 1, overlapping, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&overlapping);
}

/* ---- a request, and a collective that blocks; two collectives ---- */

static void receive_and_bcast(void)
{
    MPI_Request r;
    MPI_Irecv(b, N, MPI_INT, BEFORE, 0, WORLD, &r);
    MPI_Bcast(b + 1, 1, MPI_INT, LAST, WORLD);
    MPI_Send(z, N, MPI_INT, NEXT, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void send_and_allreduce(void)
{
    MPI_Request r;
    MPI_Isend(b, N, MPI_INT, NEXT, 0, WORLD, &r);
    MPI_Allreduce(MPI_IN_PLACE, b + 3, 1, MPI_INT, MPI_SUM, WORLD);
    MPI_Recv(z, N, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void two_collectives(void)
{
    MPI_Request r[2];
    MPI_Iallreduce(MPI_IN_PLACE, b, N, MPI_INT, MPI_SUM, WORLD, &r[0]);
    MPI_Ibcast(b + 2, N, MPI_INT, LAST, WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void allgather_and_send(void)
{
    MPI_Request r[2];
    rows();
    MPI_Iallgatherv(z, N, MPI_INT, b, counts, places, MPI_INT, WORLD, &r[0]);
    MPI_Isend(b + N, 2, MPI_INT, NEXT, 0, WORLD, &r[1]);
    MPI_Recv(z + N, 2, MPI_INT, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static const check_case wrong[] = {
    {"overlap_gather_nok", 3, "from byte 32 of the latter on; use MPI_IN_PLACE", gather},
    {"overlap_gatherv_nok", 3, "overlap", gatherv},
    {"overlap_igatherv_nok", 3, "overlap", igatherv},
    {"overlap_scatter_nok", 3, "overlap", scatter},
    {"overlap_iscatterv_nok", 3, "overlap", iscatterv},
    {"overlap_allgather_nok", 3, "overlap", allgather},
    {"overlap_iallgatherv_nok", 3, "overlap", iallgatherv},
    {"overlap_allgatherv_uneven_nok", 3, "the send buffer is also the receive buffer",
        allgatherv_uneven},
    {"overlap_alltoall_nok", 3, "overlap", alltoall},
    {"overlap_alltoallv_nok", 3, "overlap", alltoallv},
    {"overlap_ialltoallw_nok", 3, "overlap", ialltoallw},
    {"overlap_reduce_nok", 3, "overlap", reduce},
    {"overlap_iallreduce_nok", 3, "overlap", iallreduce},
    {"overlap_scan_nok", 3, "overlap", scan},
    {"overlap_exscan_nok", 3, "overlap", exscan},
    {"overlap_reduce_scatter_nok", 3, "overlap", reduce_scatter},
    {"overlap_reduce_scatter_block_nok", 3, "overlap", reduce_scatter_block},
    {"overlap_gatherv_twice_nok", 3, "the data of ranks 1 and 2 overlap", gatherv_twice},
    {"overlap_alltoallw_twice_nok", 3, "the data of ranks 0 and 2 overlap", alltoallw_twice},
    {"overlap_neighbors_nok", 3, "overlap", neighbors},
    {"overlap_neighbors_w_nok", 3, "overlap", neighbors_w},
    {"overlap_sendrecv_nok", 3, "use MPI_Sendrecv_replace", sendrecv},
    {"overlap_sendrecv_strided_nok", 3, "from byte 12 of the latter on", sendrecv_strided},
    {"overlap_pair_nok", 3, "the send buffer overlaps the receive buffer of MPI_Irecv", pair},
    {"overlap_two_receives_nok", 3, "the receive buffer overlaps the receive buffer of MPI_Irecv",
        two_receives},
    {"overlap_freed_type_nok", 3, "overlaps the receive buffer of MPI_Irecv", freed_type},
    {"overlap_persistent_nok", 3, "overlaps the receive buffer of MPI_Recv_init", persistent},
    {"overlap_matched_nok", 2, "overlaps the receive buffer of MPI_Irecv", matched},
    {"overlap_received_twice_nok", 2, "elements of the receive buffer overlap", received_twice},
    {"overlap_receive_and_bcast_nok", 3, "of MPI_Irecv", receive_and_bcast},
    {"overlap_send_and_allreduce_nok", 3, "overlaps the send buffer of MPI_Isend",
        send_and_allreduce},
    {"overlap_two_collectives_nok", 3, "of MPI_Iallreduce", two_collectives},
    {"overlap_allgather_and_send_nok", 3, "of MPI_Iallgatherv", allgather_and_send},
};
const check_table check_overlap_nok = {wrong, sizeof wrong / sizeof *wrong};

/* ---- right ---- */

/* Halos: each column of a matrix for another purpose, all under way at once. */
static void halos(void)
{
    MPI_Request r[4];
    MPI_Datatype type = column();
    MPI_Irecv(b, 1, type, BEFORE, 0, WORLD, &r[0]);
    MPI_Irecv(b + ROW - 1, 1, type, NEXT, 1, WORLD, &r[1]);
    MPI_Isend(b + 1, 1, type, BEFORE, 1, WORLD, &r[2]);
    MPI_Isend(b + ROW - 2, 1, type, NEXT, 0, WORLD, &r[3]);
    MPI_Type_free(&type);
    MPI_Sendrecv(
        b + 2, 1, MPI_INT, NEXT, 2, b + 3, 1, MPI_INT, BEFORE, 2, WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

/* Parts of one matrix, transposed: their bounds meet, their elements do not. */
static void transposed(void)
{
    MPI_Datatype type = columns();
    MPI_Alltoall(b, 2, type, b + 2 * check_size, 2, type, WORLD);
    MPI_Allgather(b, 2, type, b + 2, 2, type, WORLD);
    MPI_Type_free(&type);
}

/* A struct with a gap, and data in that gap. */
static void in_the_gap(void)
{
    MPI_Datatype type;
    MPI_Request r;
    MPI_Aint at[2] = {0, 8 * sizeof(int)};
    MPI_Type_create_struct(2, (int[]){2, 3}, at, (MPI_Datatype[]){MPI_INT, MPI_INT}, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(b, 2, type, BEFORE, 0, WORLD, &r);
    MPI_Allreduce(z, b + 2, 6, MPI_INT, MPI_SUM, WORLD);
    MPI_Send(z, 2, type, NEXT, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

/* Elements that lie one before the other. */
static void backwards(void)
{
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, -2 * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(b + 8, 4, type, NEXT, 0, b + 9, 4, type, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

/* The same memory is read as often as one likes. */
static void only_read(void)
{
    MPI_Request r[3];
    MPI_Isend(b, N, MPI_INT, NEXT, 0, WORLD, &r[0]);
    MPI_Isend(b + 1, N, MPI_INT, NEXT, 1, WORLD, &r[1]);
    MPI_Iallreduce(b, z, N, MPI_INT, MPI_SUM, WORLD, &r[2]);
    ROOT MPI_Bcast(b, N, MPI_INT, LAST, WORLD);
    else MPI_Bcast(b + 2 * ROW, N, MPI_INT, LAST, WORLD);
    for (int i = 0; i < 2; i++) MPI_Recv(z + ROW, N, MPI_INT, BEFORE, i, WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
}

static void no_elements(void)
{
    MPI_Request r;
    MPI_Datatype empty;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Irecv(b, 0, MPI_INT, BEFORE, 0, WORLD, &r);
    MPI_Allreduce(b, b, 0, MPI_INT, MPI_SUM, WORLD);
    MPI_Alltoall(b, 3, empty, b, 3, empty, WORLD);
    MPI_Sendrecv(b, 0, MPI_INT, NEXT, 0, b, N, MPI_INT, MPI_PROC_NULL, 1, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Type_free(&empty);
}

/* Arguments that do not count on this rank. */
static void not_significant(void)
{
    rows();
    MPI_Gather(AT_LAST(z, b), N, MPI_INT, b, N, MPI_INT, LAST, WORLD);
    MPI_Scatter(b, N, MPI_INT, AT_LAST(z, b), N, MPI_INT, LAST, WORLD);
    MPI_Reduce(AT_LAST(z, b), b, N, MPI_INT, MPI_SUM, LAST, WORLD);
    MPI_Exscan(check_rank ? z : b, b, N, MPI_INT, MPI_SUM, WORLD);
    MPI_Exscan(b, check_rank ? z : NULL, N, MPI_INT, MPI_SUM, WORLD);
    MPI_Gatherv(AT_LAST(MPI_IN_PLACE, b), N, MPI_INT, b, counts, places, MPI_INT, LAST, WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, b, counts, places, MPI_INT, WORLD);
    MPI_Reduce_scatter(MPI_IN_PLACE, b, counts, MPI_INT, MPI_SUM, WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, counts, places, MPI_INT, b, counts, places, MPI_INT, WORLD);
}

/* Between the pieces of a v-variant. */
static void between_pieces(void)
{
    MPI_Datatype type;
    MPI_Type_vector(3, 1, N + 1, MPI_INT, &type);
    MPI_Type_commit(&type);
    rows();
    MPI_Allgatherv(b + N, 1, type, b, (int[]){3, 3, 3}, places, MPI_INT, WORLD);
    MPI_Alltoallv(
        b + 3, (int[]){1, 1, 1}, places, MPI_INT, b, (int[]){1, 1, 1}, places, MPI_INT, WORLD);
    MPI_Type_free(&type);
}

/* At the ends of a line there is nobody: their places are not touched. */
static void line(void)
{
    MPI_Comm comm;
    MPI_Cart_create(WORLD, 1, &check_size, (int[]){0}, 0, &comm);
    FIRST MPI_Neighbor_allgather(b, N, MPI_INT, b, N, MPI_INT, comm);
    else ROOT MPI_Neighbor_allgather(b + N, N, MPI_INT, b, N, MPI_INT, comm);
    else MPI_Neighbor_allgather(z, N, MPI_INT, b, N, MPI_INT, comm);
    MPI_Comm_free(&comm);
}

/* Memory is free again once its request is complete, freed or not started. */
static void reused(void)
{
    MPI_Request r, keep;
    int flag = 0;
    MPI_Recv_init(b, N, MPI_INT, BEFORE, 0, WORLD, &keep);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&keep);
        MPI_Send(z, N, MPI_INT, NEXT, 0, WORLD);
        MPI_Wait(&keep, MPI_STATUS_IGNORE);
        MPI_Ibcast(b, N, MPI_INT, LAST, WORLD, &r);
        while (!flag) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        flag = 0;
        MPI_Irecv(b + 1, N, MPI_INT, BEFORE, 1, WORLD, &r);
        MPI_Send(z, N, MPI_INT, NEXT, 1, WORLD);
        while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
        flag = 0;
        b[1] = i;
        MPI_Allreduce(MPI_IN_PLACE, b, N, MPI_INT, MPI_SUM, WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Isend(b, N, MPI_INT, NEXT, 2, WORLD, &r);
        MPI_Request_free(&r);
        MPI_Recv(z, N, MPI_INT, BEFORE, 2, WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(WORLD);
        MPI_Bcast(b, N, MPI_INT, LAST, WORLD);
    }
    MPI_Request_free(&keep);
}

/* Each call is compared with every request that is under way. */
static void many(void)
{
    enum { MANY = 4000 };
    static int here[MANY], there[MANY];
    static MPI_Request r[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(&here[i], 1, MPI_INT, check_rank, i, WORLD, &r[2 * i]);
        MPI_Isend(&there[i], 1, MPI_INT, check_rank, i, WORLD, &r[2 * i + 1]);
    }
    MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE);
}

static const check_case right[] = {
    {"overlap_halos_ok", 3, NULL, halos},
    {"overlap_transposed_ok", 3, NULL, transposed},
    {"overlap_in_the_gap_ok", 3, NULL, in_the_gap},
    {"overlap_backwards_ok", 2, NULL, backwards},
    {"overlap_only_read_ok", 3, NULL, only_read},
    {"overlap_no_elements_ok", 3, NULL, no_elements},
    {"overlap_not_significant_ok", 3, NULL, not_significant},
    {"overlap_between_pieces_ok", 3, NULL, between_pieces},
    {"overlap_line_ok", 3, NULL, line},
    {"overlap_reused_ok", 3, NULL, reused},
    {"overlap_many_ok", 1, NULL, many},
};
const check_table check_overlap_ok = {right, sizeof right / sizeof *right};
