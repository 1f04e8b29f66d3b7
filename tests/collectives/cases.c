#include "tests/collectives/cases.h"
#include "collectives/choose.h"

#include "dag/base/bf16.h"
#include "dag/base/mem.h"
#include "dag/base/rng.h"
#include "tests/support/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 24, MARGIN = 64, FILL = 0x5a, PERIOD = 11 };

static const double timeout_s = 60;

typedef struct trial {
    tutti_coll_args args;
    int in_place;
    int64_t in_count, out_count;
    int64_t *others;         /* every rank's counts, or NULL */
    int64_t reduced[PERIOD]; /* what the elements are reduced to: it repeats, as the inputs do */
    int part;                /* the one that was found last */
    size_t element;
    char *send, *recv;
    tutti_coll_request *request;
} trial;

/* Small whole numbers, exact in every type and order. Ranks have different ones, and what up to nine ranks reduce them
 * to differs within a period, which is a prime: so blocks and segments in each other's place are seen. */
static int64_t value(int rank, int64_t i)
{
    uint32_t mixed = (uint32_t)(rank + 1) * 2654435761u ^ (uint32_t)(i % PERIOD + 1) * 374761393u;
    return (mixed >> 16) % 5 + 1;
}

/* Bits that do not depend on order: whole numbers that every type holds exactly. */
static void reduce_values(trial *t, int last)
{
    for (int i = 0; i < PERIOD; i++) {
        t->reduced[i] = value(0, i);
        for (int r = 1; r <= last; r++)
            t->reduced[i] = values_combine(t->args.op, t->reduced[i], value(r, i));
    }
}

/* A block in another's place would not be seen. */
static int is_constant(const trial *t)
{
    for (int i = 1; i < PERIOD; i++)
        if (t->reduced[i] != t->reduced[0]) return 0;
    return t->args.op <= TUTTI_MAX; /* logical operators make one truth of all these values */
}

/* The part that contains i, which only grows; *at: its offset there. */
static int part_of(trial *t, const int64_t *counts, int64_t i, int64_t *at)
{
    int64_t offset;
    while (tutti_coll_part(counts, t->args.count, t->part, &offset) <= i - offset) t->part++;
    *at = i - offset;
    return t->part;
}

/* Whether recv[i] is defined on this rank; *v: the expected value. */
static int expected(trial *t, int rank, int P, int64_t i, int64_t *v)
{
    const tutti_coll_args *a = &t->args;
    int64_t offset, length, at;
    int from;
    *v = 0;
    switch (a->kind) {
    case TUTTI_ALLREDUCE:
        *v = t->reduced[i % PERIOD];
        return 1;
    case TUTTI_BROADCAST:
    case TUTTI_MESSAGE:
        *v = value(a->root, i);
        return 1;
    case TUTTI_REDUCE:
        *v = t->reduced[i % PERIOD];
        return rank == a->root;
    case TUTTI_GATHER:
    case TUTTI_ALLGATHER:
        from = part_of(t, a->counts, i, &at);
        *v = value(from, at);
        return a->kind == TUTTI_ALLGATHER || rank == a->root;
    case TUTTI_REDUCE_SCATTER:
        tutti_coll_block(a->count, P, rank, &offset, &length);
        *v = t->reduced[i % PERIOD];
        return i >= offset && i < offset + length;
    case TUTTI_SCATTER:
        length = tutti_coll_part(a->counts, a->count, rank, &offset);
        at = t->in_place ? i : offset + i;
        *v = value(a->root, at);
        return at >= offset && at < offset + length;
    case TUTTI_ALLTOALL:
        from = part_of(t, a->counts ? a->counts + P : NULL, i, &at);
        tutti_coll_part(a->counts ? t->others + 2 * P * from : NULL, a->count, rank, &offset);
        *v = value(from, offset + at);
        return 1;
    case TUTTI_SCAN:
        *v = t->reduced[i % PERIOD];
        return 1;
    default:
        return 0;
    }
}

