#include "collectives/sched/ring.h"

#include "collectives/sched/ring_parts.h"

/* Places for segments that have arrived and are not yet reduced: a cache's worth, 4 to 32 of
 * them. */
enum { CACHED = 32 * 15360, LEAST_PLACES = 4, MOST_PLACES = 32 };

static int64_t places_for(int64_t segment)
{
    int64_t places = CACHED / segment;
    return places < LEAST_PLACES ? LEAST_PLACES : places > MOST_PLACES ? MOST_PLACES : places;
}

tutti_ring tutti_ring_of(tutti_sched_draft *draft, const tutti_sched_shape *shape)
{
    int P = shape->P, rank = shape->rank;
    return (tutti_ring){.draft = draft,
        .rank = rank,
        .P = P,
        .to = (rank + 1) % P,
        .from = (rank + P - 1) % P,
        .takes = 1,
        .counts = shape->counts,
        .total = shape->kind == TUTTI_ALLGATHER ? shape->count * P : shape->count,
        .segment = shape->segment};
}

static void size_places(tutti_ring *r)
{
    int64_t ignored, largest; /* of reduced blocks, which have no counts */
    tutti_coll_block(r->total, r->P, 0, &ignored, &largest);
    int pipelines = r->segment > 0 && r->segment < largest;
    r->place = pipelines ? r->segment : largest;
    r->places = pipelines ? places_for(r->segment) : 2;
}

/* The block `back` places before this rank's. */
static int64_t block_of(const tutti_ring *r, int back, int64_t *offset)
{
    int b = ((r->rank - back) % r->P + r->P) % r->P;
    int64_t length;
    if (r->counts)
        length = tutti_coll_part(r->counts, 0, b, offset);
    else
        tutti_coll_block(r->total, r->P, b, offset, &length);
    *offset += r->at;
    return length;
}

static void send_block(const tutti_ring *r, int back)
{
    int64_t at, length = block_of(r, back, &at);
    tutti_sched_send_segments(r->draft, r->to, tutti_out(at), length);
}

/* This rank's input of a block. */
static void take_block(const tutti_ring *r, int back)
{
    int64_t at, from, length = block_of(r, back, &at);
    for (int64_t g = 0; g < tutti_sched_segments(length, r->segment); g++) {
        int64_t n = tutti_sched_segment(length, r->segment, g, &from);
        tutti_sched_take(r->draft, at + from, n);
    }
}

/* Received segments use a few places in turn, so they are reduced while they are in the cache: a message
 * waits until the previous one in its place has been reduced. */
static void receive_and_reduce(tutti_ring *r, int back)
{
    int64_t at, from, length = block_of(r, back, &at);
    for (int64_t g = 0; g < tutti_sched_segments(length, r->segment); g++) {
        int64_t n = tutti_sched_segment(length, r->segment, g, &from);
        tutti_spot arrived = tutti_scratch(r->arrivals++ % r->places * r->place);
        if (r->takes) tutti_sched_take(r->draft, at + from, n);
        tutti_sched_recv(r->draft, r->from, arrived, n);
        tutti_sched_reduce(r->draft, tutti_out(at + from), arrived, n, 0);
    }
}

static void receive_block(const tutti_ring *r, int back)
{
    int64_t at, length = block_of(r, back, &at);
    tutti_sched_recv_segments(r->draft, r->from, tutti_out(at), length);
}

void tutti_ring_reduce_scatter(tutti_ring *r)
{
    size_places(r);
    if (r->takes) take_block(r, 1);
    for (int t = 0; t < r->P - 1; t++) {
        send_block(r, t + 1);
        receive_and_reduce(r, t + 2);
    }
}

void tutti_ring_allgather(const tutti_ring *r)
{
    for (int t = 0; t < r->P - 1; t++) {
        send_block(r, t);
        receive_block(r, t + 1);
    }
}

tutti_status tutti_sched_ring_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_ring r = tutti_ring_of(draft, shape);
    tutti_ring_reduce_scatter(&r);
    tutti_ring_allgather(&r);
    return tutti_sched_end(draft, sched);
}

tutti_status tutti_sched_ring_reduce_scatter(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_ring r = tutti_ring_of(draft, shape);
    tutti_ring_reduce_scatter(&r);
    return tutti_sched_end(draft, sched);
}

tutti_status tutti_sched_ring_allgather(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    int64_t own;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_ring r = tutti_ring_of(draft, shape);
    tutti_sched_part(shape, shape->rank, &own);
    tutti_sched_take_input(draft, own);
    tutti_ring_allgather(&r);
    return tutti_sched_end(draft, sched);
}
