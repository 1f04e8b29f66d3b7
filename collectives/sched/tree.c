#include "collectives/sched/tree.h"

typedef struct tree {
    tutti_sched_draft *draft;
    int v, P, root;
    int64_t count;
} tree;

static int rank_of(const tree *t, int v)
{
    return (v + t->root) % t->P;
}

/* The lowest set bit of v; for the root, the lowest power of two that is at least P. Children are
 * at the lower bits. */
static int top_bit(const tree *t)
{
    int bit = 1;
    while (bit < t->P && !(t->v & bit)) bit *= 2;
    return bit;
}

static void broadcast_segment(const tree *t, int64_t at, int64_t n)
{
    int top = top_bit(t);
    if (t->v) tutti_sched_recv(t->draft, rank_of(t, t->v - top), tutti_out(at), n);
    for (int bit = top / 2; bit >= 1; bit /= 2)
        if (t->v + bit < t->P) tutti_sched_send(t->draft, rank_of(t, t->v + bit), tutti_out(at), n);
}

/* Children alternate between the two halves of scratch: one arrives while the other is reduced. */
static void reduce_segment(const tree *t, int64_t at, int64_t n)
{
    int top = top_bit(t), round = 0;
    for (int bit = 1; bit < top && t->v + bit < t->P; bit *= 2, round++) {
        tutti_spot arrived = tutti_scratch(round % 2 * t->count + at);
        tutti_sched_recv(t->draft, rank_of(t, t->v + bit), arrived, n);
        tutti_sched_reduce(t->draft, tutti_out(at), arrived, n, 0);
    }
    if (t->v) tutti_sched_send(t->draft, rank_of(t, t->v - top), tutti_out(at), n);
}

/* Sends the result from the tree's root to the collective's. */
static void send_to_root(const tree *t, const tutti_sched_shape *shape, int64_t at, int64_t n)
{
    if (shape->rank == t->root) tutti_sched_send(t->draft, shape->root, tutti_out(at), n);
    if (shape->rank == shape->root) tutti_sched_recv(t->draft, t->root, tutti_out(at), n);
}

/* Appends the given phases for one segment after the other. */
static tutti_status build_tree(
    const tutti_sched_shape *shape, int root, int reduces, int broadcasts, tutti_sched **sched)
{
    tree t = {.v = (shape->rank - root + shape->P) % shape->P,
        .P = shape->P,
        .root = root,
        .count = shape->count};
    tutti_status status = tutti_sched_begin(shape, &t.draft);
    if (status) return status;
    for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
        int64_t n = tutti_sched_segment(shape->count, shape->segment, g, &at);
        if (reduces) tutti_sched_take(t.draft, at, n);
        if (reduces) reduce_segment(&t, at, n);
        if (broadcasts) broadcast_segment(&t, at, n);
        if (reduces && !broadcasts && root != shape->root) send_to_root(&t, shape, at, n);
    }
    return tutti_sched_end(t.draft, sched);
}

tutti_status tutti_sched_tree_broadcast(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, shape->root, 0, 1, sched);
}

tutti_status tutti_sched_tree_reduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, shape->ordered ? 0 : shape->root, 1, 0, sched);
}

tutti_status tutti_sched_tree_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, 0, 1, 1, sched);
}
