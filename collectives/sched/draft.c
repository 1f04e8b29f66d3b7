/* Drafts: schedules under construction. */
#include "collectives/sched/sched.h"

#include "collectives/sched/dependencies.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

struct tutti_sched_draft {
    tutti_sched *sched;
    int room; /* steps allocated */
    tutti_status status;
};

void tutti_sched_free(tutti_sched *sched)
{
    if (!sched) return;
    free(sched->counts);
    free(sched->step);
    free(sched->after);
    free(sched->channel);
    free(sched);
}

static tutti_status size_spaces(tutti_sched *s)
{
    const tutti_sched_shape *shape = &s->shape;
    const tutti_coll_args args = {.kind = shape->kind,
        .root = shape->root,
        .count = shape->count,
        .out_of_place = !shape->in_place,
        .counts = shape->counts};
    s->extra_count = shape->extras * shape->count;
    s->in_count = tutti_coll_send_count(&args, shape->rank, shape->P);
    s->out_count = tutti_coll_recv_count(&args, shape->rank, shape->P);
    if (shape->kind == TUTTI_BARRIER && !shape->in_place) s->in_count = shape->count;
    size_t counts = (size_t)tutti_coll_counts(&args, shape->P) * sizeof *s->counts;
    if (!counts) return TUTTI_OK;
    s->counts = malloc(counts);
    if (!s->counts) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
    s->shape.counts = memcpy(s->counts, shape->counts, counts);
    return TUTTI_OK;
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
    tutti_status status = size_spaces(s);
    if (status) {
        free(d);
        free(s);
        return status;
    }
    d->sched = s;
    *draft = d;
    return TUTTI_OK;
}

static void grow_scratch(tutti_sched *s, tutti_spot spot, int64_t count)
{
    int64_t end = spot.offset + count;
    if (spot.space == TUTTI_SPACE_SCRATCH && end > s->scratch_count) s->scratch_count = end;
    if (spot.space == TUTTI_SPACE_WIDE && end > s->wide_count) s->wide_count = end;
}

static void append_step(tutti_sched_draft *d, tutti_sched_step step)
{
    tutti_sched *s = d->sched;
    if (d->status) return;
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

static void append_some(tutti_sched_draft *d, tutti_sched_step step)
{
    if (step.count) append_step(d, step);
}

void tutti_sched_send_checked(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count)
{
    append_step(draft,
        (tutti_sched_step){.kind = TUTTI_STEP_SEND, .peer = peer, .count = count, .src = src});
}

void tutti_sched_recv_checked(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count)
{
    append_step(draft,
        (tutti_sched_step){.kind = TUTTI_STEP_RECV, .peer = peer, .count = count, .dst = dst});
}

void tutti_sched_send(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count)
{
    if (count) tutti_sched_send_checked(draft, peer, src, count);
}

void tutti_sched_recv(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count)
{
    if (count) tutti_sched_recv_checked(draft, peer, dst, count);
}

void tutti_sched_reduce(
    tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count, int src_first)
{
    append_some(draft, (tutti_sched_step){.kind = TUTTI_STEP_REDUCE,
                           .peer = -1,
                           .src_first = src_first != 0,
                           .count = count,
                           .src = src,
                           .dst = dst});
}

void tutti_sched_copy(tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count)
{
    append_some(
        draft, (tutti_sched_step){
                   .kind = TUTTI_STEP_COPY, .peer = -1, .count = count, .src = src, .dst = dst});
}

static tutti_spot advance_spot(tutti_spot spot, int64_t by)
{
    return (tutti_spot){spot.space, spot.offset + by};
}

void tutti_sched_copy_segments(
    tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count)
{
    int64_t segment = draft->sched->shape.segment;
    for (int64_t g = 0, at; g < tutti_sched_segments(count, segment); g++) {
        int64_t length = tutti_sched_segment(count, segment, g, &at);
        tutti_sched_copy(draft, advance_spot(dst, at), advance_spot(src, at), length);
    }
}

void tutti_sched_send_segments(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count)
{
    int64_t segment = draft->sched->shape.segment;
    for (int64_t g = 0, at; g < tutti_sched_segments(count, segment); g++) {
        int64_t length = tutti_sched_segment(count, segment, g, &at);
        tutti_sched_send(draft, peer, advance_spot(src, at), length);
    }
}

void tutti_sched_recv_segments(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count)
{
    int64_t segment = draft->sched->shape.segment;
    for (int64_t g = 0, at; g < tutti_sched_segments(count, segment); g++) {
        int64_t length = tutti_sched_segment(count, segment, g, &at);
        tutti_sched_recv(draft, peer, advance_spot(dst, at), length);
    }
}

int64_t tutti_sched_part(const tutti_sched_shape *shape, int r, int64_t *offset)
{
    return tutti_coll_part(shape->counts, shape->count, r, offset);
}

void tutti_sched_take(tutti_sched_draft *draft, int64_t at, int64_t count)
{
    const tutti_sched_shape *shape = &draft->sched->shape;
    if (!shape->in_place) tutti_sched_copy(draft, tutti_out(at), tutti_in(at), count);
    for (int k = 0; k < shape->extras; k++)
        tutti_sched_reduce(draft, tutti_out(at), tutti_extra(k * shape->count + at), count, 0);
}

void tutti_sched_take_wide(tutti_sched_draft *draft, tutti_spot sum, int64_t at, int64_t count)
{
    const tutti_sched_shape *shape = &draft->sched->shape;
    tutti_sched_copy(draft, sum, shape->in_place ? tutti_out(at) : tutti_in(at), count);
    for (int k = 0; k < shape->extras; k++)
        tutti_sched_reduce(draft, sum, tutti_extra(k * shape->count + at), count, 0);
    tutti_sched_copy(draft, tutti_out(at), sum, count);
}

void tutti_sched_take_input(tutti_sched_draft *draft, int64_t offset)
{
    const tutti_sched_shape *shape = &draft->sched->shape;
    if (!shape->extras && !shape->in_place)
        tutti_sched_copy_segments(draft, tutti_out(offset), tutti_in(0), draft->sched->in_count);
    if (!shape->extras) return;
    for (int64_t g = 0, at; g < tutti_sched_segments(shape->count, shape->segment); g++) {
        int64_t n = tutti_sched_segment(shape->count, shape->segment, g, &at);
        tutti_sched_take(draft, at, n);
    }
}

/* As many steps as there are, and one more, which ends `after`. */
static tutti_status fit_steps(tutti_sched *s)
{
    tutti_sched_step *step = realloc(s->step, ((size_t)s->n + 1) * sizeof *step);
    if (!step) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule of %d steps", s->n);
    step[s->n] = (tutti_sched_step){.first = 0};
    s->step = step;
    return TUTTI_OK;
}

tutti_status tutti_sched_end(tutti_sched_draft *draft, tutti_sched **sched)
{
    tutti_status status = draft->status;
    if (!status) status = fit_steps(draft->sched);
    if (!status) status = tutti_sched_find_dependencies(draft->sched);
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
