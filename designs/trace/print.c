#include "designs/trace/write.h"
#include "dag/base/json.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct printer {
    const tutti_trace *trace;
    const tutti_trace_rank *rank;
    FILE *out;
} printer;

/* A time in microseconds of the trace. */
static double time_us(const printer *p, double t_s)
{
    const tutti_trace_rank *r = p->rank;
    return 1e6 * (tutti_clock_convert(&r->before, &r->after, t_s) - r->base_s);
}

static void name_process(const printer *p)
{
    int rank = p->rank->rank;
    char name[320];
    snprintf(name, sizeof name, "rank %d (%s)", rank, p->rank->host);
    fprintf(
        p->out, ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":", rank);
    tutti_json_string(p->out, name);
    fprintf(p->out,
        "}},\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}"
        "}",
        rank, rank);
}

static void name_thread(const printer *p, int tid, const char *name)
{
    fprintf(p->out,
        ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":",
        p->rank->rank, tid);
    tutti_json_string(p->out, name);
    fprintf(p->out,
        "}},\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":"
        "{\"sort_index\":%d}}",
        p->rank->rank, tid, tid);
}

/* Prints an event up to the start of its args. */
static void begin_event(const printer *p, const char *phase, int tid, const char *category,
    const char *name, double ts_us)
{
    fprintf(p->out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\",\"name\":", phase,
        p->rank->rank, tid, category);
    tutti_json_string(p->out, name);
    fprintf(p->out, ",\"ts\":%.3f", ts_us);
}

static void begin_span(const printer *p, int tid, const tutti_span *s)
{
    double from_us = time_us(p, s->begin_s);
    begin_event(p, "X", tid, tutti_span_kind_name(s->kind), s->name, from_us);
    fprintf(p->out, ",\"dur\":%.3f,\"args\":{\"step\":%" PRId64, time_us(p, s->end_s) - from_us,
        s->step);
}

static void print_track(const printer *p, int track, int tid)
{
    for (int64_t i = 0, n = tutti_trace_count(p->trace, track); i < n; i++) {
        begin_span(p, tid, tutti_trace_get(p->trace, track, i));
        fputs("}}", p->out);
    }
}

/* ---- collectives ---- */

/* A rank's queue may hold many collectives at once: asynchronous events may overlap. */
static void print_queued(const printer *p, const tutti_span *s)
{
    if (s->begin_s <= s->ready_s) return;
    for (int end = 0; end < 2; end++) {
        begin_event(
            p, end ? "e" : "b", 0, "queued", s->name, time_us(p, end ? s->begin_s : s->ready_s));
        fprintf(p->out, ",\"id2\":{\"local\":\"%" PRId64 "\"}}", s->sequence);
    }
}

static void print_collective(const printer *p, int tid, const tutti_span *s)
{
    begin_span(p, tid, s);
    fprintf(p->out,
        ",\"sequence\":%" PRId64 ",\"lane\":%d,\"bytes\":%" PRId64 ",\"what\":\"%s\","
        "\"ready\":%.3f,\"reserved\":%.3f}}",
        s->sequence, s->lane, s->bytes, s->what, time_us(p, s->ready_s), time_us(p, s->reserved_s));
    print_queued(p, s);
}

static int compare_begins(const void *a, const void *b)
{
    const tutti_span *x = *(const tutti_span *const *)a, *y = *(const tutti_span *const *)b;
    return (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

/* The rows of one lane: when each is free again. */
enum { MOST_ROWS = TUTTI_TRACE_LANE_TID };

/* Puts each collective into the first free row of its lane, so that none overlap within a row. */
static void print_lane(const printer *p, int lane, int64_t count, const tutti_span *const span[])
{
    double free_s[MOST_ROWS];
    int rows = 0;
    char name[64];
    for (int64_t i = 0; i < count; i++) {
        int row = 0;
        if (span[i]->lane != lane) continue;
        while (row < rows && free_s[row] > span[i]->begin_s) row++;
        if (row == MOST_ROWS) row--;
        if (row == rows) {
            if (row)
                snprintf(name, sizeof name, "lane %d, %d in flight", lane, row + 1);
            else
                snprintf(name, sizeof name, "lane %d", lane);
            name_thread(p, TUTTI_TRACE_LANE_TID * (lane + 1) + row, name);
            rows++;
        }
        free_s[row] = span[i]->end_s;
        print_collective(p, TUTTI_TRACE_LANE_TID * (lane + 1) + row, span[i]);
    }
}

static tutti_status print_lanes(const printer *p)
{
    int64_t count = tutti_trace_count(p->trace, TUTTI_TRACK_COLLECTIVES);
    const tutti_span **span = malloc((size_t)(count + 1) * sizeof *span);
    int lanes = 0;
    if (!span) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to order %" PRId64 " spans", count);
    for (int64_t i = 0; i < count; i++) {
        span[i] = tutti_trace_get(p->trace, TUTTI_TRACK_COLLECTIVES, i);
        if (span[i]->lane >= lanes) lanes = span[i]->lane + 1;
    }
    qsort(span, (size_t)count, sizeof *span, compare_begins);
    for (int lane = 0; lane < lanes; lane++) print_lane(p, lane, count, span);
    free(span);
    return TUTTI_OK;
}

tutti_status tutti_trace_print(const tutti_trace *trace, const tutti_trace_rank *rank, FILE *out)
{
    const printer p = {trace, rank, out};
    char name[32];
    name_process(&p);
    name_thread(&p, 0, "main");
    print_track(&p, TUTTI_TRACK_MAIN, 0);
    for (int w = 0; w < tutti_trace_workers(trace); w++) {
        snprintf(name, sizeof name, "worker %d", w);
        name_thread(&p, 1 + w, name);
        print_track(&p, TUTTI_TRACK_WORKER + w, 1 + w);
    }
    for (int r = 0; r < tutti_trace_readers(trace); r++) {
        snprintf(name, sizeof name, "reader %d", r);
        name_thread(&p, TUTTI_TRACE_READER_TID + r, name);
        print_track(
            &p, TUTTI_TRACK_WORKER + tutti_trace_workers(trace) + r, TUTTI_TRACE_READER_TID + r);
    }
    return print_lanes(&p);
}