/* Offset of this rank's input in recv, if it is in place. */
static int64_t own_offset(const tutti_coll_args *a, int rank)
{
    int64_t offset = 0;
    if (a->kind == TUTTI_ALLGATHER || a->kind == TUTTI_GATHER)
        tutti_coll_part(a->counts, a->count, rank, &offset);
    return offset;
}

static void prepare(trial *t, int rank, int P)
{
    tutti_coll_args *a = &t->args;
    t->element = tutti_dtype_bytes(a->dtype);
    a->out_of_place = 1;
    int copies = a->kind == TUTTI_BROADCAST || a->kind == TUTTI_MESSAGE;
    t->in_count = copies || a->kind == TUTTI_BARRIER ? a->count : tutti_coll_send_count(a, rank, P);
    a->out_of_place = !t->in_place;
    t->out_count = tutti_coll_recv_count(a, rank, P);
    size_t out_bytes = (size_t)t->out_count * t->element;
    t->recv = tutti_mem_aligned(out_bytes + MARGIN);
    t->send = tutti_mem_aligned((size_t)t->in_count * t->element);
    memset(t->recv, FILL, out_bytes + MARGIN);
    int64_t own = own_offset(a, rank);
    int input_in_recv = t->in_place || (copies && a->root == rank);
    for (int64_t i = 0; i < t->in_count; i++) {
        values_store(a->dtype, t->send, i, value(rank, i));
        if (input_in_recv) values_store(a->dtype, t->recv, own + i, value(rank, i));
    }
    a->send = t->in_place ? NULL : t->send;
    a->recv = t->recv;
}

static int verify(trial *t, int rank, int P)
{
    const tutti_coll_args *a = &t->args;
    int wrong = 0;
    reduce_values(t, a->kind == TUTTI_SCAN ? rank : P - 1);
    wrong += tutti_coll_trait_of(a->kind)->reduces && is_constant(t);
    for (int64_t i = 0; i < t->out_count; i++) {
        int64_t v;
        if (!expected(t, rank, P, i, &v)) continue;
        wrong += !values_are(a->dtype, t->recv, i, v);
    }
    for (int64_t i = 0; i < t->in_count; i++)
        wrong += !values_are(a->dtype, t->send, i, value(rank, i));
    for (size_t i = 0; i < MARGIN; i++)
        wrong += t->recv[(size_t)t->out_count * t->element + i] != FILL;
    if (wrong)
        printf("rank %d of %d: %s of %lld %s, %s, root %d, %s: %d values are wrong\n", rank, P,
            tutti_coll_kind_name(a->kind), (long long)a->count, tutti_dtype_name(a->dtype),
            tutti_reduce_op_name(a->op), a->root, t->in_place ? "in place" : "out of place", wrong);
    free(t->send);
    free(t->recv);
    free(t->others);
    return wrong != 0;
}

/* Counts of every rank's parts, 2 P per rank; some are 0. The parts of an alltoall differ from rank to rank. */
static void draw_counts(trial *t, int rank, int P, int64_t about)
{
    int64_t *all = t->others = tutti_mem_aligned((size_t)(2 * P * P) * sizeof *all);
    tutti_coll_args *a = &t->args;
    a->count = 0;
    for (int r = 0; r < P; r++) {
        for (int q = 0; q < P; q++) {
            int from = a->kind == TUTTI_ALLTOALL ? r : 0, to = a->kind == TUTTI_ALLTOALL ? q : 0;
            all[2 * P * r + q] = (from + 2 * q) % 3 * about / 2;
            all[2 * P * r + P + q] = (to + 2 * r) % 3 * about / 2;
        }
    }
    a->counts = all + 2 * P * rank;
    for (int q = 0; q < P && a->kind != TUTTI_ALLTOALL; q++) a->count += a->counts[q];
}

/* Whether results are whole numbers of the type. Products of bf16 would be rounded. */
static int is_exact(tutti_dtype dtype, int op)
{
    return tutti_reduce_op_takes((tutti_reduce_op)op, dtype) &&
           !(dtype == TUTTI_BF16 && op == TUTTI_PROD);
}

