#include "tests/collectives/cases.h"

#include "dag/base/mem.h"
#include "dag/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 24, MARGIN = 64, FILL = 0x5a };

static const double timeout_s = 60;

typedef struct trial {
    tutti_coll_args args;
    int in_place;
    int64_t out_count;
    size_t element;
    char *send, *recv;
    tutti_coll_request *request;
} trial;

/* Small whole numbers, exact in every type and order. */
static int64_t value(int rank, int64_t i)
{
    return (rank * 7 + i * 3) % 5 + 1;
}

static void store(tutti_dtype dtype, void *base, int64_t i, int64_t v)
{
    switch (dtype) {
    case TUTTI_F32:
        ((float *)base)[i] = (float)v;
        break;
    case TUTTI_F64:
        ((double *)base)[i] = (double)v;
        break;
    case TUTTI_I32:
        ((int32_t *)base)[i] = (int32_t)v;
        break;
    case TUTTI_I64:
        ((int64_t *)base)[i] = v;
        break;
    default:
        ((uint8_t *)base)[i] = (uint8_t)v;
        break;
    }
}

static int64_t fold(tutti_reduce_op op, int64_t a, int64_t b)
{
    const int64_t results[] = {
        [TUTTI_SUM] = a + b,
        [TUTTI_PROD] = a * b,
        [TUTTI_MIN] = a < b ? a : b,
        [TUTTI_MAX] = a > b ? a : b,
    };
    return results[op];
}

static int64_t reduced(tutti_reduce_op op, int P, int64_t i)
{
    int64_t v = value(0, i);
    for (int r = 1; r < P; r++) v = fold(op, v, value(r, i));
    return v;
}

/* What rank `rank` must find at recv[i]; whether it must find anything. */
static int expected(const tutti_coll_args *a, int rank, int P, int64_t i, int64_t *v)
{
    int64_t offset, length;
    *v = 0;
    switch (a->kind) {
    case TUTTI_ALLREDUCE:
        *v = reduced(a->op, P, i);
        return 1;
    case TUTTI_BROADCAST:
        *v = value(a->root, i);
        return 1;
    case TUTTI_REDUCE:
        *v = reduced(a->op, P, i);
        return rank == a->root;
    case TUTTI_ALLGATHER:
        *v = value((int)(i / a->count), i % a->count);
        return 1;
    case TUTTI_REDUCE_SCATTER:
        tutti_coll_block(a->count, P, rank, &offset, &length);
        *v = reduced(a->op, P, i);
        return i >= offset && i < offset + length;
    default:
        return 0;
    }
}

static void prepare(trial *t, int rank, int P)
{
    tutti_coll_args *a = &t->args;
    t->element = tutti_dtype_bytes(a->dtype);
    t->out_count = a->kind == TUTTI_ALLGATHER ? P * a->count : a->count;
    size_t out_bytes = (size_t)t->out_count * t->element;
    t->recv = tutti_mem_aligned(out_bytes + MARGIN);
    t->send = tutti_mem_aligned((size_t)a->count * t->element);
    memset(t->recv, FILL, out_bytes + MARGIN);
    int64_t own = a->kind == TUTTI_ALLGATHER ? rank * a->count : 0;
    int input_in_recv = t->in_place || (a->kind == TUTTI_BROADCAST && a->root == rank);
    for (int64_t i = 0; i < a->count; i++) {
        store(a->dtype, t->send, i, value(rank, i));
        if (input_in_recv) store(a->dtype, t->recv, own + i, value(rank, i));
    }
    a->send = t->in_place ? NULL : t->send;
    a->recv = t->recv;
}

static int verify(trial *t, int rank, int P)
{
    const tutti_coll_args *a = &t->args;
    int wrong = 0;
    for (int64_t i = 0; i < t->out_count; i++) {
        char want[8];
        int64_t v;
        if (!expected(a, rank, P, i, &v)) continue;
        store(a->dtype, want, 0, v);
        wrong += memcmp(want, t->recv + (size_t)i * t->element, t->element) != 0;
    }
    for (int64_t i = 0; i < a->count; i++) {
        char want[8];
        store(a->dtype, want, 0, value(rank, i));
        wrong += memcmp(want, t->send + (size_t)i * t->element, t->element) != 0;
    }
    for (size_t i = 0; i < MARGIN; i++)
        wrong += t->recv[(size_t)t->out_count * t->element + i] != FILL;
    if (wrong)
        printf("rank %d of %d: %s of %lld %s, %s, root %d, %s: %d values are wrong\n", rank, P,
            tutti_coll_kind_name(a->kind), (long long)a->count, tutti_dtype_name(a->dtype),
            tutti_reduce_op_name(a->op), a->root, t->in_place ? "in place" : "out of place", wrong);
    free(t->send);
    free(t->recv);
    return wrong != 0;
}

