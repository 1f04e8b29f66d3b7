#include "collectives/sched/ring.h"

/* Places for segments that have arrived and are not yet reduced: a cache's worth, 4 to 32 of
 * them. */
enum { CACHED = 32 * 15360, LEAST_PLACES = 4, MOST_PLACES = 32 };

typedef struct ring {
    tutti_sched_draft *draft;
    int rank, P, to, from;
    /* elements of OUT, which is divided into P blocks; elements of a segment */
    int64_t total, segment;
    const int64_t *counts; /* of the blocks; NULL: blocks differ by at most one element */
    int64_t place, places; /* elements of a place in scratch; the number of places */
    int64_t arrivals;      /* messages that took one */
} ring;

static int64_t places_for(int64_t segment)
{
    int64_t places = CACHED / segment;
    return places < LEAST_PLACES ? LEAST_PLACES : places > MOST_PLACES ? MOST_PLACES : places;
}

static tutti_status begin_ring(const tutti_sched_shape *shape, ring *r)
{
    *r = (ring){.rank = shape->rank, .P = shape->P, .segment = shape->segment};
    r->to = (r->rank + 1) % r->P;
    r->from = (r->rank + r->P - 1) % r->P;
    r->counts = shape->counts;
    r->total = shape->kind == TUTTI_ALLGATHER ? shape->count * shape->P : shape->count;
    int64_t ignored, largest; /* of reduced blocks, which have no counts */
    tutti_coll_block(r->total, r->P, 0, &ignored, &largest);
    int pipelines = r->segment > 0 && r->segment < largest;
    r->place = pipelines ? r->segment : largest;
    r->places = pipelines ? places_for(r->segment) : 2;
    return tutti_sched_begin(shape, &r->draft);
}

/* The block `back` places before this rank's. */
static int64_t block_of(const ring *r, int back, int64_t *offset)
{
    int b = ((r->rank - back) % r->P + r->P) % r->P;
    if (r->counts) return tutti_coll_part(r->counts, 0, b, offset);
    int64_t length;
    tutti_coll_block(r->total, r->P, b, offset, &length);
    return length;
}

static void send_block(const ring *r, int back)
{
    int64_t at, from, length = block_of(r, back, &at);
    for (int64_t g = 0; g < tutti_sched_segments(length, r->segment); g++) {
        int64_t n = tutti_sched_segment(length, r->segment, g, &from);
        tutti_sched_send(r->draft, r->to, tutti_out(at + from), n);
    }
}

/* This rank's input of a block. */
static void take_block(const ring *r, int back)
{
    int64_t at, from, length = block_of(r, back, &at);
    for (int64_t g = 0; g < tutti_sched_segments(length, r->segment); g++) {
        int64_t n = tutti_sched_segment(length, r->segment, g, &from);
        tutti_sched_take(r->draft, at + from, n);
    }
}

/* Received segments use a few places in turn, so they are reduced while they are in the cache: a message
 * waits until the previous one in its place has been reduced. */
static void receive_and_reduce(ring *r, int back)
{
    int64_t at, from, length = block_of(r, back, &at);
    for (int64_t g = 0; g < tutti_sched_segments(length, r->segment); g++) {
        int64_t n = tutti_sched_segment(length, r->segment, g, &from);
        tutti_spot arrived = tutti_scratch(r->arrivals++ % r->places * r->place);
        tutti_sched_take(r->draft, at + from, n);
        tutti_sched_recv(r->draft, r->from, arrived, n);
        tutti_sched_reduce(r->draft, tutti_out(at + from), arrived, n, 0);
    }
}

static void receive_block(const ring *r, int back)
{
    int64_t at, from, length = block_of(r, back, &at);
    for (int64_t g = 0; g < tutti_sched_segments(length, r->segment); g++) {
        int64_t n = tutti_sched_segment(length, r->segment, g, &from);
        tutti_sched_recv(r->draft, r->from, tutti_out(at + from), n);
    }
}

static void append_reduce_scatter(ring *r)
{
    take_block(r, 1);
    for (int t = 0; t < r->P - 1; t++) {
        send_block(r, t + 1);
        receive_and_reduce(r, t + 2);
    }
}

static void append_allgather(const ring *r)
{
    for (int t = 0; t < r->P - 1; t++) {
        send_block(r, t);
        receive_block(r, t + 1);
    }
}

tutti_status tutti_sched_ring_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    ring r;
    tutti_status status = begin_ring(shape, &r);
    if (status) return status;
    append_reduce_scatter(&r);
    append_allgather(&r);
    return tutti_sched_end(r.draft, sched);
}

tutti_status tutti_sched_ring_reduce_scatter(const tutti_sched_shape *shape, tutti_sched **sched)
{
    ring r;
    tutti_status status = begin_ring(shape, &r);
    if (status) return status;
    append_reduce_scatter(&r);
    return tutti_sched_end(r.draft, sched);
}

tutti_status tutti_sched_ring_allgather(const tutti_sched_shape *shape, tutti_sched **sched)
{
    ring r;
    tutti_status status = begin_ring(shape, &r);
    if (status) return status;
    int64_t own;
    tutti_sched_part(shape, shape->rank, &own);
    tutti_sched_take_input(r.draft, own);
    append_allgather(&r);
    return tutti_sched_end(r.draft, sched);
}
