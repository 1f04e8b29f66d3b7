/* The algorithm "mpi": the MPI library's own blocking collectives, for comparison. */
#include "collectives/transport/mpi.h"

#include "dag/base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A collective in MPI's terms. */
typedef struct call {
    const tutti_coll_args *args;
    MPI_Comm comm;
    int rank, P;
    MPI_Datatype type;
    MPI_Op op;
    size_t element;
} call;

/* Not every MPI has constant handles, so a function looks them up. MPI has no type for TUTTI_BF16:
 * its bits can be moved, but not combined. */
static MPI_Datatype type_of(tutti_dtype dtype)
{
    const MPI_Datatype types[TUTTI_DTYPE_COUNT] = {
        [TUTTI_F32] = MPI_FLOAT,
        [TUTTI_F64] = MPI_DOUBLE,
        [TUTTI_I32] = MPI_INT32_T,
        [TUTTI_I64] = MPI_INT64_T,
        [TUTTI_U8] = MPI_UINT8_T,
        [TUTTI_I8] = MPI_INT8_T,
        [TUTTI_I16] = MPI_INT16_T,
        [TUTTI_U16] = MPI_UINT16_T,
        [TUTTI_U32] = MPI_UINT32_T,
        [TUTTI_U64] = MPI_UINT64_T,
        [TUTTI_C64] = MPI_C_FLOAT_COMPLEX,
        [TUTTI_C128] = MPI_C_DOUBLE_COMPLEX,
        [TUTTI_FLOAT_INT] = MPI_FLOAT_INT,
        [TUTTI_DOUBLE_INT] = MPI_DOUBLE_INT,
        [TUTTI_INT_INT] = MPI_2INT,
        [TUTTI_LONG_INT] = MPI_LONG_INT,
        [TUTTI_BF16] = MPI_UINT16_T,
    };
    return types[dtype];
}

static MPI_Op op_of(tutti_reduce_op op)
{
    const MPI_Op ops[TUTTI_REDUCE_OPS] = {
        [TUTTI_SUM] = MPI_SUM,
        [TUTTI_PROD] = MPI_PROD,
        [TUTTI_MIN] = MPI_MIN,
        [TUTTI_MAX] = MPI_MAX,
        [TUTTI_LAND] = MPI_LAND,
        [TUTTI_LOR] = MPI_LOR,
        [TUTTI_LXOR] = MPI_LXOR,
        [TUTTI_BAND] = MPI_BAND,
        [TUTTI_BOR] = MPI_BOR,
        [TUTTI_BXOR] = MPI_BXOR,
        [TUTTI_MINLOC] = MPI_MINLOC,
        [TUTTI_MAXLOC] = MPI_MAXLOC,
    };
    return (unsigned)op < TUTTI_REDUCE_OPS ? ops[op] : MPI_OP_NULL;
}

static const void *input(const call *c, int64_t at)
{
    return c->args->send ? (const char *)c->args->send + (size_t)at * c->element : NULL;
}

static void *output(const call *c, int64_t at)
{
    return (char *)c->args->recv + (size_t)at * c->element;
}

static int allreduce(const call *c, int64_t at, int n)
{
    const void *in = input(c, at);
    return MPI_Allreduce(in ? in : MPI_IN_PLACE, output(c, at), n, c->type, c->op, c->comm);
}

static int broadcast(const call *c, int64_t at, int n)
{
    return MPI_Bcast(output(c, at), n, c->type, c->args->root, c->comm);
}

/* In place, MPI takes the input of ranks other than the root from the send buffer. The root's input
 * is copied, because MPICH 4.0 reads from MPI_IN_PLACE when the root is not rank 0 and the message
 * is large. */
static int reduce(const call *c, int64_t at, int n)
{
    const void *in = input(c, at);
    void *copy = NULL;
    size_t bytes = (size_t)n * c->element;
    if (!in) in = output(c, at);
    if (in == output(c, at) && c->rank == c->args->root) {
        copy = malloc(bytes + 1);
        if (!copy) return MPI_ERR_NO_MEM;
        in = memcpy(copy, in, bytes);
    }
    int code = MPI_Reduce(in, output(c, at), n, c->type, c->op, c->args->root, c->comm);
    free(copy);
    return code;
}

/* Parts in MPI's form, as ints: their lengths and where they begin. Freed with free(*lengths). */
static int parts_of(const call *c, const int64_t *counts, int **lengths, int **begins)
{
    int *both = malloc(2 * (size_t)c->P * sizeof *both);
    if (!both) return MPI_ERR_NO_MEM;
    for (int r = 0; r < c->P; r++) {
        int64_t at, length = tutti_coll_part(counts, c->args->count, r, &at);
        both[r] = (int)length;
        both[c->P + r] = (int)at;
    }
    *lengths = both;
    *begins = both + c->P;
    return MPI_SUCCESS;
}

static int allgather(const call *c, int64_t at, int n)
{
    (void)at;
    (void)n;
    int *length, *begin, code = parts_of(c, c->args->counts, &length, &begin);
    if (code != MPI_SUCCESS) return code;
    const void *in = input(c, 0);
    code = MPI_Allgatherv(in ? in : MPI_IN_PLACE, in ? length[c->rank] : 0, c->type, output(c, 0),
        length, begin, c->type, c->comm);
    free(length);
    return code;
}

static int gather(const call *c, int64_t at, int n)
{
    (void)at;
    (void)n;
    int root = c->args->root, *length, *begin;
    int code = parts_of(c, c->args->counts, &length, &begin);
    if (code != MPI_SUCCESS) return code;
    const void *in = input(c, 0);
    if (!in) in = c->rank == root ? MPI_IN_PLACE : output(c, begin[c->rank]);
    code = MPI_Gatherv(
        in, length[c->rank], c->type, c->args->recv, length, begin, c->type, root, c->comm);
    free(length);
    return code;
}