/* An operator of the list that suits the type. */
static tutti_reduce_op operator_for(tutti_dtype dtype, int n)
{
    int op = n % TUTTI_REDUCE_OPS;
    while (!is_exact(dtype, op)) op = (op + 1) % TUTTI_REDUCE_OPS;
    return (tutti_reduce_op)op;
}

/* Makes case number n; 0: there are no more. */
static int nth(int n, int rank, int P, trial *t)
{
    static const int64_t counts[] = {0, 1, 7, 1000, 4099};
    static const tutti_dtype usual[] = {TUTTI_F32, TUTTI_F64, TUTTI_I32, TUTTI_I64, TUTTI_U8};
    static const tutti_reduce_op ops[] = {TUTTI_SUM, TUTTI_PROD, TUTTI_MIN, TUTTI_MAX};
    enum {
        COUNTS = sizeof counts / sizeof *counts,
        USUAL = sizeof usual / sizeof *usual,
        OPS = sizeof ops / sizeof *ops,
        TYPES = TUTTI_DTYPE_COUNT
    };
    if (n >= 2 * (TYPES + OPS * COUNTS) * TUTTI_COLL_KINDS) return 0;
    int kind = n % TUTTI_COLL_KINDS, in_place = n / TUTTI_COLL_KINDS % 2;
    int type = n / TUTTI_COLL_KINDS / 2;
    if (kind == TUTTI_MESSAGE && P != 2) kind = TUTTI_BROADCAST;
    tutti_dtype dtype = (tutti_dtype)((type + kind) % TYPES);
    *t = (trial){.in_place = in_place};
    t->args = (tutti_coll_args){.kind = (tutti_coll_kind)kind,
        .dtype = dtype,
        .op = operator_for(dtype, 3 * type),
        .root = kind == TUTTI_MESSAGE ? 0 : n % 5 % P,
        .count = counts[type % COUNTS]};
    if (type >= TYPES) { /* after every type once: each usual operator with each count */
        int rest = type - TYPES;
        t->args.dtype = usual[(rest + kind) % USUAL];
        t->args.op = ops[rest / COUNTS];
        t->args.count = counts[rest % COUNTS];
    }
    int parts = tutti_coll_trait_of(t->args.kind)->parts;
    if (parts && type / 2 % 2 && !(in_place && t->args.kind == TUTTI_ALLTOALL))
        draw_counts(t, rank, P, t->args.count);
    return 1;
}

/* Whether an algorithm has a schedule of its own for this kind; else it has ring's. */
static int has_own(const char *name, tutti_coll_kind kind)
{
    const tutti_algorithm *ring = tutti_algorithm_find("ring"), *a = tutti_algorithm_find(name);
    return a->chooses || a == ring || a->build[kind] != ring->build[kind];
}

/* Makes the next case, from number *n on, of those that the algorithm has schedules for; 0: there are no more. */
static int next(int *n, const char *algorithm, int rank, int P, trial *t)
{
    while (nth((*n)++, rank, P, t)) {
        if (has_own(algorithm, t->args.kind)) return 1;
        free(t->others);
    }
    return 0;
}

/* Posts up to AT_ONCE cases from number *n on; returns how many, and adds to failures. */
static int run_some(tutti_comm *comm, const char *algorithm, int *n, int *failures)
{
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), lanes = tutti_comm_lanes(comm);
    int library = tutti_algorithm_is_library(algorithm); /* which does not reduce bf16 */
    trial trials[AT_ONCE];
    int posted = 0;
    while (posted < AT_ONCE && next(n, algorithm, rank, P, &trials[posted])) {
        trial *t = &trials[posted];
        if (library && t->args.dtype == TUTTI_BF16) t->args.dtype = TUTTI_I16;
        prepare(t, rank, P);
        if (tutti_coll_post(comm, posted % lanes, &t->args, &t->request)) abort();
        posted++;
    }
    for (int i = posted - 1; i >= 0; i--) { /* against the order of posting */
        trial *t = &trials[i];
        tutti_status status = tutti_coll_wait(comm, t->request, timeout_s);
        if (status) abort(); /* the others would wait forever */
        tutti_coll_free(t->request);
        *failures += verify(t, rank, P);
    }
    return posted;
}

