/* Small MPI programs that are right, each with something that a checker could take for wrong. */
#include "tests/check/programs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_Comm world = MPI_COMM_WORLD;
#define NEXT ((check_rank + 1) % check_size)
#define BEFORE ((check_rank + check_size - 1) % check_size)

static void ring(void)
{
    int out = check_rank, in = -1;
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv(
            &out, 1, MPI_INT, NEXT, 0, &in, 1, MPI_INT, BEFORE, 0, world, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(&out, 1, MPI_INT, NEXT, 0, BEFORE, 0, world, MPI_STATUS_IGNORE);
    if (in != BEFORE || out != BEFORE) MPI_Abort(world, 3);
}

static void even_odd(void)
{
    int x = check_rank;
    if (check_rank % 2 == 0) {
        MPI_Send(&x, 1, MPI_INT, check_rank + 1, 5, world);
        MPI_Recv(&x, 1, MPI_INT, check_rank + 1, 5, world, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&x, 1, MPI_INT, check_rank - 1, 5, world, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, check_rank - 1, 5, world);
    }
}

static void isend_irecv(void)
{
    int out[4] = {1, 2, 3, 4}, in[4];
    MPI_Request r[8];
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, BEFORE, i, world, &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, NEXT, i, world, &r[4 + i]);
    }
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

static void wait_any_some(void)
{
    int out[4] = {0}, in[4], index, n, indices[4];
    MPI_Request r[4], s[4];
    for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, BEFORE, i, world, &r[i]);
    for (int i = 3; i >= 0; i--) MPI_Isend(&out[i], 1, MPI_INT, NEXT, i, world, &s[i]);
    MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    for (int left = 3; left > 0; left -= n) MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
    MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    if (index != MPI_UNDEFINED) MPI_Abort(world, 3);
    MPI_Waitall(4, s, MPI_STATUSES_IGNORE);
}

static void test_loops(void)
{
    int out = 1, in, flag = 0, index;
    MPI_Request r[2];
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, BEFORE, 0, world, &r[0]);
    MPI_Isend(&out, 1, MPI_INT, NEXT, 0, world, &r[1]);
    while (!flag) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    MPI_Ibarrier(world, &r[0]);
    for (flag = 0; !flag;) MPI_Test(&r[0], &flag, &status);
    MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, world, &r[0]);
    for (flag = 0; !flag;) MPI_Testany(1, r, &index, &flag, &status);
}

