/* The algorithm "mpi": the MPI library's own nonblocking collectives, started here, and tested like messages.
 *
 * A lane is a communicator, on which all ranks start the same collectives in the same order, as MPI
 * requires. A started collective cannot be cancelled: it ends when all ranks have started theirs, and until
 * then its buffers, and the message with the memory that it keeps, belong to MPI.
 *
 * The operators are Tutti's, so that results follow the rules of tutti/op.h: MPI does not define integer
 * overflow or NaNs, and Open MPI's 8-bit sums saturate in some elements and wrap in others. */
#include "collectives/transport/mpi.h"

#include "collectives/buf/buf.h"
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
    int copies; /* this rank's input is first copied to `kept` */
    void *kept; /* of the message: the copy, or the lengths of parts as MPI's ints */
} call;

/* A function, because handles are not constants in every MPI. MPI has no type for TUTTI_BF16: its bits
 * can be moved, but not combined. */
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

/* MPI passes an operator's function the type, but no context: each operator has its own function. */
static void combine_elements(
    tutti_reduce_op op, void *in, void *inout, int count, MPI_Datatype type)
{
    int dtype = 0;
    while (dtype < TUTTI_BF16 && type_of((tutti_dtype)dtype) != type) dtype++;
    tutti_buf_reduce((tutti_dtype)dtype, op, inout, in, count, 1);
}

#define COMBINE(name, op)                                                                          \
    static void name(void *in, void *inout, int *count, MPI_Datatype *type)                        \
    {                                                                                              \
        combine_elements(op, in, inout, *count, *type);                                            \
    }
COMBINE(sum, TUTTI_SUM)
COMBINE(prod, TUTTI_PROD)
COMBINE(min, TUTTI_MIN)
COMBINE(max, TUTTI_MAX)
COMBINE(land, TUTTI_LAND)
COMBINE(lor, TUTTI_LOR)
COMBINE(lxor, TUTTI_LXOR)
COMBINE(band, TUTTI_BAND)
COMBINE(bor, TUTTI_BOR)
COMBINE(bxor, TUTTI_BXOR)
COMBINE(minloc, TUTTI_MINLOC)
COMBINE(maxloc, TUTTI_MAXLOC)

/* Operators are created once per transport. */
static tutti_status find_op(tutti_mpi *t, call *c)
{
    static MPI_User_function *const functions[TUTTI_REDUCE_OPS] = {
        [TUTTI_SUM] = sum,
        [TUTTI_PROD] = prod,
        [TUTTI_MIN] = min,
        [TUTTI_MAX] = max,
        [TUTTI_LAND] = land,
        [TUTTI_LOR] = lor,
        [TUTTI_LXOR] = lxor,
        [TUTTI_BAND] = band,
        [TUTTI_BOR] = bor,
        [TUTTI_BXOR] = bxor,
        [TUTTI_MINLOC] = minloc,
        [TUTTI_MAXLOC] = maxloc,
    };
    if (!tutti_coll_trait_of(c->args->kind)->reduces) return TUTTI_OK;
    MPI_Op *op = &t->op[c->args->op];
    int code = *op == MPI_OP_NULL ? MPI_Op_create(functions[c->args->op], 1, op) : MPI_SUCCESS;
    c->op = *op;
    return code == MPI_SUCCESS ? TUTTI_OK : tutti_mpi_fail(code, "MPI_Op_create");
}

/* NULL: in place. */
static const void *input_at(const call *c, int64_t at)
{
    return c->args->out_of_place ? (const char *)c->args->send + (size_t)at * c->element : NULL;
}

static void *output_at(const call *c, int64_t at)
{
    return (char *)c->args->recv + (size_t)at * c->element;
}

static int start_allreduce(const call *c, int64_t at, int n, MPI_Request *request)
{
    const void *in = input_at(c, at);
    return MPI_Iallreduce(
        in ? in : MPI_IN_PLACE, output_at(c, at), n, c->type, c->op, c->comm, request);
}

static int start_broadcast(const call *c, int64_t at, int n, MPI_Request *request)
{
    return MPI_Ibcast(output_at(c, at), n, c->type, c->args->root, c->comm, request);
}

/* In place, MPI takes the input of ranks other than the root from the send buffer. */
static int start_reduce(const call *c, int64_t at, int n, MPI_Request *request)
{
    const void *in = input_at(c, at);
    if (!in) in = output_at(c, at);
    if (c->copies)
        in = memcpy((char *)c->kept + (size_t)at * c->element, in, (size_t)n * c->element);
    return MPI_Ireduce(in, output_at(c, at), n, c->type, c->op, c->args->root, c->comm, request);
}

/* Parts in MPI's form: their lengths and where they begin. */
typedef struct parts {
    int *length, *begin; /* [P] */
} parts;

