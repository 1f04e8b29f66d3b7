#include "collectives/sched/barrier.h"

tutti_status tutti_sched_barrier(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    int r = shape->rank, P = shape->P, round = 0;
    tutti_sched_take_input(draft, 0);
    for (int d = 1; d < P; d *= 2, round++) {
        tutti_sched_recv(draft, (r - d + P) % P, tutti_scratch(round), 1);
        tutti_sched_send(draft, (r + d) % P, tutti_out(0), 1);
        tutti_sched_reduce(draft, tutti_out(0), tutti_scratch(round), 1, 0);
    }
    return tutti_sched_end(draft, sched);
}