static void master_worker(void)
{
    int x = 0;
    MPI_Status status;
    if (check_rank > 0) {
        for (int i = 0; i < 20; i++) MPI_Send(&x, 1, MPI_INT, 0, i % 3, world);
        MPI_Recv(&x, 1, MPI_INT, 0, 9, world, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < 20 * (check_size - 1); i++)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    for (int r = 1; r < check_size; r++) MPI_Send(&x, 1, MPI_INT, r, 9, world);
}

static void probes(void)
{
    int x[10] = {0}, count, flag = 0;
    MPI_Status status;
    MPI_Message message;
    if (check_rank == 0) {
        MPI_Send(x, 10, MPI_INT, 1, 1, world);
        MPI_Send(x, 5, MPI_INT, 1, 2, world);
        MPI_Send(x, 5, MPI_INT, 1, 3, world);
    } else if (check_rank == 1) {
        MPI_Probe(MPI_ANY_SOURCE, 1, world, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(x, count, MPI_INT, status.MPI_SOURCE, 1, world, &status);
        MPI_Mprobe(0, 2, world, &message, &status);
        MPI_Mrecv(x, 5, MPI_INT, &message, &status);
        while (!flag) MPI_Iprobe(0, 3, world, &flag, &status);
        MPI_Recv(x, 10, MPI_INT, 0, 3, world, &status);
    }
}

static void persistent(void)
{
    int out = 0, in;
    MPI_Request r[2];
    MPI_Send_init(&out, 1, MPI_INT, NEXT, 0, world, &r[0]);
    MPI_Recv_init(&in, 1, MPI_INT, BEFORE, 0, world, &r[1]);
    for (int i = 0; i < 10; i++) {
        out = i;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        if (in != i) MPI_Abort(world, 3);
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
    MPI_Bsend(&x, 1, MPI_INT, NEXT, 0, world);
    MPI_Recv(&x, 1, MPI_INT, BEFORE, 0, world, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
}

static void ready(void)
{
    int x = 1, y;
    MPI_Request r;
    MPI_Irecv(&y, 1, MPI_INT, BEFORE, 0, world, &r);
    MPI_Barrier(world);
    MPI_Rsend(&x, 1, MPI_INT, NEXT, 0, world);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void to_self_and_nobody(void)
{
    int x = 1, y;
    MPI_Request r, none = MPI_REQUEST_NULL;
    MPI_Irecv(&y, 1, MPI_INT, check_rank, 0, world, &r);
    MPI_Send(&x, 1, MPI_INT, check_rank, 0, world);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
    MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, world, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &y, 1, MPI_INT, MPI_PROC_NULL, 0, world,
        MPI_STATUS_IGNORE);
}

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
    MPI_Comm_split(world, check_rank == 0 ? MPI_UNDEFINED : check_rank % 2, -check_rank, &some);
    if (some != MPI_COMM_NULL) {
        MPI_Comm_dup(some, &again);
        for (int i = 0; i < 1 + check_rank % 2; i++) MPI_Barrier(again);
        MPI_Comm_free(&again);
        MPI_Comm_free(&some);
    }
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &some);
    MPI_Barrier(some);
    MPI_Comm_free(&some);
}

static void create_group(void)
{
    MPI_Group all, some;
    MPI_Comm comm;
    int firsts[2] = {0, 1};
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 2, firsts, &some);
    for (int i = 0; i < 3 && check_rank < 2; i++) {
        MPI_Comm_create_group(world, some, 4, &comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_create(world, some, &comm);
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
    MPI_Comm_split(world, side, 0, &half);
    MPI_Intercomm_create(half, 0, world, 1 - side, 7, &both);
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
    MPI_Cart_create(world, 1, dims, periods, 0, &cart);
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
        MPI_Comm_idup(world, &copies[i], &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 5; i++) MPI_Barrier(copies[check_rank < 0 ? 0 : i]);
    for (int i = 0; i < 5; i++) MPI_Comm_free(&copies[i]);
    for (int i = 0; i < 200; i++) {
        MPI_Comm_dup(world, &copies[0]);
        MPI_Comm_free(&copies[0]);
    }
}

static void large(void)
{
    size_t bytes = (size_t)96 << 20;
    char *out = calloc(1, bytes), *in = calloc(1, bytes);
    MPI_Request r[2];
    MPI_Irecv(in, (int)bytes, MPI_CHAR, BEFORE, 0, world, &r[0]);
    MPI_Isend(out, (int)bytes, MPI_CHAR, NEXT, 0, world, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    if (check_rank == 0) MPI_Send(out, (int)bytes, MPI_CHAR, 1, 0, world);
    if (check_rank == 1) MPI_Recv(in, (int)bytes, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);
    MPI_Bcast(in, (int)bytes, MPI_CHAR, 0, world);
    free(out);
    free(in);
}

static void many_nonblocking(void)
{
    enum { n = 40 };
    int x[n], y[n];
    MPI_Request r[n];
    MPI_Comm second;
    MPI_Comm_dup(world, &second);
    for (int i = 0; i < n; i++) {
        x[i] = i;
        MPI_Iallreduce(&x[i], &y[i], 1, MPI_INT, MPI_SUM, i % 2 ? world : second, &r[i]);
    }
    MPI_Barrier(world);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    /* Two communicators in another order on each rank: nonblocking, so that is right. */
    MPI_Ibarrier(check_rank % 2 ? world : second, &r[0]);
    MPI_Ibarrier(check_rank % 2 ? second : world, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&second);
}

static void unequal_counts(void)
{
    int out[16] = {0}, in[64], counts[8], displs[8], zero[8] = {0};
    for (int i = 0; i < check_size; i++) {
        counts[i] = i;
        displs[i] = 8 * i;
    }
    MPI_Gatherv(out, check_rank, MPI_INT, in, counts, displs, MPI_INT, 0, world);
    MPI_Gatherv(out, check_rank, MPI_INT, check_rank ? NULL : in, check_rank ? NULL : counts,
        check_rank ? NULL : displs, check_rank ? MPI_DATATYPE_NULL : MPI_INT, 0, world);
    MPI_Scatterv(in, counts, displs, MPI_INT, out, check_rank, MPI_INT, 0, world);
    MPI_Allgatherv(out, check_rank, MPI_INT, in, counts, displs, MPI_INT, world);
    MPI_Gather(out, 0, MPI_DOUBLE, NULL, 0, MPI_INT, 0, world);
    MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zero, zero, MPI_INT, world);
    MPI_Bcast(NULL, 0, MPI_INT, 0, world);
    MPI_Reduce(out, check_rank ? NULL : in, 1, MPI_INT, MPI_SUM, 0, world);
    for (int i = 0; i < check_size; i++) counts[i] = 1 + i;
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, world);
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
    MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, world);
    MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, world);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, counts, bytes, types, world);
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
        check_rank ? MPI_INT : column, 0, world);
    MPI_Bcast(pairs, 4, resized, 0, world);
    MPI_Bcast(check_rank ? (void *)row : MPI_BOTTOM, 1, check_rank ? MPI_INT : absolute, 0, world);
    if (check_rank == 0) MPI_Send(matrix, 2, column, 1, 0, world);
    if (check_rank == 1) MPI_Recv(row, 16, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
    if (check_rank == 0) MPI_Send(matrix, 3, MPI_INT, 1, 0, world);
    if (check_rank == 1) MPI_Recv(row, 1, column, 0, 0, world, MPI_STATUS_IGNORE);
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
        MPI_Pack(&x, 1, MPI_INT, bytes, 64, &at, world);
        MPI_Pack(&x, 1, MPI_INT, bytes, 64, &at, world);
        MPI_Send(bytes, at, MPI_PACKED, 1, 0, world);
    } else if (check_rank == 1) {
        MPI_Recv(y, 2, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
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
        MPI_Op_create(largest, 0, &other); /* the order of making is nobody's business */
    MPI_Op_create(largest, 1, &op);
    MPI_Allreduce(&x, &y, 1, MPI_INT, op, world);
    MPI_Op_free(&op);
    if (check_rank == 0) MPI_Op_free(&other);
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
    for (int i = 0; i < n; i++) MPI_Comm_dup(world, &comms[i]);
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
    MPI_Send(&x, 1, MPI_INT, NEXT, 0, world);
    return NULL;
}

static void threads_late_sender(void)
{
    pthread_t thread;
    int x;
    pthread_create(&thread, NULL, late_sender, NULL);
    MPI_Recv(&x, 1, MPI_INT, BEFORE, 0, world, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

static void cancelled(void)
{
    int x, done;
    MPI_Request r;
    MPI_Status status;
    MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 77, world, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &done);
    if (!done) MPI_Abort(world, 3);
}

static void freed_request(void)
{
    int x = 1;
    MPI_Request r;
    if (check_rank == 0) {
        MPI_Isend(&x, 1, MPI_INT, 1, 0, world, &r);
        MPI_Request_free(&r);
    }
    if (check_rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
    MPI_Barrier(world);
}

static void sleeper(void)
{
    int x = 0;
    if (check_rank == 0) sleep(3);
    MPI_Barrier(world);
    if (check_rank == 1) {
        sleep(3);
        MPI_Send(&x, 1, MPI_INT, 0, 0, world);
    } else if (check_rank == 0) {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
    }
}

static void poller(void)
{
    int x = 0, flag = 0;
    MPI_Request r;
    if (check_rank == 0) {
        double end = MPI_Wtime() + 3;
        MPI_Irecv(&x, 1, MPI_INT, 1, 0, world, &r);
        while (MPI_Wtime() < end) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 0, world);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (check_rank == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 0, world);
    }
}

static void errors_returned(void)
{
    int x = 1;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    if (MPI_Send(&x, 1, MPI_INT, check_size + 3, 0, world) == MPI_SUCCESS) MPI_Abort(world, 3);
    MPI_Barrier(world);
}

static void windows(void)
{
    int memory[4] = {0}, x = check_rank, *shared;
    MPI_Win win;
    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, world, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_INT, NEXT, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, NEXT, 0, win);
    MPI_Get(&x, 1, MPI_INT, NEXT, 0, 1, MPI_INT, win);
    MPI_Win_unlock(NEXT, win);
    MPI_Win_free(&win);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, world, &shared, &win);
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void files(void)
{
    char name[] = "/tmp/tutti-check-XXXXXX";
    MPI_File file;
    int x[4] = {check_rank};
    if (check_rank == 0) close(mkstemp(name));
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, world);
    MPI_File_open(world, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, check_rank * 16, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, check_rank * 16, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (check_rank == 0) unlink(name);
}

/* Split and nonblocking calls on a file, and calls of single ranks between them. */
static void files_in_parts(void)
{
    char name[] = "/tmp/tutti-check-XXXXXX";
    MPI_File file, mine;
    MPI_Request requests[2];
    int x[4] = {check_rank}, y[4];
    if (check_rank == 0) close(mkstemp(name));
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, world);
    MPI_File_open(world, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, check_size * 16);
    MPI_File_set_view(file, check_rank * 16, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all_begin(file, 0, x, 4, MPI_INT);
    MPI_File_write_at_all_end(file, x, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    if (check_rank == 0) MPI_File_read_at(file, 0, y, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at_all(file, 0, y, 2, MPI_INT, &requests[0]);
    MPI_Ibarrier(world, &requests[1]);
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
    MPI_Bcast(x, 2, check_rank ? MPI_INT32_T : MPI_INT, 0, world);
    MPI_Bcast(x, 8, MPI_BYTE, 0, world);
}

static void leaves_objects(void)
{
    MPI_Comm copy;
    MPI_Datatype type;
    MPI_Comm_dup(world, &copy);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Barrier(copy);
}

const check_case check_ok_cases[] = {
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
    {"self_collectives_ok", 3, NULL, self_collectives},
    {"split_undefined_ok", 4, NULL, split_undefined},
    {"create_group_ok", 3, NULL, create_group},
    {"intercomm_ok", 4, NULL, intercomm},
    {"cartesian_ok", 3, NULL, cartesian},
    {"idup_ok", 3, NULL, idup},
    {"large_ok", 2, NULL, large},
    {"many_nonblocking_ok", 3, NULL, many_nonblocking},
    {"unequal_counts_ok", 4, NULL, unequal_counts},
    {"transposed_ok", 3, NULL, transposed},
    {"matching_types_ok", 2, NULL, matching_types},
    {"packed_ok", 2, NULL, packed},
    {"made_operator_ok", 3, NULL, made_operator},
    {"threads_own_comms_ok", 2, NULL, threads_own_comms},
    {"threads_late_sender_ok", 2, NULL, threads_late_sender},
    {"cancelled_ok", 2, NULL, cancelled},
    {"freed_request_ok", 2, NULL, freed_request},
    {"sleeper_ok", 3, NULL, sleeper},
    {"poller_ok", 2, NULL, poller},
    {"errors_returned_ok", 2, NULL, errors_returned},
    {"windows_ok", 2, NULL, windows},
    {"files_ok", 2, NULL, files},
    {"files_in_parts_ok", 3, NULL, files_in_parts},
    {"two_types_of_one_kind_ok", 2, NULL, two_types_of_one_kind},
    {"leaves_objects_ok", 2, NULL, leaves_objects},
    {"alone_ok", 1, NULL, self_collectives},
};
const int check_ok_count = sizeof(check_ok_cases) / sizeof(check_ok_cases[0]);