int cases_run(tutti_comm *comm, const char *algorithm)
{
    int failures = 0, n = 0, posted;
    do posted = run_some(comm, algorithm, &n, &failures);
    while (posted);
    return failures;
}

static void call(tutti_comm *comm, const tutti_coll_args *args)
{
    tutti_coll_request *request;
    if (tutti_coll_post(comm, 0, args, &request)) abort();
    if (tutti_coll_wait(comm, request, timeout_s)) abort();
    tutti_coll_free(request);
}

/* The i-th part of an element: a random number, or one whose bits are easily lost. */
static float special(uint64_t seed, int rank, int64_t i)
{
    static const uint32_t bits[] = {0x7fc00000, 0xffc12300, 0x7fa50000, 0x7f800000, 0xff800000,
        0x00000000, 0x80000000, 0x00010000, 0x80010000, 0x7f7f0000};
    enum { SPECIALS = sizeof bits / sizeof *bits };
    uint64_t draw = (uint64_t)i * 7 + (uint64_t)rank * 5 + seed;
    float value = 4 * (float)tutti_rng_uniform(seed, (uint64_t)rank, (uint64_t)i) - 2;
    if (draw % 3 == 0)
        memcpy(&value, &bits[(draw / 3 + (uint64_t)(rank * i)) % SPECIALS], sizeof value);
    return value;
}

static void fill_special(tutti_dtype dtype, void *x, int64_t n, int rank, uint64_t seed)
{
    memset(x, 0, (size_t)n * tutti_dtype_bytes(dtype)); /* the gaps of pairs */
    for (int64_t i = 0; i < n; i++) {
        float value = special(seed, rank, i);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (dtype == TUTTI_F32) ((float *)x)[i] = value;
        if (dtype == TUTTI_F64) ((double *)x)[i] = (double)value;
        if (dtype == TUTTI_BF16) ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
        if (dtype == TUTTI_C64) ((float *)x)[2 * i] = value;
        if (dtype == TUTTI_C64) ((float *)x)[2 * i + 1] = special(seed + 1, rank, i);
        if (dtype == TUTTI_DOUBLE_INT)
            ((tutti_double_int *)x)[i] = (tutti_double_int){(double)value, rank % 2};
    }
}

/* What operators make of NaNs is a NaN without sign and payload. */
static int other_nans(tutti_dtype dtype, const void *x, int64_t n)
{
    int others = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t wide;
        uint32_t bits;
        memcpy(&wide, (const double *)x + (dtype == TUTTI_F64 ? i : 0), sizeof wide);
        memcpy(&bits, (const float *)x + (dtype == TUTTI_F32 ? i : 0), sizeof bits);
        if (dtype == TUTTI_BF16) bits = (uint32_t)((const uint16_t *)x)[i] << 16;
        if (dtype == TUTTI_F64)
            others += wide << 1 > (uint64_t)0x7ff << 53 && wide != (uint64_t)0x7ff8 << 48;
        else
            others += bits << 1 > 0xff000000u && bits != 0x7fc00000;
    }
    return others;
}

