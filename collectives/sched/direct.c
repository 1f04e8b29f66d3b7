#include "collectives/sched/direct.h"

#include "collectives/sched/blocks.h"

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
        tutti_spot own = shape->in_place ? tutti_out(at) : tutti_in(0);
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
        send_part(draft, peer, shape->in_place ? tutti_out(at) : tutti_in(at), length);
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

static void append_reduce_scatter(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    tutti_blocks b = tutti_blocks_of(draft, shape);
    tutti_blocks_reduce_scatter(&b);
}

static void append_allreduce(const tutti_sched_shape *shape, tutti_sched_draft *draft)
{
    tutti_blocks b = tutti_blocks_of(draft, shape);
    tutti_blocks_reduce_scatter(&b);
    tutti_blocks_allgather(&b);
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
