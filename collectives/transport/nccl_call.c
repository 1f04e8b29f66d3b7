#include "collectives/transport/nccl_parts.h"

static int type_of(tutti_dtype dtype, ncclDataType_t *type)
{
    static const struct {
        tutti_dtype dtype;
        ncclDataType_t type;
    } types[] = {{TUTTI_F32, ncclFloat32}, {TUTTI_F64, ncclFloat64}, {TUTTI_BF16, ncclBfloat16},
        {TUTTI_I8, ncclInt8}, {TUTTI_U8, ncclUint8}, {TUTTI_I32, ncclInt32},
        {TUTTI_U32, ncclUint32}, {TUTTI_I64, ncclInt64}, {TUTTI_U64, ncclUint64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) {
            *type = types[i].type;
            return 1;
        }
    return 0;
}

static int op_of(const tutti_coll_args *a, ncclRedOp_t *op)
{
    static const struct {
        tutti_reduce_op op;
        ncclRedOp_t nccl;
    } ops[] = {
        {TUTTI_SUM, ncclSum}, {TUTTI_PROD, ncclProd}, {TUTTI_MIN, ncclMin}, {TUTTI_MAX, ncclMax}};
    *op = ncclSum;
    if (!tutti_coll_trait_of(a->kind)->reduces) return 1;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !a->user; i++)
        if (ops[i].op == a->op) {
            *op = ops[i].nccl;
            return 1;
        }
    return 0;
}

static char *output_at(const tutti_nccl_call *c, int64_t at)
{
    return (char *)c->args->recv + (size_t)at * c->element;
}

static const void *input_of(const tutti_nccl_call *c)
{
    return c->args->out_of_place ? c->args->send : c->args->recv;
}

static ncclResult_t launch_allreduce(const tutti_nccl_call *c)
{
    return ncclAllReduce(
        input_of(c), c->args->recv, (size_t)c->args->count, c->type, c->op, c->comm, c->stream);
}

static ncclResult_t launch_broadcast(const tutti_nccl_call *c)
{
    return ncclBroadcast(c->args->recv, c->args->recv, (size_t)c->args->count, c->type,
        c->args->root, c->comm, c->stream);
}

static ncclResult_t launch_reduce(const tutti_nccl_call *c)
{
    return ncclReduce(input_of(c), c->args->recv, (size_t)c->args->count, c->type, c->op,
        c->args->root, c->comm, c->stream);
}

/* Parts of different lengths: each is broadcast by its rank. */
static ncclResult_t launch_allgather(const tutti_nccl_call *c)
{
    int64_t at;
    int64_t mine = tutti_coll_part(c->args->counts, c->args->count, c->rank, &at);
    const void *in = c->args->out_of_place ? c->args->send : output_at(c, at);
    if (!c->args->counts)
        return ncclAllGather(in, c->args->recv, (size_t)mine, c->type, c->comm, c->stream);
    ncclGroupStart();
    for (int r = 0; r < c->P; r++) {
        int64_t length = tutti_coll_part(c->args->counts, c->args->count, r, &at);
        const void *from = r == c->rank ? in : output_at(c, at);
        if (length)
            ncclBroadcast(from, output_at(c, at), (size_t)length, c->type, r, c->comm, c->stream);
    }
    return ncclGroupEnd();
}

/* Blocks of different lengths: each is reduced to its rank. */
static ncclResult_t launch_reduce_scatter(const tutti_nccl_call *c)
{
    int64_t at, length, count = c->args->count;
    tutti_coll_block(count, c->P, c->rank, &at, &length);
    if (count % c->P == 0)
        return ncclReduceScatter(
            input_of(c), output_at(c, at), (size_t)length, c->type, c->op, c->comm, c->stream);
    ncclGroupStart();
    for (int r = 0; r < c->P; r++) {
        tutti_coll_block(count, c->P, r, &at, &length);
        const void *from = (const char *)input_of(c) + (size_t)at * c->element;
        if (length)
            ncclReduce(
                from, output_at(c, at), (size_t)length, c->type, c->op, r, c->comm, c->stream);
    }
    return ncclGroupEnd();
}

static ncclResult_t (*const calls[TUTTI_COLL_KINDS])(const tutti_nccl_call *c) = {
    [TUTTI_ALLREDUCE] = launch_allreduce,
    [TUTTI_BROADCAST] = launch_broadcast,
    [TUTTI_REDUCE] = launch_reduce,
    [TUTTI_ALLGATHER] = launch_allgather,
    [TUTTI_REDUCE_SCATTER] = launch_reduce_scatter,
};

int tutti_nccl_call_describe(const tutti_coll_args *args, tutti_nccl_call *call)
{
    call->args = args;
    call->element = tutti_dtype_bytes(args->dtype);
    return calls[args->kind] && type_of(args->dtype, &call->type) && op_of(args, &call->op);
}

ncclResult_t tutti_nccl_call_launch(const tutti_nccl_call *call)
{
    return calls[call->args->kind](call);
}
