#include "collectives/sched/doubling.h"

#include "collectives/sched/fold.h"

/* The halves of scratch alternate: the next exchange's message may arrive while this one is reduced.
 * With a fold, the whole input has been taken before. */
static void append_rounds(
    const tutti_fold *fold, tutti_sched_draft *draft, const tutti_sched_shape *shape)
{
    int round = 0;
    for (int bit = 1; fold->number >= 0 && bit < fold->P2; bit *= 2, round++) {
        int other = fold->number ^ bit, peer = tutti_fold_rank(fold, other);
        for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
            int64_t n = tutti_sched_segment(shape->count, shape->segment, g, &at);
            tutti_spot arrived = tutti_scratch((round + 1) % 2 * shape->count + at);
            if (!round && !fold->R) tutti_sched_take(draft, at, n);
            tutti_sched_recv(draft, peer, arrived, n);
            tutti_sched_send(draft, peer, tutti_out(at), n);
            tutti_sched_reduce(draft, tutti_out(at), arrived, n, other < fold->number);
        }
    }
}

tutti_status tutti_sched_doubling_allreduce(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_fold fold = tutti_fold_of(shape->rank, shape->P);
    if (fold.R || shape->P == 1) tutti_sched_take_input(draft, 0);
    tutti_fold_in(&fold, draft, shape->count);
    append_rounds(&fold, draft, shape);
    tutti_fold_out(&fold, draft, shape->count);
    return tutti_sched_end(draft, sched);
}