static int same_bits(
    tutti_comm *comm, tutti_dtype dtype, tutti_reduce_op op, int64_t n, uint64_t seed)
{
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), differ = 0, real;
    const size_t bytes = (size_t)n * tutti_dtype_bytes(dtype);
    char *x = tutti_mem_aligned(bytes + 8), *all = tutti_mem_aligned((size_t)P * bytes);
    fill_special(dtype, x, n, rank, seed);
    const tutti_coll_args sum = {.dtype = dtype, .op = op, .count = n, .recv = x};
    call(comm, &sum);
    const tutti_coll_args show = {.kind = TUTTI_ALLGATHER,
        .dtype = dtype,
        .count = n,
        .out_of_place = 1,
        .send = x,
        .recv = all};
    call(comm, &show);
    for (int r = 0; r < P; r++) differ += memcmp(x, all + (size_t)r * bytes, bytes) != 0;
    real = dtype == TUTTI_F32 || dtype == TUTTI_F64 || dtype == TUTTI_BF16;
    int others = real && P > 1 ? other_nans(dtype, x, n) : 0;
    if (differ || others)
        printf("rank %d of %d: %s of %lld %s: %d ranks hold other bits, %d other NaNs\n", rank, P,
            tutti_reduce_op_name(op), (long long)n, tutti_dtype_name(dtype), differ, others);
    free(x);
    free(all);
    return differ + others;
}

int cases_same_bits(tutti_comm *comm, uint64_t seed, int library)
{
    static const tutti_dtype types[] = {
        TUTTI_F32, TUTTI_F64, TUTTI_C64, TUTTI_DOUBLE_INT, TUTTI_BF16};
    int failures = 0;
    for (int t = 0; t < 5 - library; t++) {
        for (int op = 0; op < TUTTI_REDUCE_OPS; op++) {
            if (!tutti_reduce_op_takes((tutti_reduce_op)op, types[t])) continue;
            failures += same_bits(comm, types[t], (tutti_reduce_op)op, 3, seed);
            failures += same_bits(comm, types[t], (tutti_reduce_op)op, 1003, seed + 1);
            if (types[t] == TUTTI_F32)
                failures += same_bits(comm, types[t], (tutti_reduce_op)op, 30011, seed + 2);
        }
    }
    return failures;
}

int cases_wrap(tutti_comm *comm)
{
    enum { N = 131 };
    int P = tutti_comm_size(comm), failures = 0;
    int8_t x[N];
    uint8_t y[N];
    int16_t z[N];
    memset(x, 100, sizeof x);
    memset(y, 200, sizeof y);
    for (int i = 0; i < N; i++) z[i] = 20000;
    const tutti_coll_args sums[] = {{.dtype = TUTTI_I8, .count = N, .recv = x},
        {.dtype = TUTTI_U8, .count = N, .recv = y}, {.dtype = TUTTI_I16, .count = N, .recv = z}};
    for (int s = 0; s < 3; s++) call(comm, &sums[s]);
    for (int i = 0; i < N; i++)
        failures +=
            x[i] != (int8_t)(100 * P) || y[i] != (uint8_t)(200 * P) || z[i] != (int16_t)(20000 * P);
    if (failures)
        printf("rank %d of %d: %d sums do not wrap\n", tutti_comm_rank(comm), P, failures);
    return failures;
}

/* ---- extra vectors ---- */

/* From -1 to 1. */
static float any_float(uint64_t seed, int vector, int64_t i)
{
    uint64_t h = (seed << 8 ^ (uint64_t)vector ^ (uint64_t)i << 16) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return (float)(int32_t)(h >> 32) / 2147483648.0f;
}

