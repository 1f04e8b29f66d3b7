/* Drafts: a schedule while it is made. */
#include "collectives/sched/sched.h"

#include "collectives/sched/link.h"
#include "dag/base/log.h"

#include <stdlib.h>

struct tutti_sched_draft {
    tutti_sched *sched;
    int room; /* steps allocated */
    tutti_status status;
};

void tutti_sched_free(tutti_sched *sched)
{
    if (!sched) return;
    free(sched->step);
    free(sched->waits);
    free(sched->next);
    free(sched->first);
    free(sched->after);
    free(sched->channel);
    free(sched->of);
    free(sched);
}

static void size_spaces(tutti_sched *s)
{
    const tutti_sched_shape *shape = &s->shape;
    int64_t all = shape->kind == TUTTI_ALLGATHER ? shape->P * shape->count : shape->count;
    int has_input = !shape->in_place && shape->kind != TUTTI_BROADCAST;
    s->in_count = has_input ? shape->count : 0;
    s->out_count = all;
}

tutti_status tutti_sched_begin(const tutti_sched_shape *shape, tutti_sched_draft **draft)
{
    tutti_sched_draft *d = calloc(1, sizeof *d);
    tutti_sched *s = calloc(1, sizeof *s);
    if (!d || !s) {
        free(d);
        free(s);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
    }
    s->shape = *shape;
    size_spaces(s);
    d->sched = s;
    *draft = d;
    return TUTTI_OK;
}

static void grow_scratch(tutti_sched *s, tutti_spot spot, int64_t count)
{
    if (spot.space == TUTTI_SPACE_SCRATCH && spot.offset + count > s->scratch_count)
        s->scratch_count = spot.offset + count;
}

static void append(tutti_sched_draft *d, tutti_sched_step step)
{
    tutti_sched *s = d->sched;
    if (d->status || !step.count) return;
    if (s->n == d->room) {
        int room = d->room ? 2 * d->room : 16;
        tutti_sched_step *grown = realloc(s->step, (size_t)room * sizeof *grown);
        if (!grown) {
            d->status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule of %d steps", room);
            return;
        }
        s->step = grown;
        d->room = room;
    }
    grow_scratch(s, step.src, step.count);
    grow_scratch(s, step.dst, step.count);
    s->step[s->n++] = step;
}

void tutti_sched_send(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count)
{
    append(draft,
        (tutti_sched_step){.kind = TUTTI_STEP_SEND, .peer = peer, .count = count, .src = src});
}

void tutti_sched_recv(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count)
{
    append(draft,
        (tutti_sched_step){.kind = TUTTI_STEP_RECV, .peer = peer, .count = count, .dst = dst});
}

void tutti_sched_reduce(
    tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count, int src_first)
{
    append(draft, (tutti_sched_step){.kind = TUTTI_STEP_REDUCE,
                      .peer = -1,
                      .src_first = src_first,
                      .count = count,
                      .src = src,
                      .dst = dst});
}

void tutti_sched_copy(tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count)
{
    append(draft, (tutti_sched_step){
                      .kind = TUTTI_STEP_COPY, .peer = -1, .count = count, .src = src, .dst = dst});
}

void tutti_sched_take_input(tutti_sched_draft *draft, int64_t offset)
{
    const tutti_sched_shape *shape = &draft->sched->shape;
    if (shape->in_place) return;
    for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
        int64_t length = tutti_sched_segment(shape->count, shape->segment, g, &at);
        tutti_sched_copy(draft, tutti_out(offset + at), tutti_in(at), length);
    }
}

tutti_status tutti_sched_end(tutti_sched_draft *draft, tutti_sched **sched)
{
    tutti_status status = draft->status;
    if (!status) status = tutti_sched_link(draft->sched);
    if (status)
        tutti_sched_free(draft->sched);
    else
        *sched = draft->sched;
    free(draft);
    return status;
}

int64_t tutti_sched_segments(int64_t length, int64_t segment)
{
    if (!length) return 0;
    return segment > 0 ? (length + segment - 1) / segment : 1;
}

int64_t tutti_sched_segment(int64_t length, int64_t segment, int64_t g, int64_t *offset)
{
    int64_t from = segment > 0 ? g * segment : 0;
    int64_t left = length - from;
    *offset = from;
    return segment > 0 && segment < left ? segment : left;
}
