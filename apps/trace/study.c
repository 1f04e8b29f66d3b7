#include "apps/trace/study.h"

#include "apps/trace/busy.h"
#include "dag/base/log.h"
#include "dag/base/median.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A collective of the step being studied, on one rank. */
typedef struct flight {
    const tutti_event *event;
    double all_ms; /* when the last rank started it */
    double exposed_ms;
} flight;

typedef struct work {
    tutti_study *study;
    tutti_busy *busy, *link; /* [ranks] computing; communicating */
    flight *flight;          /* all collectives of the trace, by step and sequence */
    int64_t flights, at;     /* how many; the first that belongs to no step studied so far */
    double *edge;            /* room for three per flight */
    json_t *position;        /* bucket name -> index */
} work;

static tutti_status no_memory(void)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory to study a trace");
}

static int communicates(tutti_span_kind kind)
{
    return kind == TUTTI_SPAN_COLLECTIVE;
}

/* ---- a step ---- */

/* Finds where the steps begin and end. */
static tutti_status find_times(tutti_study *s)
{
    const tutti_timeline *t = s->timeline;
    int64_t first = s->step[0].step;
    double before_ms = -INFINITY; /* the end of the step before the first */
    for (int k = 0; k < s->steps; k++) {
        s->step[k].begin_ms = INFINITY;
        s->step[k].end_ms = -INFINITY;
    }
    for (int64_t i = 0; i < t->events; i++) {
        const tutti_event *e = &t->event[i];
        int64_t k = e->step - first;
        if (e->step < 1 || k < -1 || k >= s->steps || e->kind >= TUTTI_SPAN_WAIT) continue;
        if (k < 0) {
            before_ms = fmax(before_ms, e->end_ms);
            continue;
        }
        s->step[k].begin_ms = fmin(s->step[k].begin_ms, e->begin_ms);
        s->step[k].end_ms = fmax(s->step[k].end_ms, e->end_ms);
    }
    for (int k = 0; k < s->steps; k++) {
        tutti_study_step *step = &s->step[k];
        if (!isfinite(step->end_ms))
            return tutti_fail(
                TUTTI_ERR_INVAL, "%s: holds nothing of step %" PRId64, t->path, step->step);
        if (isfinite(before_ms)) step->begin_ms = fmin(before_ms, step->end_ms);
        before_ms = step->end_ms;
    }
    return TUTTI_OK;
}

static int by_sequence(const void *a, const void *b)
{
    const tutti_event *x = ((const flight *)a)->event, *y = ((const flight *)b)->event;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->sequence != y->sequence) return x->sequence < y->sequence ? -1 : 1;
    return x->rank - y->rank;
}

static int by_rank(const void *a, const void *b)
{
    const tutti_event *x = ((const flight *)a)->event, *y = ((const flight *)b)->event;
    return x->rank != y->rank ? x->rank - y->rank
                              : (x->begin_ms > y->begin_ms) - (x->begin_ms < y->begin_ms);
}

/* Compares one collective's starts over ranks: `group` has `count` flights, by rank. */
static void meet(work *w, flight *group, int count)
{
    double last_ms = -INFINITY, sum_ms = 0;
    for (int i = 0; i < count; i++) {
        last_ms = fmax(last_ms, group[i].event->begin_ms);
        sum_ms += group[i].event->begin_ms;
    }
    for (int i = 0; i < count; i++) {
        const tutti_event *e = group[i].event;
        tutti_study_rank *r = &w->study->rank[e->rank];
        group[i].all_ms = fmin(last_ms, e->end_ms);
        if (count < 2) continue;
        r->met++;
        r->behind_ms += e->begin_ms - (sum_ms - e->begin_ms) / (count - 1);
        r->last += e->begin_ms == last_ms;
    }
}

