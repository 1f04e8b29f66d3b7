/* Right programs: communicators, types, operators, windows and files. */
#include "tests/mpicheck/programs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void self_collectives(void)
{
    int x = 1, y;
    MPI_Comm own;
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    for (int i = 0; i < check_rank + 1; i++) {
        MPI_Barrier(MPI_COMM_SELF);
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, own);
        MPI_Ibcast(&x, 1, MPI_INT, 0, own, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&own);
}

static void split_undefined(void)
{
    MPI_Comm some, again;
    MPI_Comm_split(WORLD, check_rank == 0 ? MPI_UNDEFINED : check_rank % 2, -check_rank, &some);
    if (some != MPI_COMM_NULL) {
        MPI_Comm_dup(some, &again);
        for (int i = 0; i < 1 + check_rank % 2; i++) MPI_Barrier(again);
        MPI_Comm_free(&again);
        MPI_Comm_free(&some);
    }
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &some);
    MPI_Barrier(some);
    MPI_Comm_free(&some);
}

static void create_group(void)
{
    MPI_Group all, some;
    MPI_Comm comm;
    int firsts[2] = {0, 1};
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 2, firsts, &some);
    for (int i = 0; i < 3 && check_rank < 2; i++) {
        MPI_Comm_create_group(WORLD, some, 4, &comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_create(WORLD, some, &comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

static void intercomm(void)
{
    MPI_Comm half, both, one, copy;
    int side = check_rank % 2, x = check_rank, y = 0, rank;
    MPI_Comm_split(WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, 1 - side, 7, &both);
    MPI_Comm_rank(half, &rank);
    MPI_Barrier(both);
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, both);
    MPI_Bcast(&x, 1, MPI_INT, side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, both);
    if (rank == 0)
        MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE);
    MPI_Comm_dup(both, &copy);
    MPI_Intercomm_merge(copy, side, &one);
    MPI_Barrier(one);
    MPI_Comm_free(&one);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void cartesian(void)
{
    int dims[1] = {check_size}, periods[1] = {1}, from, to, x = check_rank, in[2], keep[1] = {1};
    MPI_Comm cart, sub;
    MPI_Cart_create(WORLD, 1, dims, periods, 0, &cart);
    MPI_Cart_shift(cart, 0, 1, &from, &to);
    MPI_Sendrecv(&x, 1, MPI_INT, to, 0, in, 1, MPI_INT, from, 0, cart, MPI_STATUS_IGNORE);
    MPI_Neighbor_allgather(&x, 1, MPI_INT, in, 1, MPI_INT, cart);
    MPI_Cart_sub(cart, keep, &sub);
    MPI_Barrier(sub);
    MPI_Comm_free(&sub);
    MPI_Comm_free(&cart);
}

static void idup(void)
{
    MPI_Comm copies[5];
    MPI_Request r;
    for (int i = 0; i < 5; i++) {
        MPI_Comm_idup(WORLD, &copies[i], &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 5; i++) MPI_Barrier(copies[check_rank < 0 ? 0 : i]);
    for (int i = 0; i < 5; i++) MPI_Comm_free(&copies[i]);
    for (int i = 0; i < 200; i++) {
        MPI_Comm_dup(WORLD, &copies[0]);
        MPI_Comm_free(&copies[0]);
    }
}

static void unequal_counts(void)
{
    int out[16] = {0}, in[64], counts[8], displs[8], zero[8] = {0};
    for (int i = 0; i < check_size; i++) {
        counts[i] = i;
        displs[i] = 8 * i;
    }
    MPI_Gatherv(out, check_rank, MPI_INT, in, counts, displs, MPI_INT, 0, WORLD);
    MPI_Gatherv(out, check_rank, MPI_INT, check_rank ? NULL : in, check_rank ? NULL : counts,
        check_rank ? NULL : displs, check_rank ? MPI_DATATYPE_NULL : MPI_INT, 0, WORLD);
    MPI_Scatterv(in, counts, displs, MPI_INT, out, check_rank, MPI_INT, 0, WORLD);
    MPI_Allgatherv(out, check_rank, MPI_INT, in, counts, displs, MPI_INT, WORLD);
    MPI_Gather(out, 0, MPI_DOUBLE, NULL, 0, MPI_INT, 0, WORLD);
    MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zero, zero, MPI_INT, WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, 0, WORLD);
    MPI_Reduce(out, check_rank ? NULL : in, 1, MPI_INT, MPI_SUM, 0, WORLD);
    for (int i = 0; i < check_size; i++) counts[i] = 1 + i;
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, WORLD);
}

static void transposed(void)
{
    /* Rank i sends i + j ints to rank j. */
    int out[128] = {0}, in[128], counts[8], displs[8], bytes[8];
    MPI_Datatype types[8];
    for (int i = 0; i < check_size; i++) {
        counts[i] = check_rank + i;
        displs[i] = 16 * i;
        bytes[i] = 64 * i;
        types[i] = (check_rank + i) % 2 ? MPI_INT : MPI_FLOAT;
    }
    MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, WORLD);
    MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, WORLD);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, counts, bytes, types, WORLD);
}

