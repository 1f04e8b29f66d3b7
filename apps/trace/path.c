#include "apps/trace/path.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

/* Tasks and collectives, by rank and end. */
typedef struct finder {
    const tutti_timeline *timeline;
    const tutti_event **ended;
    int64_t *of_rank; /* [ranks + 1] */
    const tutti_event **met;
    int64_t meetings; /* collectives by sequence */
} finder;

static int by_end(const void *a, const void *b)
{
    const tutti_event *x = *(const tutti_event *const *)a, *y = *(const tutti_event *const *)b;
    if (x->rank != y->rank) return x->rank - y->rank;
    if (x->end_ms != y->end_ms) return x->end_ms < y->end_ms ? -1 : 1;
    return (x->begin_ms > y->begin_ms) - (x->begin_ms < y->begin_ms);
}

static int by_sequence(const void *a, const void *b)
{
    const tutti_event *x = *(const tutti_event *const *)a, *y = *(const tutti_event *const *)b;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static tutti_status open_finder(const tutti_timeline *t, finder *f)
{
    int64_t count = 0;
    *f = (finder){.timeline = t,
        .ended = malloc((size_t)(t->events + 1) * sizeof *f->ended),
        .of_rank = calloc((size_t)t->ranks + 1, sizeof *f->of_rank),
        .met = malloc((size_t)(t->events + 1) * sizeof *f->met)};
    if (!f->ended || !f->of_rank || !f->met)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to find the critical path");
    for (int r = 0; r < t->ranks; r++) {
        for (int64_t i = t->of_rank[r]; i < t->of_rank[r + 1]; i++) {
            const tutti_event *e = &t->event[i];
            if (e->kind >= TUTTI_SPAN_WAIT) continue;
            f->ended[count++] = e;
            if (e->kind == TUTTI_SPAN_COLLECTIVE) f->met[f->meetings++] = e;
        }
        f->of_rank[r + 1] = count;
    }
    if (count) qsort(f->ended, (size_t)count, sizeof *f->ended, by_end);
    if (f->meetings) qsort(f->met, (size_t)f->meetings, sizeof *f->met, by_sequence);
    return TUTTI_OK;
}

static void close_finder(finder *f)
{
    free(f->ended);
    free(f->of_rank);
    free(f->met);
}

/* The event of the rank that ended last, not after t, among those before `limit` in the order of ends (which
 * prevents cycles). -1: none. */
static int64_t last_before(const finder *f, int rank, double t_ms, int64_t limit)
{
    int64_t low = f->of_rank[rank], high = f->of_rank[rank + 1], first = low;
    if (limit >= first && limit < high) high = limit;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (f->ended[middle]->end_ms <= t_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low > first ? low - 1 : -1;
}

/* The same collective on the rank that started it last. */
static const tutti_event *last_to_start(const finder *f, const tutti_event *e)
{
    int64_t low = 0, high = f->meetings;
    const tutti_event *last = e;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (f->met[middle]->sequence < e->sequence)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < f->meetings && f->met[low]->sequence == e->sequence; low++)
        if (f->met[low]->begin_ms > last->begin_ms) last = f->met[low];
    return last;
}

static const tutti_event *find_end(const finder *f, int64_t step, int64_t *at)
{
    int64_t count = f->of_rank[f->timeline->ranks];
    const tutti_event *last = NULL;
    for (int64_t i = 0; i < count; i++) {
        const tutti_event *e = f->ended[i];
        if (e->step != step || (last && e->end_ms <= last->end_ms)) continue;
        last = e;
        *at = i;
    }
    return last;
}

static void add_part(tutti_path *p, const tutti_event *e, double from_ms, double to_ms)
{
    double took_ms = fmax(0, to_ms - from_ms);
    p->part[p->parts++] = (tutti_path_part){e, from_ms, to_ms};
    if (e->kind == TUTTI_SPAN_COLLECTIVE)
        p->communicate_ms += took_ms;
    else if (tutti_span_computes(e->kind))
        p->compute_ms += took_ms;
    else
        p->copy_ms += took_ms;
}

static void turn_round(tutti_path *p)
{
    for (int64_t i = 0, k = p->parts - 1; i < k; i++, k--) {
        tutti_path_part part = p->part[i];
        p->part[i] = p->part[k];
        p->part[k] = part;
    }
}

/* Follows the path backwards from the event at `at`. Each part is earlier than the one found before it, so there are at
 * most as many parts as events. */
static void follow(const finder *f, const tutti_study_step *step, int64_t at, tutti_path *p)
{
    double to_ms = step->end_ms;
    int64_t most = f->of_rank[f->timeline->ranks];
    while (at >= 0 && p->parts < most && to_ms > step->begin_ms) {
        const tutti_event *e = f->ended[at], *origin = e;
        if (e->end_ms <= step->begin_ms) break;
        if (e->kind == TUTTI_SPAN_COLLECTIVE) origin = last_to_start(f, e);
        double end_ms = fmin(to_ms, e->end_ms);
        double from_ms = fmax(step->begin_ms, fmin(origin->begin_ms, end_ms));
        p->nobody_ms += to_ms - end_ms;
        add_part(p, e, from_ms, end_ms);
        to_ms = from_ms;
        at = last_before(
            f, origin->rank, fmin(to_ms, origin->begin_ms), origin->rank == e->rank ? at : -1);
    }
    p->nobody_ms += fmax(0, to_ms - step->begin_ms);
}

tutti_status tutti_path_find(
    const tutti_timeline *timeline, const tutti_study_step *step, tutti_path *path)
{
    finder f;
    int64_t at = -1;
    *path = (tutti_path){0};
    tutti_status status = open_finder(timeline, &f);
    if (!status) path->part = malloc((size_t)(timeline->events + 1) * sizeof *path->part);
    if (!status && !path->part)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the critical path");
    if (!status && find_end(&f, step->step, &at)) follow(&f, step, at, path);
    close_finder(&f);
    turn_round(path);
    return status;
}

void tutti_path_free(tutti_path *path)
{
    free(path->part);
    *path = (tutti_path){0};
}