/* The same reduction, of the vectors as one object, and of their sum. Returns whether they differ. */
static int reduce_together(
    tutti_comm *comm, const tutti_coll_args *like, int in_place, uint64_t seed)
{
    enum { MOST = 4 };
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm);
    int vectors = 1 + (rank + (int)like->count) % MOST; /* differs between ranks */
    int64_t n = like->count, from = 0, length = n;
    size_t bytes = (size_t)n * sizeof(float);
    float *of[MOST], *kept = tutti_mem_aligned(bytes + 1), *sum = tutti_mem_aligned(bytes + 1);
    float *result = tutti_mem_aligned(bytes + 1);
    tutti_coll_args one = *like, all = *like;
    for (int k = 0; k < vectors; k++) {
        of[k] = tutti_mem_aligned(bytes + 1);
        for (int64_t i = 0; i < n; i++) {
            of[k][i] = any_float(seed, MOST * rank + k, i);
            sum[i] = k ? sum[i] + of[k][i] : of[k][i];
        }
        if (k) all.extra[all.extras++] = of[k];
    }
    memcpy(kept, of[0], bytes);
    memcpy(result, of[0], bytes);
    one.recv = sum;
    all.recv = result;
    all.out_of_place = !in_place;
    all.send = in_place ? NULL : of[0];
    call(comm, &one);
    call(comm, &all);
    if (like->kind == TUTTI_REDUCE_SCATTER) tutti_coll_block(n, P, rank, &from, &length);
    if (like->kind == TUTTI_REDUCE && rank != like->root) length = 0;
    int differ = memcmp(sum + from, result + from, (size_t)length * sizeof(float)) != 0 ||
                 memcmp(kept, of[0], bytes) != 0;
    for (int k = 0; k < vectors; k++) free(of[k]);
    free(kept);
    free(sum);
    free(result);
    if (differ)
        printf("rank %d of %d: %s of %d vectors of %lld, %s: other bits than of their sum\n", rank,
            P, tutti_coll_kind_name(like->kind), vectors, (long long)n,
            in_place ? "in place" : "out of place");
    return differ;
}

int cases_extras(tutti_comm *comm, uint64_t seed)
{
    static const tutti_coll_kind kinds[] = {
        TUTTI_ALLREDUCE, TUTTI_REDUCE, TUTTI_REDUCE_SCATTER, TUTTI_SCAN};
    static const int64_t counts[] = {0, 1, 7, 1001, 40001};
    int failures = 0;
    for (int n = 0; n < 4 * 5 * 2; n++) {
        const tutti_coll_args like = {
            .kind = kinds[n % 4], .root = n % tutti_comm_size(comm), .count = counts[n / 4 % 5]};
        failures += reduce_together(comm, &like, n / 20, seed + (uint64_t)n);
    }
    return failures;
}

/* ---- bf16 ---- */

/* Random bf16 of one rank, from -1 to 1; for products near 1. */
static uint16_t random_half(uint64_t seed, int rank, int64_t i, tutti_reduce_op op)
{
    float x = any_float(seed, rank, i);
    return tutti_bf16_narrow(op == TUTTI_PROD ? 1 + x / 8 : x);
}

/* What ranks 0 to last make of element i: computed in the order of ranks, in float32, and rounded
 * once. *slack: how far from it another order may end, with up to `roundings`. */
static uint16_t one_rounding(
    uint64_t seed, tutti_reduce_op op, int last, int64_t i, int roundings, double *slack)
{
    float all = tutti_bf16_widen(random_half(seed, 0, i, op));
    double size = fabs((double)all);
    for (int r = 1; r <= last; r++) {
        float x = tutti_bf16_widen(random_half(seed, r, i, op));
        if (op == TUTTI_SUM) all += x;
        if (op == TUTTI_PROD) all *= x;
        if (op == TUTTI_MIN) all = x < all ? x : all;
        if (op == TUTTI_MAX) all = x > all ? x : all;
        size = op == TUTTI_SUM ? size + fabs((double)x) : fabs((double)all) + size;
    }
    *slack = op == TUTTI_SUM || op == TUTTI_PROD ? size * roundings / 256 : 0;
    return tutti_bf16_narrow(all);
}

static int same_half(uint16_t a, uint16_t b, double slack)
{
    double differ = (double)tutti_bf16_widen(a) - (double)tutti_bf16_widen(b);
    return slack > 0 ? fabs(differ) <= slack : a == b;
}

