#include "collectives/value/args.h"

static const tutti_coll_trait traits[TUTTI_COLL_KINDS] = {
    [TUTTI_ALLREDUCE] = {.name = "allreduce", .data = 1, .reduces = 1, .sends = 1},
    [TUTTI_BROADCAST] = {.name = "broadcast", .data = 1, .rooted = 1},
    [TUTTI_REDUCE] = {.name = "reduce", .data = 1, .reduces = 1, .rooted = 1, .sends = 1},
    [TUTTI_ALLGATHER] = {.name = "allgather", .data = 1, .parts = 1, .sends = 1},
    [TUTTI_REDUCE_SCATTER] = {.name = "reduce-scatter", .data = 1, .reduces = 1, .sends = 1},
    [TUTTI_BARRIER] = {.name = "barrier"},
    [TUTTI_GATHER] = {.name = "gather", .data = 1, .rooted = 1, .parts = 1, .sends = 1},
    [TUTTI_SCATTER] = {.name = "scatter", .data = 1, .rooted = 1, .parts = 1, .sends = 1},
    [TUTTI_ALLTOALL] = {.name = "alltoall", .data = 1, .parts = 1, .sends = 1},
    [TUTTI_SCAN] = {.name = "scan", .data = 1, .reduces = 1, .sends = 1},
    [TUTTI_MESSAGE] = {.name = "message", .data = 1},
};

const tutti_coll_trait *tutti_coll_trait_of(tutti_coll_kind kind)
{
    static const tutti_coll_trait unknown = {.name = "unknown"};
    return (unsigned)kind < TUTTI_COLL_KINDS ? &traits[kind] : &unknown;
}

const char *tutti_coll_kind_name(tutti_coll_kind kind)
{
    return tutti_coll_trait_of(kind)->name;
}

void tutti_coll_block(int64_t count, int P, int r, int64_t *offset, int64_t *length)
{
    int64_t small = count / P, larger = count % P;
    *offset = small * r + (r < larger ? r : larger);
    *length = small + (r < larger);
}

int64_t tutti_coll_part(const int64_t *counts, int64_t count, int r, int64_t *offset)
{
    *offset = counts ? 0 : r * count;
    for (int q = 0; counts && q < r; q++) *offset += counts[q];
    return counts ? counts[r] : count;
}

int tutti_coll_counts(const tutti_coll_args *args, int P)
{
    return !args->counts ? 0 : args->kind == TUTTI_ALLTOALL ? 2 * P : P;
}

int tutti_coll_has_recv(const tutti_coll_args *args, int rank)
{
    int only_at_root = args->kind == TUTTI_GATHER && args->out_of_place;
    return tutti_coll_trait_of(args->kind)->data && !(only_at_root && rank != args->root);
}

int tutti_coll_has_send(const tutti_coll_args *args, int rank)
{
    int only_at_root = args->kind == TUTTI_SCATTER;
    return args->out_of_place && tutti_coll_trait_of(args->kind)->sends &&
           !(only_at_root && rank != args->root);
}

int tutti_coll_reads_recv(const tutti_coll_args *args, int rank)
{
    if (args->kind == TUTTI_BROADCAST) return rank == args->root;
    if (args->kind == TUTTI_MESSAGE) return rank == 0;
    return tutti_coll_trait_of(args->kind)->data && !args->out_of_place;
}

static int64_t all_parts(const int64_t *counts, int64_t count, int P)
{
    int64_t offset, last = tutti_coll_part(counts, count, P - 1, &offset);
    return offset + last;
}

int64_t tutti_coll_send_count(const tutti_coll_args *args, int rank, int P)
{
    int64_t ignored;
    if (!args->out_of_place || !tutti_coll_trait_of(args->kind)->sends) return 0;
    switch (args->kind) {
    case TUTTI_ALLGATHER:
    case TUTTI_GATHER:
        return tutti_coll_part(args->counts, args->count, rank, &ignored);
    case TUTTI_SCATTER:
        return rank == args->root ? all_parts(args->counts, args->count, P) : 0;
    case TUTTI_ALLTOALL:
        return all_parts(args->counts, args->count, P);
    default:
        return args->count;
    }
}

int64_t tutti_coll_recv_count(const tutti_coll_args *args, int rank, int P)
{
    int64_t ignored;
    switch (args->kind) {
    case TUTTI_ALLGATHER:
        return all_parts(args->counts, args->count, P);
    case TUTTI_GATHER:
        return args->out_of_place && rank != args->root ? 0
                                                        : all_parts(args->counts, args->count, P);
    case TUTTI_SCATTER:
        return args->out_of_place ? tutti_coll_part(args->counts, args->count, rank, &ignored)
                                  : all_parts(args->counts, args->count, P);
    case TUTTI_ALLTOALL:
        return all_parts(args->counts ? args->counts + P : NULL, args->count, P);
    default:
        return args->count;
    }
}

