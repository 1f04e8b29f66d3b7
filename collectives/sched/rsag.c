#include "collectives/sched/rsag.h"

#include "collectives/sched/fold.h"

/* Blocks [from, to) of count elements dealt to P2. */
typedef struct span {
    int64_t offset, length;
} span;

static span blocks(int64_t count, int P2, int from, int to)
{
    int64_t begin, last, length;
    tutti_coll_block(count, P2, from, &begin, &length);
    tutti_coll_block(count, P2, to - 1, &last, &length);
    return (span){begin, last + length - begin};
}

/* The 2 * half blocks around `number`, split: the half that it keeps and the half that it gives
 * away. */
static void split(const tutti_fold *fold, int half, int64_t count, span *keep, span *give)
{
    int from = fold->number / (2 * half) * (2 * half);
    int upper = (fold->number & half) != 0;
    *keep = blocks(count, fold->P2, from + upper * half, from + upper * half + half);
    *give = blocks(count, fold->P2, from + !upper * half, from + !upper * half + half);
}

static void halve(const tutti_fold *fold, tutti_sched_draft *draft, int64_t count)
{
    for (int half = fold->P2 / 2; half >= 1; half /= 2) {
        int other = fold->number ^ half, peer = tutti_fold_rank(fold, other);
        span keep, give;
        split(fold, half, count, &keep, &give);
        tutti_spot arrived = tutti_scratch(keep.offset);
        tutti_sched_recv(draft, peer, arrived, keep.length);
        tutti_sched_send(draft, peer, tutti_out(give.offset), give.length);
        tutti_sched_reduce(
            draft, tutti_out(keep.offset), arrived, keep.length, other < fold->number);
    }
}

static void redouble(const tutti_fold *fold, tutti_sched_draft *draft, int64_t count)
{
    for (int half = 1; half < fold->P2; half *= 2) {
        int peer = tutti_fold_rank(fold, fold->number ^ half);
        span have, miss;
        split(fold, half, count, &have, &miss);
        tutti_sched_recv(draft, peer, tutti_out(miss.offset), miss.length);
        tutti_sched_send(draft, peer, tutti_out(have.offset), have.length);
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
        halve(&fold, draft, shape->count);
        redouble(&fold, draft, shape->count);
    }
    tutti_fold_out(&fold, draft, shape->count);
    return tutti_sched_end(draft, sched);
}