/* Returns the number of wrong elements; once: all must have these bits. */
static int reduce_halves(
    tutti_comm *comm, const tutti_coll_args *like, int in_place, int once, uint64_t seed)
{
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), wrong = 0;
    size_t bytes = (size_t)like->count * sizeof(uint16_t);
    uint16_t *send = tutti_mem_aligned(bytes), *recv = tutti_mem_aligned(bytes);
    for (int64_t i = 0; i < like->count; i++)
        send[i] = recv[i] = random_half(seed, rank, i, like->op);
    tutti_coll_args args = *like;
    args.out_of_place = !in_place;
    args.send = in_place ? NULL : send;
    args.recv = recv;
    call(comm, &args);
    int64_t from = 0, length = args.count;
    if (args.kind == TUTTI_REDUCE_SCATTER) tutti_coll_block(args.count, P, rank, &from, &length);
    if (args.kind == TUTTI_REDUCE && rank != args.root) length = 0;
    for (int64_t i = from; i < from + length; i++) {
        double slack;
        int last = args.kind == TUTTI_SCAN ? rank : P - 1;
        uint16_t should = one_rounding(seed, args.op, last, i, P, &slack);
        wrong += !same_half(recv[i], should, once ? 0 : slack);
    }
    for (int64_t i = 0; i < args.count; i++)
        wrong += send[i] != random_half(seed, rank, i, args.op);
    free(send);
    free(recv);
    if (wrong)
        printf("rank %d of %d: %s of %lld BF16, %s, %s: %d values are wrong\n", rank, P,
            tutti_coll_kind_name(args.kind), (long long)args.count, tutti_reduce_op_name(args.op),
            in_place ? "in place" : "out of place", wrong);
    return wrong != 0;
}

/* As collectives/choose.h says, for more than two ranks. */
static int rounds_once(const char *algorithm, const tutti_coll_args *args)
{
    int direct = !strcmp(algorithm, "direct"), automatic = !strcmp(algorithm, "auto");
    if (args->kind == TUTTI_REDUCE_SCATTER) return direct || automatic;
    if (args->kind == TUTTI_ALLREDUCE) return direct || (automatic && args->count > 2048);
    return 0;
}

int cases_bf16(tutti_comm *comm, const char *algorithm, uint64_t seed)
{
    static const tutti_coll_kind kinds[] = {
        TUTTI_ALLREDUCE, TUTTI_REDUCE, TUTTI_REDUCE_SCATTER, TUTTI_SCAN};
    static const int64_t counts[] = {1, 5, 300, 4099, 40001};
    enum {
        KINDS = sizeof kinds / sizeof *kinds,
        COUNTS = sizeof counts / sizeof *counts,
        OPS = TUTTI_MAX + 1
    };
    int P = tutti_comm_size(comm), failures = 0;
    for (int n = 0; n < KINDS * COUNTS * OPS; n++) {
        const tutti_coll_args args = {.kind = kinds[n % KINDS],
            .dtype = TUTTI_BF16,
            .op = (tutti_reduce_op)(n / KINDS % OPS),
            .root = n % P,
            .count = counts[n / KINDS / OPS]};
        if (args.count > 300 && args.op != TUTTI_SUM) continue; /* these take long enough */
        int once = P <= 2 || rounds_once(algorithm, &args);
        failures += reduce_halves(comm, &args, n / 3 % 2, once, seed + (uint64_t)n);
    }
    return failures;
}

int cases_bf16_long(tutti_comm *comm, uint64_t seed)
{
    const tutti_coll_args args = {.dtype = TUTTI_BF16, .count = 3000017};
    return reduce_halves(comm, &args, 0, 1, seed) + reduce_halves(comm, &args, 1, 1, seed);
}

/* Ranks as letters of a word: x is the number whose digits, of base 16, are the ranks in order. */
static void join(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    const uint64_t *a = left, *b = right;
    (void)ctx;
    (void)dtype;
    for (int64_t i = 0; i < count; i++) {
        int digits = 0;
        while (digits < 16 && b[i] >> 4 * digits) digits++;
        ((uint64_t *)result)[i] = a[i] << 4 * digits | b[i];
    }
}

/* The word of ranks 0 to last. */
static uint64_t word(int last)
{
    uint64_t w = 0;
    for (int r = 0; r <= last; r++) w = w << 4 | (uint64_t)(r + 1);
    return w;
}