/* The step's collectives on all ranks, by rank and begin. */
static flight *find_flights(work *w, int64_t step, int64_t *count)
{
    while (w->at < w->flights && w->flight[w->at].event->step < step) w->at++;
    flight *f = &w->flight[w->at];
    int64_t n = 0, from = 0;
    while (w->at + n < w->flights && f[n].event->step == step) n++;
    for (int64_t i = 0; i <= n; i++) {
        if (i < n && f[i].event->sequence == f[from].event->sequence) continue;
        if (i > from) meet(w, &f[from], (int)(i - from));
        from = i;
    }
    if (n) qsort(f, (size_t)n, sizeof *f, by_rank);
    w->at += n;
    *count = n;
    return f;
}

/* Between two neighbouring edges nothing starts or ends: the collectives in flight there share the exposed time. */
static void share_piece(const tutti_busy *b, flight *f, int64_t count, double from_ms, double to_ms,
    tutti_study_step *sum)
{
    int active = 0, moving = 0;
    for (int64_t i = 0; i < count; i++) {
        int flies = f[i].event->begin_ms <= from_ms && f[i].event->end_ms >= to_ms;
        active += flies;
        moving += flies && f[i].all_ms <= from_ms;
    }
    if (!active) return;
    double exposed_ms = to_ms - from_ms - tutti_busy_within(b, from_ms, to_ms);
    sum->flight_ms += to_ms - from_ms;
    sum->exposed_ms += exposed_ms;
    if (moving) sum->moving_ms += to_ms - from_ms;
    for (int64_t i = 0; i < count; i++)
        if (f[i].event->begin_ms <= from_ms && f[i].event->end_ms >= to_ms)
            f[i].exposed_ms += exposed_ms / active;
}

/* One rank's collectives, in order of their begin. */
static void study_flights(
    work *w, const tutti_busy *b, flight *f, int64_t count, tutti_study_step *sum)
{
    int64_t edges = 0, first = 0;
    for (int64_t i = 0; i < count; i++) {
        w->edge[edges++] = f[i].event->begin_ms;
        w->edge[edges++] = f[i].all_ms;
        w->edge[edges++] = f[i].event->end_ms;
        sum->bytes += f[i].event->bytes;
    }
    if (edges) qsort(w->edge, (size_t)edges, sizeof *w->edge, tutti_compare_doubles);
    for (int64_t k = 0; k + 1 < edges; k++) {
        if (w->edge[k] == w->edge[k + 1]) continue;
        int64_t last = first;
        while (first < count && f[first].event->end_ms <= w->edge[k]) first++;
        if (last < first) last = first;
        while (last < count && f[last].event->begin_ms <= w->edge[k]) last++;
        share_piece(b, f + first, last - first, w->edge[k], w->edge[k + 1], sum);
    }
}

/* ---- buckets ---- */

static tutti_study_bucket *find_bucket(work *w, const char *name)
{
    tutti_study *s = w->study;
    const json_t *known = json_object_get(w->position, name);
    if (known) return &s->bucket[json_integer_value(known)];
    tutti_study_bucket *wider = realloc(s->bucket, (size_t)(s->buckets + 1) * sizeof *wider);
    if (!wider) return NULL;
    s->bucket = wider;
    if (json_object_set_new(w->position, name, json_integer(s->buckets))) return NULL;
    s->bucket[s->buckets] = (tutti_study_bucket){.name = name};
    return &s->bucket[s->buckets++];
}

static tutti_status add_to_buckets(work *w, const flight *f, int64_t count, double end_ms)
{
    for (; count > 0; f++, count--) {
        const tutti_event *e = f->event;
        tutti_study_bucket *b = find_bucket(w, e->name);
        if (!b) return no_memory();
        b->count++;
        b->bytes += (double)e->bytes;
        b->flight_ms += e->end_ms - e->begin_ms;
        b->exposed_ms += f->exposed_ms;
        b->queued_ms += fmax(0, e->begin_ms - e->ready_ms);
        b->late_ms += f->all_ms - e->begin_ms;
        if (e->ready_ms < e->begin_ms)
            b->linked_ms += tutti_busy_within(&w->link[e->rank], e->ready_ms, e->begin_ms);
        if (e->ready_ms < end_ms)
            b->left_ms += tutti_busy_within(&w->busy[e->rank], e->ready_ms, end_ms);
    }
    return TUTTI_OK;
}

