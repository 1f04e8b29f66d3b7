#include "collectives/sched/blocks.h"

/* Received segments use a few places in turn: they are combined while they are in the cache, and blocks
 * are not all in memory at once. There are LEAST_TURNS places for each rank, or more if they fit into a
 * cache (CACHED elements). */
enum { CACHED = 32 * 15360, LEAST_TURNS = 2 };

tutti_blocks tutti_blocks_of(tutti_sched_draft *draft, const tutti_sched_shape *shape)
{
    return (tutti_blocks){.draft = draft,
        .shape = shape,
        .n = shape->P,
        .owners = shape->P,
        .own = shape->rank,
        .takes = 1,
        .total = shape->count};
}

static int rank_of(const tutti_blocks *b, int number)
{
    return b->ranks ? b->ranks[number] : number;
}

static int64_t block_of(const tutti_blocks *b, int owner, int64_t *at)
{
    int64_t length = 0;
    *at = 0;
    if (owner < b->owners) tutti_coll_block(b->total, b->owners, owner, at, &length);
    *at += b->at;
    return length;
}

/* Segment g of an owner's block; 0 elements: it does not exist. */
static int64_t segment_of(const tutti_blocks *b, int owner, int64_t g, int64_t *at)
{
    int64_t from, length = block_of(b, owner, at);
    if (g >= tutti_sched_segments(length, b->shape->segment)) return 0;
    length = tutti_sched_segment(length, b->shape->segment, g, &from);
    *at += from;
    return length;
}

/* The first block is the longest. */
static int64_t most_segments(const tutti_blocks *b)
{
    int64_t ignored;
    return tutti_sched_segments(block_of(b, 0, &ignored), b->shape->segment);
}

static void size_places(tutti_blocks *b)
{
    int64_t ignored, own = block_of(b, b->own, &ignored);
    int64_t segments = tutti_sched_segments(own, b->shape->segment);
    b->place = segment_of(b, b->own, 0, &ignored);
    b->turns = b->place ? CACHED / (b->n * b->place) : 1;
    if (b->turns < LEAST_TURNS) b->turns = LEAST_TURNS;
    if (b->turns > segments) b->turns = segments;
}

/* Where segment g of this rank's block arrives from rank number `from`. */
static tutti_spot arrival_spot(const tutti_blocks *b, int from, int64_t g)
{
    int other = from < b->own ? from : from - 1;
    return tutti_scratch((g % b->turns * (b->n - 1) + other) * b->place);
}

/* Where this rank's vector lies, or its combined vectors. */
static tutti_spot input_at(const tutti_blocks *b, int64_t at)
{
    int in_out = !b->takes || b->shape->in_place || b->shape->extras;
    return in_out ? tutti_out(at) : tutti_in(at);
}

/* Combines this rank's vectors in OUT, n elements from `at` on. Its accumulators, if any, follow those of
 * combine_wide. */
static void combine_vectors(const tutti_blocks *b, int64_t at, int64_t n)
{
    if (!b->takes || !b->shape->extras) return;
    if (b->shape->wide)
        tutti_sched_take_wide(b->draft, tutti_wide(b->turns * b->place), at, n);
    else
        tutti_sched_take(b->draft, at, n);
}

/* Combines segment g in OUT, n elements from `at` on. The ranks before this one are combined first, in
 * the place where the first one's segment has arrived. */
static void combine_rounded(const tutti_blocks *b, int64_t g, int64_t at, int64_t n)
{
    if (input_at(b, at).space == TUTTI_SPACE_IN)
        tutti_sched_copy(b->draft, tutti_out(at), tutti_in(at), n);
    for (int q = 1; q < b->own; q++)
        tutti_sched_reduce(b->draft, arrival_spot(b, 0, g), arrival_spot(b, q, g), n, 0);
    if (b->own) tutti_sched_reduce(b->draft, tutti_out(at), arrival_spot(b, 0, g), n, 1);
    for (int q = b->own + 1; q < b->n; q++)
        tutti_sched_reduce(b->draft, tutti_out(at), arrival_spot(b, q, g), n, 0);
}

/* The same in accumulators: only the last copy rounds. */
static void combine_wide(const tutti_blocks *b, int64_t g, int64_t at, int64_t n)
{
    tutti_spot sum = tutti_wide(g % b->turns * b->place);
    for (int q = 0; q < b->n; q++) {
        tutti_spot from = q == b->own ? input_at(b, at) : arrival_spot(b, q, g);
        if (q)
            tutti_sched_reduce(b->draft, sum, from, n, 0);
        else
            tutti_sched_copy(b->draft, sum, from, n);
    }
    tutti_sched_copy(b->draft, tutti_out(at), sum, n);
}

void tutti_blocks_reduce_scatter(tutti_blocks *b)
{
    size_places(b);
    for (int64_t g = 0, at; g < most_segments(b); g++) {
        for (int round = 1; round < b->n; round++) {
            int next = (b->own + round) % b->n, before = (b->own + b->n - round) % b->n;
            int64_t n = segment_of(b, b->own, g, &at);
            if (n) tutti_sched_recv(b->draft, rank_of(b, before), arrival_spot(b, before, g), n);
            n = segment_of(b, next, g, &at);
            combine_vectors(b, at, n);
            tutti_sched_send(b->draft, rank_of(b, next), input_at(b, at), n);
        }
        int64_t own = segment_of(b, b->own, g, &at);
        combine_vectors(b, at, own);
        if (own) (b->shape->wide && b->n > 1 ? combine_wide : combine_rounded)(b, g, at, own);
    }
}

void tutti_blocks_allgather(const tutti_blocks *b)
{
    for (int64_t g = 0, at; g < most_segments(b); g++)
        for (int round = 1; round < b->n; round++) {
            int next = (b->own + round) % b->n, before = (b->own + b->n - round) % b->n;
            int64_t n = segment_of(b, before, g, &at);
            tutti_sched_recv(b->draft, rank_of(b, before), tutti_out(at), n);
            n = segment_of(b, b->own, g, &at);
            tutti_sched_send(b->draft, rank_of(b, next), tutti_out(at), n);
        }
}
