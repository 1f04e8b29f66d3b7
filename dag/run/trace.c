#include "dag/run/trace.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/kernels/kernel.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Aligned, so that writers do not share cache lines. */
typedef struct track {
    _Alignas(64) tutti_span *span;
    _Atomic int64_t count; /* complete spans: stored by the writer after the span */
    _Atomic int64_t dropped;
    _Atomic int64_t lost_step; /* the first step that lost a span; 0: none */
} track;

struct tutti_trace {
    atomic_int on;
    int64_t step, room;
    int workers, tracks;
    track track[];
};

tutti_status tutti_trace_open(int workers, int readers, int64_t room, tutti_trace **trace)
{
    int tracks = TUTTI_TRACK_WORKER + workers + readers;
    size_t bytes = sizeof **trace + (size_t)tracks * sizeof(track);
    tutti_trace *t = tutti_mem_aligned(bytes);
    if (!t) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a trace");
    t->room = room;
    t->workers = workers;
    for (; t->tracks < tracks; t->tracks++) {
        t->track[t->tracks].span = malloc(tutti_mem_product((size_t)room, sizeof(tutti_span)));
        if (t->track[t->tracks].span) continue;
        tutti_trace_close(t);
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory to trace %lld spans a thread", (long long)room);
    }
    *trace = t;
    return TUTTI_OK;
}

void tutti_trace_close(tutti_trace *trace)
{
    if (!trace) return;
    for (int i = 0; i < trace->tracks; i++) free(trace->track[i].span);
    free(trace);
}

void tutti_trace_switch(tutti_trace *trace, int on)
{
    atomic_store(&trace->on, on);
}

void tutti_trace_set_step(tutti_trace *trace, int64_t step)
{
    if (trace) trace->step = step;
}

int64_t tutti_trace_step(const tutti_trace *trace)
{
    return trace ? trace->step : 0;
}

int tutti_trace_on(const tutti_trace *trace)
{
    return trace && atomic_load_explicit(&trace->on, memory_order_relaxed);
}

double tutti_trace_now(const tutti_trace *trace)
{
    return tutti_trace_on(trace) ? tutti_clock_s() : 0;
}

static void drop(track *t, int64_t step)
{
    int64_t first = atomic_load_explicit(&t->lost_step, memory_order_relaxed);
    int64_t dropped = atomic_load_explicit(&t->dropped, memory_order_relaxed);
    if (step > 0 && (!first || step < first)) atomic_store(&t->lost_step, step);
    atomic_store(&t->dropped, dropped + 1);
}

void tutti_trace_add(tutti_trace *trace, int track_index, const tutti_span *span)
{
    if (!trace || span->begin_s <= 0) return;
    track *t = &trace->track[track_index];
    int64_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
    if (count == trace->room) {
        drop(t, span->step);
        return;
    }
    t->span[count] = *span;
    atomic_store_explicit(&t->count, count + 1, memory_order_release);
}

void tutti_trace_task(tutti_trace *trace, int worker, tutti_span_kind kind, const char *name,
    int64_t step, double begin_s)
{
    if (begin_s <= 0) return;
    const tutti_span span = {
        .name = name, .kind = kind, .step = step, .begin_s = begin_s, .end_s = tutti_clock_s()};
    tutti_trace_add(trace, TUTTI_TRACK_WORKER + worker, &span);
}

void tutti_trace_main(tutti_trace *trace, tutti_span_kind kind, const char *name, double begin_s)
{
    if (begin_s <= 0) return;
    const tutti_span span = {.name = name,
        .kind = kind,
        .step = trace->step,
        .begin_s = begin_s,
        .end_s = tutti_clock_s()};
    tutti_trace_add(trace, TUTTI_TRACK_MAIN, &span);
}

void tutti_trace_read(
    tutti_trace *trace, int reader, const char *name, int64_t step, double begin_s, double end_s)
{
    const tutti_span span = {
        .name = name, .kind = TUTTI_SPAN_READ, .step = step, .begin_s = begin_s, .end_s = end_s};
    tutti_trace_add(trace, TUTTI_TRACK_WORKER + trace->workers + reader, &span);
}

tutti_span_kind tutti_span_kind_of(const tutti_node *node)
{
    static const unsigned char kind_of_part[] = {
        [TUTTI_PART_FORWARD] = TUTTI_SPAN_FORWARD,
        [TUTTI_PART_BACKWARD] = TUTTI_SPAN_BACKWARD,
        [TUTTI_PART_SUM] = TUTTI_SPAN_SUM,
        [TUTTI_PART_UPDATE] = TUTTI_SPAN_UPDATE,
    };
    return node->kind == TUTTI_NODE_COLLECTIVE ? TUTTI_SPAN_START : kind_of_part[node->op->part];
}

const char *tutti_span_kind_name(int kind)
{
    static const char *const names[] = {
#define TUTTI_SPAN_NAME(kind, name) name,
        TUTTI_SPAN_LIST(TUTTI_SPAN_NAME)
#undef TUTTI_SPAN_NAME
    };
    return kind >= 0 && kind < TUTTI_SPAN_KINDS ? names[kind] : NULL;
}

int tutti_trace_workers(const tutti_trace *trace)
{
    return trace->workers;
}

int tutti_trace_readers(const tutti_trace *trace)
{
    return trace->tracks - TUTTI_TRACK_WORKER - trace->workers;
}

int64_t tutti_trace_count(const tutti_trace *trace, int track_index)
{
    return atomic_load_explicit(&trace->track[track_index].count, memory_order_acquire);
}

const tutti_span *tutti_trace_get(const tutti_trace *trace, int track_index, int64_t i)
{
    return &trace->track[track_index].span[i];
}

int64_t tutti_trace_dropped(const tutti_trace *trace, int64_t *first_step)
{
    int64_t dropped = 0;
    *first_step = 0;
    for (int i = 0; i < trace->tracks; i++) {
        int64_t step = atomic_load(&trace->track[i].lost_step);
        dropped += atomic_load(&trace->track[i].dropped);
        if (step && (!*first_step || step < *first_step)) *first_step = step;
    }
    return dropped;
}