static int by_exposure(const void *a, const void *b)
{
    const tutti_study_bucket *x = a, *y = b;
    if (x->exposed_ms != y->exposed_ms) return x->exposed_ms > y->exposed_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* ---- workers ---- */

/* Shares of the steps' time; the steps are consecutive. */
static tutti_status study_workers(tutti_study *s)
{
    const tutti_timeline *t = s->timeline;
    double begin_ms = s->step[0].begin_ms, end_ms = s->step[s->steps - 1].end_ms;
    int *offset = calloc((size_t)t->ranks + 1, sizeof *offset);
    if (!offset) return no_memory();
    for (int r = 0; r < t->ranks; r++) offset[r + 1] = offset[r] + t->workers[r];
    s->workers = offset[t->ranks];
    s->worker = calloc((size_t)s->workers + 1, sizeof *s->worker);
    if (!s->worker) {
        free(offset);
        return no_memory();
    }
    for (int r = 0; r < t->ranks; r++)
        for (int i = 0; i < t->workers[r]; i++)
            s->worker[offset[r] + i] = (tutti_study_worker){.rank = r, .worker = i, .idle = 1};
    for (int64_t i = 0; i < t->events; i++) {
        const tutti_event *e = &t->event[i];
        double within_ms = fmin(e->end_ms, end_ms) - fmax(e->begin_ms, begin_ms);
        if (e->kind >= TUTTI_SPAN_COLLECTIVE || within_ms <= 0) continue;
        tutti_study_worker *w = &s->worker[offset[e->rank] + e->row];
        w->busy[e->kind] += within_ms / (end_ms - begin_ms);
        w->idle -= within_ms / (end_ms - begin_ms);
    }
    free(offset);
    return TUTTI_OK;
}

/* ---- all of it ---- */

static tutti_status study_step(work *w, tutti_study_step *step)
{
    tutti_study *s = w->study;
    const tutti_timeline *t = s->timeline;
    int64_t count, from = 0;
    flight *f = find_flights(w, step->step, &count);
    for (int r = 0; r < t->ranks; r++) {
        int64_t to = from;
        while (to < count && f[to].event->rank == r) to++;
        study_flights(w, &w->busy[r], &f[from], to - from, step);
        double compute_ms = tutti_busy_within(&w->busy[r], step->begin_ms, step->end_ms);
        step->compute_ms += compute_ms;
        s->rank[r].compute_ms += compute_ms;
        from = to;
    }
    step->compute_ms /= t->ranks;
    step->flight_ms /= t->ranks;
    step->exposed_ms /= t->ranks;
    step->moving_ms /= t->ranks;
    step->bytes /= t->ranks;
    return add_to_buckets(w, f, count, step->end_ms);
}

/* Turns sums into means. */
static void divide(tutti_study *s)
{
    double n = s->steps, all = n * s->timeline->ranks;
    for (int k = 0; k < s->steps; k++) {
        const tutti_study_step *x = &s->step[k];
        s->mean.end_ms += (x->end_ms - x->begin_ms) / n;
        s->mean.compute_ms += x->compute_ms / n;
        s->mean.flight_ms += x->flight_ms / n;
        s->mean.exposed_ms += x->exposed_ms / n;
        s->mean.moving_ms += x->moving_ms / n;
        s->mean.bytes = x->bytes;
    }
    for (int i = 0; i < s->buckets; i++) {
        tutti_study_bucket *b = &s->bucket[i];
        b->flight_ms /= b->count;
        b->queued_ms /= b->count;
        b->late_ms /= b->count;
        b->linked_ms /= b->count;
        b->left_ms /= b->count;
        b->count /= all;
        b->bytes /= all;
        b->exposed_ms /= all;
    }
    for (int r = 0; r < s->timeline->ranks; r++) {
        tutti_study_rank *rank = &s->rank[r];
        rank->compute_ms /= n;
        if (!rank->met) continue;
        rank->behind_ms /= (double)rank->met;
        rank->last /= (double)rank->met;
    }
}

static tutti_status find_steps(tutti_study *s, int64_t step)
{
    const tutti_timeline *t = s->timeline;
    int64_t first = step ? step : t->first_step, last = step ? step : t->last_step;
    if (last < t->first_step)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: holds no complete step%s", t->path,
            t->dropped ? ": spans were dropped; record fewer steps" : "");
    if (first < t->first_step || last > t->last_step)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: does not hold all of step %" PRId64 "; it holds %" PRId64 " to %" PRId64, t->path,
            step, t->first_step, t->last_step);
    if (last - first >= t->events)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: holds fewer spans than steps", t->path);
    s->steps = (int)(last - first + 1);
    s->step = calloc((size_t)s->steps, sizeof *s->step);
    s->rank = calloc((size_t)t->ranks, sizeof *s->rank);
    if (!s->step || !s->rank) return no_memory();
    for (int k = 0; k < s->steps; k++) s->step[k].step = first + k;
    return TUTTI_OK;
}

