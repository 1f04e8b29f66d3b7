#include "collectives/value/args.h"

void tutti_coll_block(int64_t count, int P, int r, int64_t *offset, int64_t *length)
{
    int64_t small = count / P, larger = count % P;
    *offset = small * r + (r < larger ? r : larger);
    *length = small + (r < larger);
}

const char *tutti_coll_kind_name(tutti_coll_kind kind)
{
    static const char *const names[TUTTI_COLL_KINDS] = {
        [TUTTI_ALLREDUCE] = "allreduce",
        [TUTTI_BROADCAST] = "broadcast",
        [TUTTI_REDUCE] = "reduce",
        [TUTTI_ALLGATHER] = "allgather",
        [TUTTI_REDUCE_SCATTER] = "reduce-scatter",
        [TUTTI_BARRIER] = "barrier",
    };
    return (unsigned)kind < TUTTI_COLL_KINDS ? names[kind] : "unknown";
}

const char *tutti_reduce_op_name(tutti_reduce_op op)
{
    static const char *const names[TUTTI_REDUCE_OPS] = {
        [TUTTI_SUM] = "sum",
        [TUTTI_PROD] = "prod",
        [TUTTI_MIN] = "min",
        [TUTTI_MAX] = "max",
    };
    return (unsigned)op < TUTTI_REDUCE_OPS ? names[op] : "unknown";
}
