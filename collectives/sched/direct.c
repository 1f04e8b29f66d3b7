#include "collectives/sched/direct.h"

/* Where this rank's input lies: its parts, or its combined vectors. */
static tutti_spot input_at(const tutti_sched_shape *shape, int64_t offset)
{
    return shape->in_place || shape->extras ? tutti_out(offset) : tutti_in(offset);
}

/* An empty part is an empty message: if the ranks disagree about it, a message of an unexpected
 * length arrives, and none is left over for a later collective. */
static void send_part(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count)
{
    if (count)
        tutti_sched_send_segments(draft, peer, src, count);
    else
        tutti_sched_send_checked(draft, peer, src, 0);
}

static void recv_part(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count)
{
    if (count)
        tutti_sched_recv_segments(draft, peer, dst, count);
    else
        tutti_sched_recv_checked(draft, peer, dst, 0);
}

static void append_gather(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    int64_t at, length = tutti_sched_part(shape, shape->rank, &at);
    if (shape->rank != shape->root) {
        tutti_spot own = input_at(shape, shape->in_place ? at : 0);
        send_part(draft, shape->root, own, length);
        return;
    }
    tutti_sched_take_input(draft, at);
    for (int round = 1; round < shape->P; round++) {
        int peer = (shape->rank + round) % shape->P;
        length = tutti_sched_part(shape, peer, &at);
        recv_part(draft, peer, tutti_out(at), length);
    }
}

static void append_scatter(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    int64_t at, length = tutti_sched_part(shape, shape->rank, &at);
    tutti_spot own = tutti_out(shape->in_place ? at : 0);
    if (shape->rank != shape->root) {
        recv_part(draft, shape->root, own, length);
        return;
    }
    if (!shape->in_place) tutti_sched_copy_segments(draft, own, tutti_in(at), length);
    for (int round = 1; round < shape->P; round++) {
        int peer = (shape->rank + round) % shape->P;
        length = tutti_sched_part(shape, peer, &at);
        send_part(draft, peer, input_at(shape, at), length);
    }
}

/* With counts, there is one message per pair of ranks, whatever its length: no rank knows all counts. */
static void append_exchange(const tutti_sched_shape *shape, tutti_sched_draft *draft, int before,
    tutti_spot to, int64_t arriving, int next, tutti_spot from, int64_t leaving)
{
    if (shape->counts) {
        tutti_sched_recv_checked(draft, before, to, arriving);
        tutti_sched_send_checked(draft, next, from, leaving);
    } else {
        tutti_sched_recv_segments(draft, before, to, arriving);
        tutti_sched_send_segments(draft, next, from, leaving);
    }
}

/* In place, outgoing parts are copied first, because incoming ones overwrite them. */
static void append_alltoall(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    int P = shape->P;
    const int64_t *arriving = shape->counts ? shape->counts + P : NULL;
    int64_t at, to, length = tutti_sched_part(shape, shape->rank, &at);
    tutti_space from = shape->in_place ? TUTTI_SPACE_SCRATCH : TUTTI_SPACE_IN;
    if (shape->in_place) {
        for (int r = 0; r < P; r++) {
            int64_t part, n = tutti_sched_part(shape, r, &part);
            if (r == shape->rank) continue;
            tutti_sched_copy_segments(draft, tutti_scratch(part), tutti_out(part), n);
        }
    } else {
        tutti_coll_part(arriving, shape->count, shape->rank, &to);
        tutti_sched_copy_segments(draft, tutti_out(to), tutti_in(at), length);
    }
    for (int round = 1; round < P; round++) {
        int next = (shape->rank + round) % P, before = (shape->rank + P - round) % P;
        length = tutti_coll_part(arriving, shape->count, before, &to);
        int64_t leaving = tutti_sched_part(shape, next, &at);
        append_exchange(
            shape, draft, before, tutti_out(to), length, next, (tutti_spot){from, at}, leaving);
    }
}

/* ---- reduce-scatter and allreduce ---- */

/* Received segments use a few places in turn: they are combined while they are in the cache, and blocks
 * are not all in memory at once. There are LEAST_TURNS places for each rank, or more if they fit into a
 * cache (CACHED elements). */
enum { CACHED = 32 * 15360, LEAST_TURNS = 2 };

typedef struct reduction {
    tutti_sched_draft *draft;
    const tutti_sched_shape *shape;
    int64_t place, turns; /* elements of a place; places for each of the other ranks */
} reduction;

static reduction reduction_of(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    reduction r = {.draft = draft, .shape = shape};
    int64_t ignored, own;
    tutti_coll_block(shape->count, shape->P, shape->rank, &ignored, &own);
    int64_t segments = tutti_sched_segments(own, shape->segment);
    if (!segments) return r;
    r.place = tutti_sched_segment(own, shape->segment, 0, &ignored);
    r.turns = CACHED / (shape->P * r.place);
    if (r.turns < LEAST_TURNS) r.turns = LEAST_TURNS;
    if (r.turns > segments) r.turns = segments;
    return r;
}

/* Segment g of a rank's block; 0 elements: it does not exist. */
static int64_t segment_of(const tutti_sched_shape *shape, int rank, int64_t g, int64_t *at)
{
    int64_t length, from;
    tutti_coll_block(shape->count, shape->P, rank, at, &length);
    if (g >= tutti_sched_segments(length, shape->segment)) return 0;
    length = tutti_sched_segment(length, shape->segment, g, &from);
    *at += from;
    return length;
}