static void matching_types(void)
{
    MPI_Datatype column, pair, absolute, resized;
    struct {
        int i;
        double d;
    } pairs[4];
    int matrix[8][8] = {{0}}, row[16], lengths[2] = {1, 1}, one = 1;
    MPI_Aint at[2] = {0, (MPI_Aint)((char *)&pairs[0].d - (char *)&pairs[0])}, address;
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    memset(pairs, 0, sizeof(pairs));
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_create_struct(2, lengths, at, parts, &pair);
    MPI_Type_create_resized(pair, 0, sizeof(pairs[0]), &resized);
    MPI_Type_commit(&resized);
    MPI_Get_address(matrix, &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(check_rank ? (void *)row : (void *)matrix, check_rank ? 8 : 1,
        check_rank ? MPI_INT : column, 0, WORLD);
    MPI_Bcast(pairs, 4, resized, 0, WORLD);
    MPI_Bcast(check_rank ? (void *)row : MPI_BOTTOM, 1, check_rank ? MPI_INT : absolute, 0, WORLD);
    if (check_rank == 0) MPI_Send(matrix, 2, column, 1, 0, WORLD);
    if (check_rank == 1) MPI_Recv(row, 16, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    if (check_rank == 0) MPI_Send(matrix, 3, MPI_INT, 1, 0, WORLD);
    if (check_rank == 1) MPI_Recv(row, 1, column, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
    MPI_Type_free(&pair);
    MPI_Type_free(&resized);
    MPI_Type_free(&absolute);
}

static void packed(void)
{
    char bytes[64];
    int at = 0, x = 3, y[4] = {0};
    if (check_rank == 0) {
        MPI_Pack(&x, 1, MPI_INT, bytes, 64, &at, WORLD);
        MPI_Pack(&x, 1, MPI_INT, bytes, 64, &at, WORLD);
        MPI_Send(bytes, at, MPI_PACKED, 1, 0, WORLD);
    } else if (check_rank == 1) {
        MPI_Recv(y, 2, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    }
}

static void largest(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((int *)in)[i] > ((int *)inout)[i]) ((int *)inout)[i] = ((int *)in)[i];
}

static void made_operator(void)
{
    MPI_Op op, other;
    int x = check_rank, y;
    if (check_rank == 0)
        MPI_Op_create(largest, 0, &other); /* ranks may create operators in any order */
    MPI_Op_create(largest, 1, &op);
    MPI_Allreduce(&x, &y, 1, MPI_INT, op, WORLD);
    MPI_Op_free(&op);
    if (check_rank == 0) MPI_Op_free(&other);
}

static void windows(void)
{
    int memory[4] = {0}, x = check_rank, *shared;
    MPI_Win win;
    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_INT, NEXT, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, NEXT, 0, win);
    MPI_Get(&x, 1, MPI_INT, NEXT, 0, 1, MPI_INT, win);
    MPI_Win_unlock(NEXT, win);
    MPI_Win_free(&win);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &shared, &win);
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void files(void)
{
    char name[] = "/tmp/tutti-mpicheck-XXXXXX";
    MPI_File file;
    int x[4] = {check_rank};
    if (check_rank == 0) close(mkstemp(name));
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, WORLD);
    MPI_File_open(WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, check_rank * 16, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, check_rank * 16, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (check_rank == 0) unlink(name);
}

/* Split and nonblocking calls on a file, and calls of single ranks between them. */
static void files_in_parts(void)
{
    char name[] = "/tmp/tutti-mpicheck-XXXXXX";
    MPI_File file, mine;
    MPI_Request requests[2];
    int x[4] = {check_rank}, y[4];
    if (check_rank == 0) close(mkstemp(name));
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, WORLD);
    MPI_File_open(WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, check_size * 16);
    MPI_File_set_view(file, check_rank * 16, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all_begin(file, 0, x, 4, MPI_INT);
    MPI_File_write_at_all_end(file, x, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    if (check_rank == 0) MPI_File_read_at(file, 0, y, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at_all(file, 0, y, 2, MPI_INT, &requests[0]);
    MPI_Ibarrier(WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &mine);
    if (check_rank > 0) MPI_File_read_all(mine, y, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&mine);
    MPI_File_close(&file);
    if (check_rank == 0) unlink(name);
}

static void two_types_of_one_kind(void)
{
    int x[2] = {0};
    MPI_Bcast(x, 2, check_rank ? MPI_INT32_T : MPI_INT, 0, WORLD);
    MPI_Bcast(x, 8, MPI_BYTE, 0, WORLD);
}

static void leaves_objects(void)
{
    MPI_Comm copy;
    MPI_Datatype type;
    MPI_Comm_dup(WORLD, &copy);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Barrier(copy);
}

static const check_case cases[] = {
    {"self_collectives_ok", 3, NULL, self_collectives},
    {"split_undefined_ok", 4, NULL, split_undefined},
    {"create_group_ok", 3, NULL, create_group},
    {"intercomm_ok", 4, NULL, intercomm},
    {"cartesian_ok", 3, NULL, cartesian},
    {"idup_ok", 3, NULL, idup},
    {"unequal_counts_ok", 4, NULL, unequal_counts},
    {"transposed_ok", 3, NULL, transposed},
    {"matching_types_ok", 2, NULL, matching_types},
    {"packed_ok", 2, NULL, packed},
    {"made_operator_ok", 3, NULL, made_operator},
    {"windows_ok", 2, NULL, windows},
    {"files_ok", 2, NULL, files},
    {"files_in_parts_ok", 3, NULL, files_in_parts},
    {"two_types_of_one_kind_ok", 2, NULL, two_types_of_one_kind},
    {"leaves_objects_ok", 2, NULL, leaves_objects},
    {"alone_ok", 1, NULL, self_collectives},
};
const check_table check_objects_ok = {cases, sizeof cases / sizeof *cases};
