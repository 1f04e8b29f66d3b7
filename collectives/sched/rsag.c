#include "collectives/sched/rsag.h"

#include "collectives/sched/fold.h"

/* Where blocks [from, to) lie, when count elements are divided into P2. */
typedef struct span {
    int64_t offset, length;
} span;

static span span_of(int64_t count, int P2, int from, int to)
{
    int64_t begin, last, length;
    tutti_coll_block(count, P2, from, &begin, &length);
    tutti_coll_block(count, P2, to - 1, &last, &length);
    return (span){begin, last + length - begin};
}

/* Splits the 2 * half blocks around `number` into the half that it keeps and the half that it gives
 * away. */
static void split_span(const tutti_fold *fold, int half, int64_t count, span *keep, span *give)
{
    int from = fold->number / (2 * half) * (2 * half);
    int upper = (fold->number & half) != 0;
    *keep = span_of(count, fold->P2, from + upper * half, from + upper * half + half);
    *give = span_of(count, fold->P2, from + !upper * half, from + !upper * half + half);
}

/* A rank's exchanges with one other. */
typedef struct pair {
    tutti_sched_draft *draft;
    int64_t segment;
    int peer;
    int first; /* the peer's number is the lower one: its values come first */
} pair;

static pair pair_at(
    const tutti_fold *fold, tutti_sched_draft *draft, const tutti_sched_shape *shape, int bit)
{
    int other = fold->number ^ bit;
    return (pair){draft, shape->segment, tutti_fold_rank(fold, other), other < fold->number};
}

static void reduce_span(const pair *p, span sum)
{
    for (int64_t g = 0, at; g < tutti_sched_segments(sum.length, p->segment); g++) {
        int64_t n = tutti_sched_segment(sum.length, p->segment, g, &at);
        at += sum.offset;
        tutti_sched_reduce(p->draft, tutti_out(at), tutti_scratch(at), n, p->first);
    }
}

static void append_halving(
    const tutti_fold *fold, tutti_sched_draft *draft, const tutti_sched_shape *shape)
{
    for (int half = fold->P2 / 2; half >= 1; half /= 2) {
        const pair p = pair_at(fold, draft, shape, half);
        span keep, give;
        split_span(fold, half, shape->count, &keep, &give);
        tutti_sched_recv_segments(draft, p.peer, tutti_scratch(keep.offset), keep.length);
        tutti_sched_send_segments(draft, p.peer, tutti_out(give.offset), give.length);
        reduce_span(&p, keep);
    }
}

static void append_doubling(
    const tutti_fold *fold, tutti_sched_draft *draft, const tutti_sched_shape *shape)
{
    for (int half = 1; half < fold->P2; half *= 2) {
        const pair p = pair_at(fold, draft, shape, half);
        span have, miss;
        split_span(fold, half, shape->count, &have, &miss);
        tutti_sched_recv_segments(draft, p.peer, tutti_out(miss.offset), miss.length);
        tutti_sched_send_segments(draft, p.peer, tutti_out(have.offset), have.length);
    }
}

tutti_status tutti_sched_rsag_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_fold fold = tutti_fold_of(shape->rank, shape->P);
    tutti_sched_take_input(draft, 0);
    tutti_fold_in(&fold, draft, shape->count);
    if (fold.number >= 0) {
        append_halving(&fold, draft, shape);
        append_doubling(&fold, draft, shape);
    }
    tutti_fold_out(&fold, draft, shape->count);
    return tutti_sched_end(draft, sched);
}