/* ---- operators ---- */

enum { INTEGER = 1, REAL = 2, COMPLEX = 4, PAIR = 8 };

static const int class_of[TUTTI_DTYPE_COUNT] = {
    [TUTTI_F32] = REAL,
    [TUTTI_F64] = REAL,
    [TUTTI_I32] = INTEGER,
    [TUTTI_I64] = INTEGER,
    [TUTTI_U8] = INTEGER,
    [TUTTI_I8] = INTEGER,
    [TUTTI_I16] = INTEGER,
    [TUTTI_U16] = INTEGER,
    [TUTTI_U32] = INTEGER,
    [TUTTI_U64] = INTEGER,
    [TUTTI_C64] = COMPLEX,
    [TUTTI_C128] = COMPLEX,
    [TUTTI_FLOAT_INT] = PAIR,
    [TUTTI_DOUBLE_INT] = PAIR,
    [TUTTI_INT_INT] = PAIR,
    [TUTTI_LONG_INT] = PAIR,
    [TUTTI_BF16] = REAL,
};

static const struct {
    const char *name;
    int takes;
} ops[TUTTI_REDUCE_OPS] = {
    [TUTTI_SUM] = {"sum", INTEGER | REAL | COMPLEX},
    [TUTTI_PROD] = {"prod", INTEGER | REAL | COMPLEX},
    [TUTTI_MIN] = {"min", INTEGER | REAL},
    [TUTTI_MAX] = {"max", INTEGER | REAL},
    [TUTTI_LAND] = {"land", INTEGER},
    [TUTTI_LOR] = {"lor", INTEGER},
    [TUTTI_LXOR] = {"lxor", INTEGER},
    [TUTTI_BAND] = {"band", INTEGER},
    [TUTTI_BOR] = {"bor", INTEGER},
    [TUTTI_BXOR] = {"bxor", INTEGER},
    [TUTTI_MINLOC] = {"minloc", PAIR},
    [TUTTI_MAXLOC] = {"maxloc", PAIR},
};

const char *tutti_reduce_op_name(tutti_reduce_op op)
{
    return (unsigned)op < TUTTI_REDUCE_OPS ? ops[op].name : "unknown";
}

int tutti_reduce_op_takes(tutti_reduce_op op, tutti_dtype dtype)
{
    if ((unsigned)op >= TUTTI_REDUCE_OPS || (unsigned)dtype >= TUTTI_DTYPE_COUNT) return 0;
    return (ops[op].takes & class_of[dtype]) != 0;
}

const char *tutti_coll_op_name(const tutti_coll_args *args)
{
    return args->user ? args->user->name : tutti_reduce_op_name(args->op);
}

int tutti_coll_commutes(const tutti_coll_args *args)
{
    return !args->user || args->user->commutes;
}

int tutti_coll_is_whole(const tutti_coll_args *args)
{
    return tutti_coll_trait_of(args->kind)->reduces && args->user && args->user->whole;
}

tutti_dtype tutti_coll_accumulator(const tutti_coll_args *args)
{
    int rounds = !args->user && (args->op == TUTTI_SUM || args->op == TUTTI_PROD);
    return args->dtype == TUTTI_BF16 && rounds ? TUTTI_F32 : args->dtype;
}

tutti_coll_args tutti_coll_desc_args(const void *desc, size_t bytes, int P)
{
    tutti_coll_args args = *(const tutti_coll_args *)desc;
    size_t counts = (size_t)tutti_coll_counts(&args, P) * sizeof *args.counts;
    if (counts) args.counts = (const int64_t *)((const char *)desc + bytes - counts);
    return args;
}

uint64_t tutti_coll_counts_hash(const tutti_coll_args *args, int P)
{
    uint64_t hash = 2;
    if (!args->counts || args->kind == TUTTI_ALLTOALL) return args->counts != NULL;
    for (int r = 0; r < P; r++) hash = tutti_coll_mix(hash, (uint64_t)args->counts[r]);
    return hash >> 1 | 2;
}

uint64_t tutti_coll_operator_hash(const tutti_coll_args *args)
{
    if (!args->user || !tutti_coll_trait_of(args->kind)->reduces) return 0;
    uint64_t hash = tutti_coll_mix(1, (args->user->commutes != 0) + 2u * (args->user->whole != 0));
    for (const char *c = args->user->name; *c; c++) hash = tutti_coll_mix(hash, (unsigned char)*c);
    return hash >> 1 | 1;
}
