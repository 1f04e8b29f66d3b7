#include "apps/trace/read.h"

#include "designs/trace/write.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1000000, MOST_LANES = 10000 };

typedef struct reader {
    tutti_timeline *t;
    FILE *file;
    char *line;
    size_t size;
    ssize_t length;
    int64_t number; /* of the line */
    int64_t room;   /* for events */
} reader;

static tutti_status refuse(const reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static tutti_status refuse(const reader *r, const char *format, ...)
{
    char reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return tutti_fail(TUTTI_ERR_FORMAT, "%s:%" PRId64 ": %s", r->t->path, r->number, reason);
}

/* The next line without its newline; length -1 after the last. */
static tutti_status next_line(reader *r)
{
    errno = 0;
    r->length = getline(&r->line, &r->size, r->file);
    if (r->length < 0 && ferror(r->file))
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot be read: %s", r->t->path, strerror(errno));
    r->number++;
    while (r->length > 0 && strchr("\r\n", r->line[r->length - 1])) r->line[--r->length] = '\0';
    return TUTTI_OK;
}

/* ---- values ---- */

/* A member that is an integer from low to high. */
static int get_integer(
    const json_t *object, const char *name, int64_t low, int64_t high, int64_t *value)
{
    const json_t *member = json_object_get(object, name);
    if (!json_is_integer(member)) return 0;
    *value = json_integer_value(member);
    return *value >= low && *value <= high;
}

static int get_ms(const json_t *object, const char *name, double *ms)
{
    static const double longest_us = 1e15;
    const json_t *member = json_object_get(object, name);
    if (!json_is_number(member)) return 0;
    double us = json_number_value(member);
    *ms = 1e-3 * us;
    return us >= -longest_us && us <= longest_us;
}

/* A copy of the text, fit to be shown and kept only once. NULL: no text, or no memory. */
static const char *keep(tutti_timeline *t, const json_t *text)
{
    json_t *names = t->names;
    char *value = json_is_string(text) ? tutti_text_shown(json_string_value(text)) : NULL;
    const char *kept = NULL;
    if (value && (json_object_get(names, value) || !json_object_set_new(names, value, json_true())))
        kept = json_object_iter_key(json_object_iter_at(names, value));
    free(value);
    return kept;
}

/* ---- the head ---- */

static int read_workers(tutti_timeline *t, const json_t *list)
{
    t->workers = calloc((size_t)t->ranks, sizeof *t->workers);
    t->of_rank = calloc((size_t)t->ranks + 1, sizeof *t->of_rank);
    if (!t->workers || !t->of_rank || json_array_size(list) != (size_t)t->ranks) return 0;
    for (int i = 0; i < t->ranks; i++) {
        const json_t *workers = json_array_get(list, (size_t)i);
        int64_t count = json_integer_value(workers);
        if (!json_is_integer(workers) || count < 1 || count >= TUTTI_TRACE_READER_TID) return 0;
        t->workers[i] = (int)count;
    }
    return 1;
}

/* Absent where the ranks have the whole net. */
static int read_pipeline(tutti_timeline *t, const json_t *about)
{
    int64_t stages = 1, micro_batches = 0, servers = 0;
    if (json_object_get(about, "servers") && !get_integer(about, "servers", 0, t->ranks, &servers))
        return 0;
    if (json_object_get(about, "stages") &&
        (!get_integer(about, "stages", 1, t->ranks - servers, &stages) ||
            (t->ranks - servers) % stages != 0 ||
            !get_integer(about, "micro_batches", 1, INT32_MAX, &micro_batches)))
        return 0;
    t->stages = (int)stages;
    t->staged = t->ranks - (int)servers;
    t->micro_batches = (int)micro_batches;
    return 1;
}

/* Of what kernels are; absent in traces of programs that attach. */
static int read_kernels(tutti_timeline *t, const json_t *about)
{
    enum { SIDE = 1 << 16, CLASSES = 1 << 20 };
    int64_t blocks, height, width, channels, classes, shards = 0;
    if (!json_object_get(about, "images")) return 1;
    if (!get_integer(about, "images", 1, INT32_MAX, &t->images) ||
        !get_integer(about, "blocks", 1, t->ranks, &blocks))
        return 0;
    t->blocks = (int)blocks;
    if (!json_object_get(about, "classes")) return 1;
    if (!get_integer(about, "height", 1, SIDE, &height) ||
        !get_integer(about, "width", 1, SIDE, &width) ||
        !get_integer(about, "channels", 1, SIDE, &channels) ||
        !get_integer(about, "classes", 1, CLASSES, &classes))
        return 0;
    if (json_object_get(about, "shards") && !get_integer(about, "shards", 0, 1, &shards)) return 0;
    t->shards = (int)shards;
    t->height = (int)height;
    t->width = (int)width;
    t->channels = (int)channels;
    t->classes = (int)classes;
    return 1;
}

static tutti_status take_head(reader *r, const json_t *about)
{
    tutti_timeline *t = r->t;
    int64_t format, ranks, lanes;
    if (!get_integer(about, "format", 0, INT32_MAX, &format))
        return refuse(r, "not a trace of Tutti: its head does not say so");
    if (format != TUTTI_TRACE_FORMAT)
        return refuse(r, "its format is %" PRId64 "; this program reads format %d", format,
            TUTTI_TRACE_FORMAT);
    if (!get_integer(about, "ranks", 1, MOST_RANKS, &ranks) ||
        !get_integer(about, "lanes", 1, MOST_LANES, &lanes) ||
        !get_integer(about, "first_step", 1, INT64_MAX, &t->first_step) ||
        !get_integer(about, "last_step", 0, INT64_MAX, &t->last_step) ||
        !get_integer(about, "spans_dropped", 0, INT64_MAX, &t->dropped))
        return refuse(r, "the head lacks a number, or has an impossible one");
    if (json_object_get(about, "tasks") &&
        (!get_integer(about, "kernels", 0, INT32_MAX, &t->kernels) ||
            !get_integer(about, "tasks", 0, INT32_MAX, &t->tasks) ||
            !get_integer(about, "launches", 0, INT32_MAX, &t->launches) ||
            !get_integer(about, "graphs", 0, INT32_MAX, &t->graphs) ||
            !get_integer(about, "graph_bytes", 0, INT64_MAX, &t->graph_bytes)))
        return refuse(r, "the head counts tasks that cannot be");
    t->ranks = (int)ranks;
    t->lanes = (int)lanes;
    t->design = keep(t, json_object_get(about, "design"));
    t->model = keep(t, json_object_get(about, "model"));
    if (!t->design || !t->model) return refuse(r, "the head lacks a name");
    if (!read_workers(t, json_object_get(about, "workers")))
        return refuse(r, "the head does not say how many workers each rank has");
    if (!read_pipeline(t, about))
        return refuse(r, "the head has stages or micro-batches that cannot be");
    if (!read_kernels(t, about)) return refuse(r, "the head has images or classes that cannot be");
    return TUTTI_OK;
}

/* The first line, with its brackets closed, is a document by itself. */
static tutti_status read_head(reader *r)
{
    static const char begins[] = "{\"displayTimeUnit\":", closes[] = "]}";
    tutti_status status = next_line(r);
    if (status) return status;
    if (r->length < 0) return refuse(r, "the file is empty");
    if (strncmp(r->line, begins, sizeof begins - 1) != 0)
        return refuse(r, "not a trace of Tutti: it does not begin like one");
    char *text = malloc((size_t)r->length + sizeof closes);
    if (!text) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", r->t->path);
    memcpy(text, r->line, (size_t)r->length);
    memcpy(text + r->length, closes, sizeof closes);
    json_error_t error;
    json_t *head = json_loadb(text, (size_t)r->length + sizeof closes - 1, 0, &error);
    free(text);
    status = head ? take_head(r, json_object_get(head, "otherData"))
                  : refuse(r, "not the head of a trace, or cut short: %s", error.text);
    json_decref(head);
    return status;
}

/* ---- events ---- */

static int find_kind(const char *name)
{
    int kind = 0;
    while (name && tutti_span_kind_name(kind) && strcmp(tutti_span_kind_name(kind), name) != 0)
        kind++;
    return name && tutti_span_kind_name(kind) ? kind : -1;
}

/* The row of a thread of the trace; -1 if this kind of span cannot be there. */
static int find_row(const tutti_timeline *t, const tutti_event *e, int64_t tid)
{
    if (e->kind == TUTTI_SPAN_COLLECTIVE)
        return tid / TUTTI_TRACE_LANE_TID == e->lane + 1 ? (int)(tid % TUTTI_TRACE_LANE_TID) : -1;
    if (e->kind == TUTTI_SPAN_READ)
        return tid >= TUTTI_TRACE_READER_TID && tid < TUTTI_TRACE_LANE_TID
                   ? (int)tid - TUTTI_TRACE_READER_TID
                   : -1;
    if (e->kind >= TUTTI_SPAN_WAIT) return tid == 0 ? 0 : -1;
    return tid >= 1 && tid <= t->workers[e->rank] ? (int)tid - 1 : -1;
}

/* Groups and messages have lanes beyond those that the head counts. */
static int take_collective(tutti_timeline *t, const json_t *args, tutti_event *e)
{
    int64_t lane;
    if (!get_integer(args, "lane", 0, MOST_LANES - 1, &lane) ||
        !get_integer(args, "sequence", 0, INT64_MAX, &e->sequence) ||
        !get_integer(args, "bytes", 0, INT64_MAX, &e->bytes) ||
        !get_ms(args, "ready", &e->ready_ms))
        return 0;
    e->lane = (int)lane;
    if (lane >= t->lanes) t->lanes = e->lane + 1;
    return 1;
}

static tutti_status add_event(reader *r, const tutti_event *event)
{
    tutti_timeline *t = r->t;
    if (t->events == r->room) {
        int64_t room = r->room ? 2 * r->room : 4096;
        tutti_event *wider = realloc(t->event, (size_t)room * sizeof *wider);
        if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its spans", t->path);
        t->event = wider;
        r->room = room;
    }
    t->event[t->events++] = *event;
    return TUTTI_OK;
}

static tutti_status take_span(reader *r, const json_t *object)
{
    tutti_timeline *t = r->t;
    tutti_event e = {0};
    int64_t rank, tid;
    double took_ms;
    const json_t *args = json_object_get(object, "args");
    int kind = find_kind(json_string_value(json_object_get(object, "cat")));
    if (kind < 0) return refuse(r, "a span of no known kind");
    e.kind = (tutti_span_kind)kind;
    if (!get_integer(object, "pid", 0, t->ranks - 1, &rank) ||
        !get_integer(object, "tid", 0, INT32_MAX, &tid) ||
        !get_integer(args, "step", 0, INT64_MAX, &e.step))
        return refuse(r, "a span without rank, thread or step");
    e.rank = (int)rank;
    if (!get_ms(object, "ts", &e.begin_ms) || !get_ms(object, "dur", &took_ms) || took_ms < 0)
        return refuse(r, "a span without times");
    e.end_ms = e.begin_ms + took_ms;
    if (kind == TUTTI_SPAN_COLLECTIVE && !take_collective(t, args, &e))
        return refuse(r, "a collective without lane, sequence, bytes or times");
    e.row = find_row(t, &e, tid);
    if (e.row < 0) return refuse(r, "a span of a thread that its rank does not have");
    e.name = keep(t, json_object_get(object, "name"));
    return e.name ? add_event(r, &e) : refuse(r, "a span without a name");
}

static tutti_status read_event(reader *r)
{
    json_error_t error;
    size_t length = (size_t)r->length;
    if (length && r->line[length - 1] == ',') length--;
    json_t *object = json_loadb(r->line, length, 0, &error);
    if (!object) return refuse(r, "not an event, or cut short: %s", error.text);
    const char *phase = json_string_value(json_object_get(object, "ph"));
    tutti_status status = !phase               ? refuse(r, "an event without a phase")
                          : strcmp(phase, "X") ? TUTTI_OK /* names, and queued collectives */
                                               : take_span(r, object);
    json_decref(object);
    return status;
}

static tutti_status read_events(reader *r)
{
    for (;;) {
        tutti_status status = next_line(r);
        if (status) return status;
        if (r->length < 0) return refuse(r, "cut short: the end of the trace is missing");
        if (strcmp(r->line, "]}") == 0) return TUTTI_OK;
        status = read_event(r);
        if (status) return status;
    }
}

/* ---- all of it ---- */

static int by_rank_and_begin(const void *a, const void *b)
{
    const tutti_event *x = a, *y = b;
    if (x->rank != y->rank) return x->rank - y->rank;
    if (x->begin_ms != y->begin_ms) return x->begin_ms < y->begin_ms ? -1 : 1;
    return (x->end_ms > y->end_ms) - (x->end_ms < y->end_ms);
}

static void order(tutti_timeline *t)
{
    int64_t i = 0;
    if (t->events) qsort(t->event, (size_t)t->events, sizeof *t->event, by_rank_and_begin);
    for (int rank = 0; rank <= t->ranks; rank++) {
        while (i < t->events && t->event[i].rank < rank) i++;
        t->of_rank[rank] = i;
    }
}

tutti_status tutti_timeline_read(const char *path, tutti_timeline *timeline)
{
    *timeline = (tutti_timeline){.path = path};
    reader r = {.t = timeline, .file = fopen(path, "re")};
    if (!r.file) return tutti_fail(TUTTI_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    timeline->names = json_object();
    tutti_status status = timeline->names
                              ? read_head(&r)
                              : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", path);
    if (!status) status = read_events(&r);
    fclose(r.file);
    free(r.line);
    if (status)
        tutti_timeline_free(timeline);
    else
        order(timeline);
    return status;
}

void tutti_timeline_free(tutti_timeline *timeline)
{
    json_decref(timeline->names);
    free(timeline->workers);
    free(timeline->of_rank);
    free(timeline->event);
    *timeline = (tutti_timeline){0};
}