/* Fills the `index`-th pair of arrays in `kept`. */
static parts parts_of(const call *c, const int64_t *counts, int index)
{
    int *both = (int *)c->kept + (ptrdiff_t)2 * index * c->P;
    for (int r = 0; r < c->P; r++) {
        int64_t at, length = tutti_coll_part(counts, c->args->count, r, &at);
        both[r] = (int)length;
        both[c->P + r] = (int)at;
    }
    return (parts){both, both + c->P};
}

static int start_allgather(const call *c, int64_t at, int n, MPI_Request *request)
{
    (void)at;
    (void)n;
    const parts p = parts_of(c, c->args->counts, 0);
    const void *in = input_at(c, 0);
    return MPI_Iallgatherv(in ? in : MPI_IN_PLACE, in ? p.length[c->rank] : 0, c->type,
        output_at(c, 0), p.length, p.begin, c->type, c->comm, request);
}

static int start_gather(const call *c, int64_t at, int n, MPI_Request *request)
{
    (void)at;
    (void)n;
    const int root = c->args->root;
    const parts p = parts_of(c, c->args->counts, 0);
    const void *in = input_at(c, 0);
    if (!in) in = c->rank == root ? MPI_IN_PLACE : output_at(c, p.begin[c->rank]);
    return MPI_Igatherv(in, p.length[c->rank], c->type, c->args->recv, p.length, p.begin, c->type,
        root, c->comm, request);
}

static int start_scatter(const call *c, int64_t at, int n, MPI_Request *request)
{
    (void)at;
    (void)n;
    const int root = c->args->root;
    const parts p = parts_of(c, c->args->counts, 0);
    const int in_place = !c->args->out_of_place;
    void *out = !in_place         ? c->args->recv
                : c->rank == root ? MPI_IN_PLACE
                                  : output_at(c, p.begin[c->rank]);
    return MPI_Iscatterv(in_place ? output_at(c, 0) : input_at(c, 0), p.length, p.begin, c->type,
        out, p.length[c->rank], c->type, root, c->comm, request);
}

static int start_alltoall(const call *c, int64_t at, int n, MPI_Request *request)
{
    (void)at;
    (void)n;
    const int64_t *counts = c->args->counts;
    const parts out = parts_of(c, counts, 0), in = parts_of(c, counts ? counts + c->P : NULL, 1);
    const void *from = input_at(c, 0);
    return MPI_Ialltoallv(from ? from : MPI_IN_PLACE, out.length, out.begin, c->type, c->args->recv,
        in.length, in.begin, c->type, c->comm, request);
}

static int start_scan(const call *c, int64_t at, int n, MPI_Request *request)
{
    const void *in = input_at(c, at);
    return MPI_Iscan(in ? in : MPI_IN_PLACE, output_at(c, at), n, c->type, c->op, c->comm, request);
}

/* MPI puts an in-place result at the front; set_final_move moves it to its place at the end. */
static int start_reduce_scatter(const call *c, int64_t at, int n, MPI_Request *request)
{
    (void)at;
    int *counts = c->kept;
    int64_t offset, length;
    for (int r = 0; r < c->P; r++) {
        tutti_coll_block(n, c->P, r, &offset, &length);
        counts[r] = (int)length;
    }
    tutti_coll_block(n, c->P, c->rank, &offset, &length);
    const void *in = input_at(c, 0);
    return MPI_Ireduce_scatter(in ? in : MPI_IN_PLACE, output_at(c, in ? offset : 0), counts,
        c->type, c->op, c->comm, request);
}

static int start_barrier(const call *c, int64_t at, int n, MPI_Request *request)
{
    (void)at;
    (void)n;
    return MPI_Ibarrier(c->comm, request);
}

/* For a count above MPI's int, an elementwise collective is split into several calls; the others are
 * refused. */
static const struct row {
    int (*start)(const call *c, int64_t at, int n, MPI_Request *request);
    int divisible;
} rows[TUTTI_COLL_KINDS] = {
    [TUTTI_ALLREDUCE] = {start_allreduce, 1},
    [TUTTI_BROADCAST] = {start_broadcast, 1},
    [TUTTI_REDUCE] = {start_reduce, 1},
    [TUTTI_ALLGATHER] = {start_allgather, 0},
    [TUTTI_REDUCE_SCATTER] = {start_reduce_scatter, 0},
    [TUTTI_BARRIER] = {start_barrier, 0},
    [TUTTI_GATHER] = {start_gather, 0},
    [TUTTI_SCATTER] = {start_scatter, 0},
    [TUTTI_ALLTOALL] = {start_alltoall, 0},
    [TUTTI_SCAN] = {start_scan, 1},
    [TUTTI_MESSAGE] = {start_broadcast, 1}, /* of two ranks; its root is 0 */
};

