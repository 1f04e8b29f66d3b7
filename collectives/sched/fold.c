#include "collectives/sched/fold.h"

tutti_fold tutti_fold_of(int rank, int P)
{
    int P2 = 1;
    while (2 * P2 <= P) P2 *= 2;
    tutti_fold fold = {.rank = rank, .P2 = P2, .R = P - P2};
    if (rank >= 2 * fold.R)
        fold.number = rank - fold.R;
    else
        fold.number = rank % 2 ? rank / 2 : -1;
    return fold;
}

int tutti_fold_rank(const tutti_fold *fold, int number)
{
    return number < fold->R ? 2 * number + 1 : number + fold->R;
}

void tutti_fold_in(const tutti_fold *fold, tutti_sched_draft *draft, int64_t count)
{
    if (fold->rank >= 2 * fold->R) return;
    if (fold->number < 0) {
        tutti_sched_send(draft, fold->rank + 1, tutti_out(0), count);
    } else {
        tutti_sched_recv(draft, fold->rank - 1, tutti_scratch(0), count);
        tutti_sched_reduce(draft, tutti_out(0), tutti_scratch(0), count, 1);
    }
}

void tutti_fold_out(const tutti_fold *fold, tutti_sched_draft *draft, int64_t count)
{
    if (fold->rank >= 2 * fold->R) return;
    if (fold->number < 0)
        tutti_sched_recv(draft, fold->rank + 1, tutti_out(0), count);
    else
        tutti_sched_send(draft, fold->rank - 1, tutti_out(0), count);
}
