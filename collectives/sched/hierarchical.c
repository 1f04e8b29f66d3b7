#include "collectives/sched/hierarchical.h"

#include "collectives/sched/blocks.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/ring_parts.h"
#include "dag/base/log.h"

#include <stdlib.h>

static int host_of(const tutti_sched_shape *shape, int rank)
{
    return shape->host ? shape->host[rank] : 0;
}

/* A rank's number among those of its machine. */
static int number_of(const tutti_sched_shape *shape, int rank)
{
    int number = 0;
    for (int r = 0; r < rank; r++) number += host_of(shape, r) == host_of(shape, rank);
    return number;
}

/* The ranks of this machine, and those with the same number on all machines. */
typedef struct levels {
    int *local, locals; /* in the order of ranks */
    int *across, machines;
    int least; /* ranks of any machine */
    int own;   /* this rank's number in its machine */
} levels;

static tutti_status find_levels(const tutti_sched_shape *shape, levels *l)
{
    size_t P = (size_t)shape->P + 1;
    int *numbers = malloc(P * sizeof *numbers);
    *l = (levels){.local = malloc(P * sizeof *l->local),
        .across = malloc(P * sizeof *l->across),
        .least = shape->P,
        .own = number_of(shape, shape->rank)};
    if (!numbers || !l->local || !l->across) {
        free(numbers);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
    }
    for (int r = 0; r < shape->P; r++) {
        numbers[r] = number_of(shape, r);
        if (host_of(shape, r) == host_of(shape, shape->rank)) l->local[l->locals++] = r;
    }
    for (int r = 0; r < shape->P; r++) {
        int ranks = 0;
        for (int q = 0; q < shape->P; q++) ranks += host_of(shape, q) == host_of(shape, r);
        if (ranks < l->least) l->least = ranks;
        if (numbers[r] == l->own) l->across[l->machines++] = r;
    }
    free(numbers);
    return TUTTI_OK;
}

static tutti_ring ring_among(
    tutti_sched_draft *draft, const tutti_sched_shape *shape, const int ranks[], int n, int own)
{
    tutti_ring r = tutti_ring_of(draft, shape);
    r.rank = own;
    r.P = n;
    r.to = ranks[(own + 1) % n];
    r.from = ranks[(own + n - 1) % n];
    r.takes = 0;
    return r;
}

static int find_rank(const int ranks[], int rank)
{
    int i = 0;
    while (ranks[i] != rank) i++;
    return i;
}

/* Further ranks give their vectors to one of the first L of their machine, in turn. */
static void append_gifts(const tutti_sched_shape *shape, tutti_sched_draft *draft, const levels *l)
{
    for (int i = l->least; i < l->locals; i++) {
        int to = i % l->least;
        for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
            int64_t n = tutti_sched_segment(shape->count, shape->segment, g, &at);
            if (i == l->own) tutti_sched_send(draft, l->local[to], tutti_out(at), n);
            if (to != l->own) continue;
            tutti_spot arrived = tutti_scratch(g % 2 * n);
            tutti_sched_recv(draft, l->local[i], arrived, n);
            tutti_sched_reduce(draft, tutti_out(at), arrived, n, 0);
        }
    }
}

static void append_results(
    const tutti_sched_shape *shape, tutti_sched_draft *draft, const levels *l)
{
    for (int i = l->least; i < l->locals; i++) {
        int from = i % l->least;
        if (from == l->own)
            tutti_sched_send_segments(draft, l->local[i], tutti_out(0), shape->count);
        if (i == l->own)
            tutti_sched_recv_segments(draft, l->local[from], tutti_out(0), shape->count);
    }
}

static void append_rings(const tutti_sched_shape *shape, tutti_sched_draft *draft, const levels *l)
{
    tutti_ring inside = ring_among(draft, shape, l->local, l->least, l->own);
    tutti_ring across =
        ring_among(draft, shape, l->across, l->machines, find_rank(l->across, shape->rank));
    inside.takes = l->locals == l->least;
    tutti_coll_block(shape->count, l->least, l->own, &across.at, &across.total);
    tutti_ring_reduce_scatter(&inside);
    tutti_ring_reduce_scatter(&across);
    tutti_ring_allgather(&across);
    tutti_ring_allgather(&inside);
}

/* ---- with accumulators ---- */

static tutti_blocks blocks_among(tutti_sched_draft *draft, const tutti_sched_shape *shape,
    const int ranks[], int n, int owners, int own)
{
    tutti_blocks b = tutti_blocks_of(draft, shape);
    b.ranks = ranks;
    b.n = n;
    b.owners = owners;
    b.own = own;
    b.takes = 0;
    return b;
}

/* The input, with the sum of this rank's vectors, which is rounded once. */
static void append_input(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    if (!shape->extras) {
        tutti_sched_take_input(draft, 0);
        return;
    }
    for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
        int64_t n = tutti_sched_segment(shape->count, shape->segment, g, &at);
        tutti_sched_take_wide(draft, tutti_wide(0), at, n);
    }
}

static void append_wide(const tutti_sched_shape *shape, tutti_sched_draft *draft, const levels *l)
{
    tutti_blocks inside = blocks_among(draft, shape, l->local, l->locals, l->least, l->own);
    append_input(shape, draft);
    tutti_blocks_reduce_scatter(&inside);
    if (l->own < l->least) {
        int own = find_rank(l->across, shape->rank);
        tutti_blocks across = blocks_among(draft, shape, l->across, l->machines, l->machines, own);
        tutti_coll_block(shape->count, l->least, l->own, &across.at, &across.total);
        tutti_blocks_reduce_scatter(&across);
        tutti_blocks_allgather(&across);
    }
    tutti_blocks_allgather(&inside);
}

static void append_rounded(
    const tutti_sched_shape *shape, tutti_sched_draft *draft, const levels *l)
{
    if (l->locals > l->least) tutti_sched_take_input(draft, 0);
    append_gifts(shape, draft, l);
    if (l->own < l->least) append_rings(shape, draft, l);
    append_results(shape, draft, l);
}

tutti_status tutti_sched_hierarchical_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    levels l;
    tutti_status status = find_levels(shape, &l);
    if (!status) status = tutti_sched_begin(shape, &draft);
    if (!status) {
        (shape->wide ? append_wide : append_rounded)(shape, draft, &l);
        status = tutti_sched_end(draft, sched);
    }
    free(l.local);
    free(l.across);
    return status;
}

static tutti_status build_tree(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_forest *forest;
    tutti_status status = tutti_forest_new(shape->P, 1, &forest);
    if (status) return status;
    if (shape->host)
        status = tutti_tree_hosts(shape->P, shape->root, shape->host, forest->tree[0].parent);
    else
        tutti_tree_chain(shape->P, shape->root, 1, forest->tree[0].parent);
    if (!status) status = tutti_sched_along(shape, forest, sched);
    tutti_forest_free(forest);
    return status;
}

tutti_status tutti_sched_hierarchical_broadcast(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, sched);
}

tutti_status tutti_sched_hierarchical_reduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, sched);
}