static int scatter(const call *c, int64_t at, int n)
{
    (void)at;
    (void)n;
    int root = c->args->root, *length, *begin;
    int code = parts_of(c, c->args->counts, &length, &begin);
    if (code != MPI_SUCCESS) return code;
    const void *in = input(c, 0);
    void *out = in ? c->args->recv : c->rank == root ? MPI_IN_PLACE : output(c, begin[c->rank]);
    code = MPI_Scatterv(in ? in : output(c, 0), length, begin, c->type, out, length[c->rank],
        c->type, root, c->comm);
    free(length);
    return code;
}

static int alltoall(const call *c, int64_t at, int n)
{
    (void)at;
    (void)n;
    const int64_t *counts = c->args->counts;
    int *length, *begin, *arriving, *to, code = parts_of(c, counts, &length, &begin);
    if (code != MPI_SUCCESS) return code;
    code = parts_of(c, counts ? counts + c->P : NULL, &arriving, &to);
    if (code == MPI_SUCCESS) {
        const void *in = input(c, 0);
        code = MPI_Alltoallv(in ? in : MPI_IN_PLACE, length, begin, c->type, c->args->recv,
            arriving, to, c->type, c->comm);
        free(arriving);
    }
    free(length);
    return code;
}

static int scan(const call *c, int64_t at, int n)
{
    const void *in = input(c, at);
    return MPI_Scan(in ? in : MPI_IN_PLACE, output(c, at), n, c->type, c->op, c->comm);
}

/* MPI puts an in-place result at the front, so it is moved to its place. */
static int reduce_scatter(const call *c, int64_t at, int n)
{
    (void)at;
    int *counts = malloc((size_t)c->P * sizeof *counts);
    if (!counts) return MPI_ERR_NO_MEM;
    int64_t offset, length;
    for (int r = 0; r < c->P; r++) {
        tutti_coll_block(n, c->P, r, &offset, &length);
        counts[r] = (int)length;
    }
    tutti_coll_block(n, c->P, c->rank, &offset, &length);
    const void *in = input(c, 0);
    int code = MPI_Reduce_scatter(
        in ? in : MPI_IN_PLACE, output(c, in ? offset : 0), counts, c->type, c->op, c->comm);
    if (!in && code == MPI_SUCCESS)
        memmove(output(c, offset), output(c, 0), (size_t)length * c->element);
    free(counts);
    return code;
}

static int barrier(const call *c, int64_t at, int n)
{
    (void)at;
    (void)n;
    return MPI_Barrier(c->comm);
}

/* A collective that works element by element splits a count above MPI's int into several calls; the
 * others refuse it. */
static const struct row {
    int (*run)(const call *c, int64_t at, int n);
    int divisible;
} rows[TUTTI_COLL_KINDS] = {
    [TUTTI_ALLREDUCE] = {allreduce, 1},
    [TUTTI_BROADCAST] = {broadcast, 1},
    [TUTTI_REDUCE] = {reduce, 1},
    [TUTTI_ALLGATHER] = {allgather, 0},
    [TUTTI_REDUCE_SCATTER] = {reduce_scatter, 0},
    [TUTTI_BARRIER] = {barrier, 0},
    [TUTTI_GATHER] = {gather, 0},
    [TUTTI_SCATTER] = {scatter, 0},
    [TUTTI_ALLTOALL] = {alltoall, 0},
    [TUTTI_SCAN] = {scan, 1},
};

tutti_status tutti_mpi_collective(
    tutti_transport *transport, int lane, const tutti_coll_args *args, tutti_message **message)
{
    *message = NULL;
    const tutti_mpi *t = (const tutti_mpi *)transport;
    const struct row *row = &rows[args->kind];
    int P = t->base.size, rank = t->base.rank;
    int64_t count = args->kind == TUTTI_BARRIER ? 0 : args->count;
    int64_t limit = (int64_t)(t->piece / tutti_dtype_bytes(args->dtype));
    int parted = tutti_coll_trait_of(args->kind)->parts;
    int64_t out = tutti_coll_recv_count(args, rank, P), in = tutti_coll_send_count(args, rank, P);
    /* the same on every rank */
    int64_t most = parted && !args->counts ? P * args->count : args->count;
    if (most < in) most = in;
    if (most < out) most = out;
    if (args->user)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: the algorithm mpi does not know the operator '%s'; use another algorithm",
            tutti_coll_kind_name(args->kind), args->user->name);
    if (args->dtype == TUTTI_BF16 && tutti_coll_trait_of(args->kind)->reduces)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: MPI has no type for the elements %s; use another algorithm than mpi",
            tutti_coll_kind_name(args->kind), tutti_dtype_name(args->dtype));
    if (!row->divisible && most > INT_MAX)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "MPI cannot count the %lld elements of this %s on %d ranks in an int; use another "
            "algorithm",
            (long long)args->count, tutti_coll_kind_name(args->kind), t->base.size);
    const call c = {.args = args,
        .comm = t->lane[lane],
        .rank = t->base.rank,
        .P = t->base.size,
        .type = type_of(args->dtype),
        .op = op_of(args->op),
        .element = tutti_dtype_bytes(args->dtype)};
    if (!row->divisible || limit < 1) limit = INT_MAX;
    int64_t at = 0;
    do {
        int64_t n = count - at < limit ? count - at : limit;
        int code = row->run(&c, at, (int)n);
        if (code != MPI_SUCCESS) return tutti_mpi_fail(code, tutti_coll_kind_name(args->kind));
        at += n;
    } while (at < count);
    return TUTTI_OK;
}
