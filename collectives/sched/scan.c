#include "collectives/sched/scan.h"

/* The halves of scratch alternate: the next round's message may arrive while this one's is combined. */
static void append_rounds(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    int rank = shape->rank, round = 0;
    for (int far = 1; far < shape->P; far *= 2, round++) {
        for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
            int64_t n = tutti_sched_segment(shape->count, shape->segment, g, &at);
            tutti_spot arrived = tutti_scratch(round % 2 * shape->count + at);
            if (rank >= far) tutti_sched_recv(draft, rank - far, arrived, n);
            if (rank + far < shape->P) tutti_sched_send(draft, rank + far, tutti_out(at), n);
            if (rank >= far) tutti_sched_reduce(draft, tutti_out(at), arrived, n, 1);
        }
    }
}

tutti_status tutti_sched_scan(const tutti_sched_shape *shape, tutti_sched **sched)
{
    tutti_sched_draft *draft;
    tutti_status status = tutti_sched_begin(shape, &draft);
    if (status) return status;
    tutti_sched_take_input(draft, 0);
    append_rounds(shape, draft);
    return tutti_sched_end(draft, sched);
}