static tutti_status open_work(work *w)
{
    const tutti_timeline *t = w->study->timeline;
    size_t collectives = 0;
    for (int64_t i = 0; i < t->events; i++)
        collectives += t->event[i].kind == TUTTI_SPAN_COLLECTIVE;
    w->busy = calloc(2 * (size_t)t->ranks, sizeof *w->busy);
    w->link = w->busy ? w->busy + t->ranks : NULL;
    w->flight = calloc(collectives + 1, sizeof *w->flight);
    w->edge = calloc(3 * collectives + 1, sizeof *w->edge);
    w->position = json_object();
    if (!w->busy || !w->flight || !w->edge || !w->position) return no_memory();
    for (int64_t i = 0; i < t->events; i++)
        if (t->event[i].kind == TUTTI_SPAN_COLLECTIVE)
            w->flight[w->flights++] = (flight){.event = &t->event[i]};
    if (collectives) qsort(w->flight, collectives, sizeof *w->flight, by_sequence);
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < t->ranks && !status; r++) {
        status = tutti_busy_find(t, r, tutti_span_computes, &w->busy[r]);
        if (!status) status = tutti_busy_find(t, r, communicates, &w->link[r]);
    }
    return status;
}

static void close_work(work *w)
{
    for (int r = 0; w->busy && r < 2 * w->study->timeline->ranks; r++) tutti_busy_free(&w->busy[r]);
    free(w->busy);
    free(w->flight);
    free(w->edge);
    json_decref(w->position);
}

tutti_status tutti_study_open(const tutti_timeline *timeline, int64_t step, tutti_study *study)
{
    *study = (tutti_study){.timeline = timeline};
    work w = {.study = study};
    tutti_status status = find_steps(study, step);
    if (!status) status = find_times(study);
    if (!status) status = open_work(&w);
    for (int k = 0; k < study->steps && !status; k++) status = study_step(&w, &study->step[k]);
    if (!status) status = study_workers(study);
    close_work(&w);
    if (status) {
        tutti_study_close(study);
        return status;
    }
    divide(study);
    if (study->buckets)
        qsort(study->bucket, (size_t)study->buckets, sizeof *study->bucket, by_exposure);
    return TUTTI_OK;
}

void tutti_study_close(tutti_study *study)
{
    free(study->step);
    free(study->bucket);
    free(study->worker);
    free(study->rank);
    *study = (tutti_study){0};
}

double tutti_study_hidden_pct(const tutti_study_step *step)
{
    return step->flight_ms > 0 ? 100 * (1 - step->exposed_ms / step->flight_ms) : 100;
}

const tutti_study_step *tutti_study_typical(const tutti_study *study)
{
    for (int k = 0; k < study->steps; k++) {
        double took_ms = study->step[k].end_ms - study->step[k].begin_ms;
        int shorter = 0, equal = 0;
        for (int i = 0; i < study->steps; i++) {
            double other_ms = study->step[i].end_ms - study->step[i].begin_ms;
            shorter += other_ms < took_ms;
            equal += other_ms == took_ms;
        }
        if (shorter <= (study->steps - 1) / 2 && shorter + equal > (study->steps - 1) / 2)
            return &study->step[k];
    }
    return study->step;
}
