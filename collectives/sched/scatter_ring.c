#include "collectives/sched/scatter_ring.h"

#include "collectives/sched/ring_parts.h"

/* The ring that begins at the root. */
static tutti_ring ring_from_root(tutti_sched_draft *draft, const tutti_sched_shape *shape)
{
    tutti_ring r = tutti_ring_of(draft, shape);
    r.rank = (shape->rank - shape->root + shape->P) % shape->P;
    return r;
}

static int rank_of(const tutti_sched_shape *shape, int v)
{
    return (v + shape->root) % shape->P;
}

/* Blocks v to the last below end; returns their length. */
static int64_t blocks_of(const tutti_sched_shape *shape, int v, int end, int64_t *at)
{
    int64_t last, length;
    tutti_coll_block(shape->count, shape->P, v, at, &length);
    tutti_coll_block(shape->count, shape->P, end - 1, &last, &length);
    return last + length - *at;
}

static void append_scatter(const tutti_sched_shape *shape, tutti_sched_draft *draft, int v)
{
    int P = shape->P, bit = 1;
    int64_t at;
    while (bit < P && !(v & bit)) bit *= 2;
    if (v) {
        int64_t n = blocks_of(shape, v, v + bit < P ? v + bit : P, &at);
        tutti_sched_recv_segments(draft, rank_of(shape, v - bit), tutti_out(at), n);
    }
    for (bit /= 2; bit; bit /= 2) {
        if (v + bit >= P) continue;
        int64_t n = blocks_of(shape, v + bit, v + 2 * bit < P ? v + 2 * bit : P, &at);
        tutti_sched_send_segments(draft, rank_of(shape, v + bit), tutti_out(at), n);
    }
}

tutti_status tutti_sched_scatter_ring_broadcast(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    const tutti_ring r = ring_from_root(draft, shape);
    append_scatter(shape, draft, r.rank);
    tutti_ring_allgather(&r);
    return tutti_sched_end(draft, sched);
}

static void append_gather(const tutti_sched_shape *shape, tutti_sched_draft *draft, int own)
{
    int64_t at;
    for (int v = 1; v < shape->P; v++) {
        int64_t n = blocks_of(shape, v, v + 1, &at);
        if (v == own) tutti_sched_send_segments(draft, shape->root, tutti_out(at), n);
        if (!own) tutti_sched_recv_segments(draft, rank_of(shape, v), tutti_out(at), n);
    }
}

tutti_status tutti_sched_scatter_ring_reduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_ring r = ring_from_root(draft, shape);
    tutti_ring_reduce_scatter(&r);
    append_gather(shape, draft, r.rank);
    return tutti_sched_end(draft, sched);
}