/* The result is the same on every rank, but for an alltoall with counts: a rank that cannot count its elements fails
 * alone, and the call of the others, which cannot be cancelled, does not end. */
static tutti_status check_supported(const call *c)
{
    const tutti_coll_args *a = c->args;
    const tutti_coll_trait *trait = tutti_coll_trait_of(a->kind);
    if (a->user)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: the algorithm mpi does not know the operator '%s'; use another algorithm",
            trait->name, a->user->name);
    if (a->dtype == TUTTI_BF16 && trait->reduces)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: MPI has no type for the elements %s; use another algorithm than mpi", trait->name,
            tutti_dtype_name(a->dtype));
    int64_t out = tutti_coll_recv_count(a, c->rank, c->P),
            in = tutti_coll_send_count(a, c->rank, c->P);
    int64_t most = trait->parts && !a->counts ? c->P * a->count : a->count;
    if (most < in) most = in;
    if (most < out) most = out;
    if (!rows[a->kind].divisible && most > INT_MAX)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "MPI cannot count the %lld elements of this %s on %d ranks in an int; use another "
            "algorithm",
            (long long)most, trait->name, c->P);
    return TUTTI_OK;
}

/* The root's input of a reduce in place is copied, because MPICH 4.0 reads from MPI_IN_PLACE when
 * the root is not rank 0 and the message is large. */
static tutti_status allocate_kept(call *c, tutti_mpi_message *m)
{
    const tutti_coll_args *a = c->args;
    const size_t ints = (size_t)c->P * sizeof(int);
    size_t bytes = tutti_coll_trait_of(a->kind)->parts ? 4 * ints : 0;
    c->copies = a->kind == TUTTI_REDUCE && !a->out_of_place && c->rank == a->root;
    if (c->copies) bytes = (size_t)a->count * c->element;
    if (a->kind == TUTTI_REDUCE_SCATTER) bytes = ints;
    if (!bytes && !c->copies) return TUTTI_OK;
    m->kept = c->kept = malloc(bytes + 1);
    return m->kept ? TUTTI_OK
                   : tutti_fail(TUTTI_ERR_NOMEM, "no memory for what MPI needs of a collective");
}

static void set_final_move(const call *c, tutti_mpi_message *m)
{
    int64_t offset, length;
    if (c->args->kind != TUTTI_REDUCE_SCATTER || c->args->out_of_place) return;
    tutti_coll_block(c->args->count, c->P, c->rank, &offset, &length);
    m->to = output_at(c, offset);
    m->from = output_at(c, 0);
    m->bytes = (size_t)length * c->element;
}

/* The limit of elements per call. */
static int64_t most_of(const tutti_mpi *t, const call *c)
{
    int64_t limit = (int64_t)(t->piece / c->element);
    return rows[c->args->kind].divisible && limit > 0 ? limit : INT_MAX;
}

/* On a failure, the calls that have started must still end. */
static tutti_status start_calls(tutti_mpi *t, const call *c, tutti_mpi_message *m)
{
    const int64_t count = c->args->kind == TUTTI_BARRIER ? 0 : c->args->count,
                  limit = most_of(t, c);
    int64_t at = 0;
    do {
        int64_t n = count - at < limit ? count - at : limit;
        int code = rows[c->args->kind].start(c, at, (int)n, tutti_mpi_place(t, m, 0));
        if (code != MPI_SUCCESS) return tutti_mpi_fail(code, m->kind);
        tutti_mpi_started(t, m);
        at += n;
    } while (at < count);
    return TUTTI_OK;
}

tutti_status tutti_mpi_collective(
    tutti_transport *transport, int lane, const tutti_coll_args *args, tutti_message **message)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    call c = {.args = args,
        .comm = t->lane[lane],
        .rank = t->base.rank,
        .P = t->base.size,
        .type = type_of(args->dtype),
        .op = MPI_OP_NULL,
        .element = tutti_dtype_bytes(args->dtype)};
    const tutti_mpi_message like = {.kind = tutti_coll_kind_name(args->kind), .lane = lane};
    tutti_mpi_message *m;
    tutti_status status = check_supported(&c);
    if (!status) status = find_op(t, &c);
    if (!status)
        status = tutti_mpi_message_new(t, &like, (int)(args->count / most_of(t, &c)) + 1, &m);
    if (status) return status;
    set_final_move(&c, m);
    status = allocate_kept(&c, m);
    if (!status) status = start_calls(t, &c, m);
    if (!status || m->left)
        *message = (tutti_message *)m;
    else
        tutti_mpi_message_free(t, m);
    return status;
}