/* Case number n, or 0 when there are no more. */
static int nth(int n, int P, trial *t)
{
    static const int64_t counts[] = {0, 1, 7, 1000, 4099};
    enum { COUNTS = sizeof counts / sizeof *counts };
    if (n >= 2 * COUNTS * 4 * TUTTI_COLL_KINDS) return 0;
    int kind = n % TUTTI_COLL_KINDS, in_place = n / TUTTI_COLL_KINDS % 2;
    int rest = n / TUTTI_COLL_KINDS / 2;
    *t = (trial){.in_place = in_place};
    t->args = (tutti_coll_args){.kind = (tutti_coll_kind)kind,
        .dtype = (tutti_dtype)((rest + kind) % TUTTI_DTYPE_COUNT),
        .op = (tutti_reduce_op)(rest / COUNTS % TUTTI_REDUCE_OPS),
        .root = n % 5 % P,
        .count = counts[rest % COUNTS]};
    return 1;
}

/* Posts up to AT_ONCE cases from number n on; returns how many, and adds to failures. */
static int run_some(tutti_comm *comm, int n, int *failures)
{
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), lanes = tutti_comm_lanes(comm);
    trial trials[AT_ONCE];
    int posted = 0;
    while (posted < AT_ONCE && nth(n + posted, P, &trials[posted])) {
        trial *t = &trials[posted];
        prepare(t, rank, P);
        if (tutti_coll_post(comm, posted % lanes, &t->args, &t->request)) abort();
        posted++;
    }
    for (int i = posted - 1; i >= 0; i--) { /* against the order of posting */
        trial *t = &trials[i];
        tutti_status status = tutti_coll_wait(comm, t->request, timeout_s);
        if (status) abort(); /* the others would wait for ever */
        tutti_coll_free(t->request);
        *failures += verify(t, rank, P);
    }
    return posted;
}

int cases_run(tutti_comm *comm)
{
    int failures = 0;
    for (int n = 0, posted = 1; posted; n += posted) posted = run_some(comm, n, &failures);
    return failures;
}

static void call(tutti_comm *comm, const tutti_coll_args *args)
{
    tutti_coll_request *request;
    if (tutti_coll_post(comm, 0, args, &request)) abort();
    if (tutti_coll_wait(comm, request, timeout_s)) abort();
    tutti_coll_free(request);
}

int cases_same_bits(tutti_comm *comm, uint64_t seed)
{
    static const int64_t counts[] = {3, 1000, 30011};
    int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm), failures = 0;
    for (int c = 0; c < 3; c++) {
        int64_t n = counts[c];
        float *x = tutti_mem_aligned((size_t)n * sizeof *x);
        float *all = tutti_mem_aligned((size_t)P * (size_t)n * sizeof *all);
        for (int op = 0; op < TUTTI_REDUCE_OPS; op++) {
            for (int64_t i = 0; i < n; i++)
                x[i] = (float)tutti_rng_normal(seed, (uint64_t)rank, (uint64_t)i);
            x[0] = rank % 2 ? -0.0f : 0.0f;
            const tutti_coll_args sum = {.op = (tutti_reduce_op)op, .count = n, .recv = x};
            call(comm, &sum);
            const tutti_coll_args show = {
                .kind = TUTTI_ALLGATHER, .count = n, .send = x, .recv = all};
            call(comm, &show);
            int differ = 0;
            for (int r = 0; r < P; r++)
                differ += memcmp(x, all + r * n, (size_t)n * sizeof *x) != 0;
            if (differ)
                printf("rank %d of %d: %s of %lld: %d ranks hold other bits\n", rank, P,
                    tutti_reduce_op_name((tutti_reduce_op)op), (long long)n, differ);
            failures += differ;
        }
        free(x);
        free(all);
    }
    return failures;
}