int cases_in_order(tutti_comm *comm)
{
    static const tutti_coll_kind kinds[] = {
        TUTTI_ALLREDUCE, TUTTI_REDUCE, TUTTI_REDUCE_SCATTER, TUTTI_SCAN};
    static const tutti_user_op op = {.name = "join", .function = join};
    enum { COUNT = 2500, KINDS = sizeof kinds / sizeof *kinds };
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), wrong = 0;
    uint64_t *send = tutti_mem_aligned(COUNT * sizeof *send);
    uint64_t *recv = tutti_mem_aligned(COUNT * sizeof *recv);
    for (int n = 0; n < 2 * KINDS; n++) {
        int in_place = n / KINDS, root = n % P;
        tutti_coll_kind kind = kinds[n % KINDS];
        for (int i = 0; i < COUNT; i++) send[i] = recv[i] = (uint64_t)rank + 1;
        call(comm, &(tutti_coll_args){.kind = kind,
                       .dtype = TUTTI_U64,
                       .op = TUTTI_USER_OP,
                       .user = &op,
                       .root = root,
                       .count = COUNT,
                       .out_of_place = !in_place,
                       .send = in_place ? NULL : send,
                       .recv = recv});
        int64_t from = 0, length = COUNT;
        if (kind == TUTTI_REDUCE_SCATTER) tutti_coll_block(COUNT, P, rank, &from, &length);
        if (kind == TUTTI_REDUCE && rank != root) length = 0;
        uint64_t should = word(kind == TUTTI_SCAN ? rank : P - 1);
        for (int64_t i = from; i < from + length; i++) wrong += recv[i] != should;
        for (int i = 0; i < COUNT; i++) wrong += send[i] != (uint64_t)rank + 1;
    }
    free(send);
    free(recv);
    if (wrong) printf("rank %d of %d: %d elements are not in the order of ranks\n", rank, P, wrong);
    return wrong != 0;
}

/* Of two vectors the one with the larger first element, unless one of them has been cut. */
static void keep_larger(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    const uint64_t *a = left, *b = right;
    uint64_t *to = result;
    (void)dtype;
    if (count != *(const int64_t *)ctx) {
        for (int64_t i = 0; i < count; i++) to[i] = 0;
        return;
    }
    const uint64_t *from = a[0] < b[0] ? b : a;
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

int cases_whole(tutti_comm *comm)
{
    static const tutti_coll_kind kinds[] = {TUTTI_ALLREDUCE, TUTTI_REDUCE, TUTTI_SCAN};
    enum { KINDS = sizeof kinds / sizeof *kinds, MOST = 200003 };
    static const int64_t counts[] = {1, 77, 2500, MOST};
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), wrong = 0;
    uint64_t *recv = tutti_mem_aligned(MOST * sizeof *recv);
    for (int n = 0; n < KINDS * 4; n++) {
        int64_t count = counts[n % 4];
        const tutti_coll_kind kind = kinds[n / 4];
        const tutti_user_op op = {
            .name = "larger", .function = keep_larger, .ctx = &count, .commutes = 1, .whole = 1};
        /* the largest is that of rank 1, or of rank 0 alone */
        const uint64_t mine = rank == 1 ? 1000 : 10 + (uint64_t)rank;
        for (int64_t i = 0; i < count; i++) recv[i] = mine + (uint64_t)i % 7;
        call(comm, &(tutti_coll_args){.kind = kind,
                       .dtype = TUTTI_U64,
                       .op = TUTTI_USER_OP,
                       .user = &op,
                       .root = P - 1,
                       .count = count,
                       .recv = recv});
        if (kind == TUTTI_REDUCE && rank != P - 1) continue;
        const int last = kind == TUTTI_SCAN ? rank : P - 1;
        const uint64_t should = last >= 1 ? 1000 : 10;
        for (int64_t i = 0; i < count; i++) wrong += recv[i] != should + (uint64_t)i % 7;
    }
    free(recv);
    if (wrong) printf("rank %d of %d: %d elements of whole operands are wrong\n", rank, P, wrong);
    return wrong != 0;
}