/* The first block is the longest. */
static int64_t most_segments(const tutti_sched_shape *shape)
{
    int64_t ignored, longest;
    tutti_coll_block(shape->count, shape->P, 0, &ignored, &longest);
    return tutti_sched_segments(longest, shape->segment);
}

/* Where segment g from rank q arrives. */
static tutti_spot arrival_spot(const reduction *r, int q, int64_t g)
{
    int other = q < r->shape->rank ? q : q - 1;
    return tutti_scratch((g % r->turns * (r->shape->P - 1) + other) * r->place);
}

/* Combines this rank's vectors in OUT, n elements from `at` on. Its accumulators, if any, follow those of
 * combine_segment_wide. */
static void combine_vectors(const reduction *r, int64_t at, int64_t n)
{
    const tutti_sched_shape *shape = r->shape;
    tutti_spot sum = tutti_wide(r->turns * r->place);
    if (!shape->extras) return;
    if (!shape->wide) {
        tutti_sched_take(r->draft, at, n);
        return;
    }
    tutti_sched_copy(r->draft, sum, shape->in_place ? tutti_out(at) : tutti_in(at), n);
    for (int k = 0; k < shape->extras; k++)
        tutti_sched_reduce(r->draft, sum, tutti_extra(k * shape->count + at), n, 0);
    tutti_sched_copy(r->draft, tutti_out(at), sum, n);
}

/* Combines segment g in OUT, n elements from `at` on. The ranks before this one are combined first, in
 * the place where rank 0's segment has arrived. */
static void combine_segment(const reduction *r, int64_t g, int64_t at, int64_t n)
{
    int rank = r->shape->rank;
    if (input_at(r->shape, at).space == TUTTI_SPACE_IN)
        tutti_sched_copy(r->draft, tutti_out(at), tutti_in(at), n);
    for (int q = 1; q < rank; q++)
        tutti_sched_reduce(r->draft, arrival_spot(r, 0, g), arrival_spot(r, q, g), n, 0);
    if (rank) tutti_sched_reduce(r->draft, tutti_out(at), arrival_spot(r, 0, g), n, 1);
    for (int q = rank + 1; q < r->shape->P; q++)
        tutti_sched_reduce(r->draft, tutti_out(at), arrival_spot(r, q, g), n, 0);
}

/* The same in accumulators: only the last copy rounds. */
static void combine_segment_wide(const reduction *r, int64_t g, int64_t at, int64_t n)
{
    tutti_spot sum = tutti_wide(g % r->turns * r->place);
    for (int q = 0; q < r->shape->P; q++) {
        tutti_spot from = q == r->shape->rank ? input_at(r->shape, at) : arrival_spot(r, q, g);
        if (q)
            tutti_sched_reduce(r->draft, sum, from, n, 0);
        else
            tutti_sched_copy(r->draft, sum, from, n);
    }
    tutti_sched_copy(r->draft, tutti_out(at), sum, n);
}

/* Afterwards this rank's block of OUT is the result. */
static void append_reduce_scatter(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    const reduction r = reduction_of(shape, draft);
    int P = shape->P, wide = shape->wide && P > 1;
    for (int64_t g = 0, at; g < most_segments(shape); g++) {
        for (int round = 1; round < P; round++) {
            int next = (shape->rank + round) % P, before = (shape->rank + P - round) % P;
            int64_t n = segment_of(shape, shape->rank, g, &at);
            if (n) tutti_sched_recv(draft, before, arrival_spot(&r, before, g), n);
            n = segment_of(shape, next, g, &at);
            combine_vectors(&r, at, n);
            tutti_sched_send(draft, next, input_at(shape, at), n);
        }
        int64_t own = segment_of(shape, shape->rank, g, &at);
        combine_vectors(&r, at, own);
        if (own) (wide ? combine_segment_wide : combine_segment)(&r, g, at, own);
    }
}

static void append_allreduce(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    append_reduce_scatter(shape, draft);
    for (int64_t g = 0, at; g < most_segments(shape); g++) {
        for (int round = 1; round < shape->P; round++) {
            int next = (shape->rank + round) % shape->P;
            int before = (shape->rank + shape->P - round) % shape->P;
            int64_t n = segment_of(shape, before, g, &at);
            tutti_sched_recv(draft, before, tutti_out(at), n);
            n = segment_of(shape, shape->rank, g, &at);
            tutti_sched_send(draft, next, tutti_out(at), n);
        }
    }
}

static tutti_status build_schedule(const tutti_sched_shape *shape,
    void (*append)(const tutti_sched_shape *shape, tutti_sched_draft *draft), tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    append(shape, draft);
    return tutti_sched_end(draft, sched);
}

tutti_status tutti_sched_direct_gather(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_schedule(shape, append_gather, sched);
}

tutti_status tutti_sched_direct_scatter(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_schedule(shape, append_scatter, sched);
}

tutti_status tutti_sched_direct_alltoall(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_schedule(shape, append_alltoall, sched);
}

tutti_status tutti_sched_direct_reduce_scatter(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_schedule(shape, append_reduce_scatter, sched);
}

tutti_status tutti_sched_direct_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_schedule(shape, append_allreduce, sched);
}
