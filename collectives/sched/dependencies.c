#include "collectives/sched/dependencies.h"

#include "dag/base/log.h"

#include <stdlib.h>

typedef struct range {
    int step, writes;
    int64_t from, to;
} range;

/* The accesses to each space that a later one may still have to wait for. */
typedef struct frontier {
    range *live[TUTTI_SPACES];
    int n[TUTTI_SPACES], room[TUTTI_SPACES];
} frontier;

typedef struct edges {
    int (*pair)[2]; /* {earlier, later} */
    int n, room;
} edges;

/* The array with room for one element after its first n: itself or a larger copy; NULL when memory
 * runs out. */
static void *with_room(void *array, size_t size, int n, int *room)
{
    if (n < *room) return array;
    int wanted = *room ? 2 * *room : 64;
    void *larger = realloc(array, (size_t)wanted * size);
    if (larger) *room = wanted;
    return larger;
}

static int add_edge(edges *e, int earlier, int later)
{
    /* A step's accesses are added in a row, so a duplicate edge is among the last few. */
    for (int i = e->n - 1; i >= 0 && e->pair[i][1] == later; i--)
        if (e->pair[i][0] == earlier) return 1;
    void *pair = with_room(e->pair, sizeof *e->pair, e->n, &e->room);
    if (!pair) return 0;
    e->pair = pair;
    e->pair[e->n][0] = earlier;
    e->pair[e->n++][1] = later;
    return 1;
}

/* Adds edges from overlapping accesses, and drops accesses that the new one makes redundant: a later
 * access to a range that is overwritten here waits for the new writer, which waits for the old access. */
static int add_access(frontier *f, edges *e, int step, tutti_spot spot, int64_t count, int writes)
{
    if (!count) return 1;
    tutti_space s = spot.space;
    range mine = {step, writes, spot.offset, spot.offset + count};
    int kept = 0;
    for (int i = 0; i < f->n[s]; i++) {
        range old = f->live[s][i];
        int overlap = old.from < mine.to && mine.from < old.to;
        if (overlap && old.step != step && (old.writes || writes))
            if (!add_edge(e, old.step, step)) return 0;
        int inside = mine.from <= old.from && old.to <= mine.to;
        if (!(writes && inside)) f->live[s][kept++] = old;
    }
    f->n[s] = kept;
    void *live = with_room(f->live[s], sizeof *f->live[s], kept, &f->room[s]);
    if (!live) return 0;
    f->live[s] = live;
    f->live[s][f->n[s]++] = mine;
    return 1;
}

static int find_edges(const tutti_sched *s, frontier *f, edges *e)
{
    int ok = 1;
    for (int i = 0; ok && i < s->n; i++) {
        const tutti_sched_step *step = &s->step[i];
        if (step->kind != TUTTI_STEP_RECV) ok = add_access(f, e, i, step->src, step->count, 0);
        if (ok && step->kind != TUTTI_STEP_SEND)
            ok = add_access(f, e, i, step->dst, step->count, 1);
    }
    return ok;
}

static void fill_after(tutti_sched *s, const edges *e)
{
    for (int i = 0; i < e->n; i++) {
        s->first[e->pair[i][0] + 1]++;
        s->waits[e->pair[i][1]]++;
    }
    for (int i = 0; i < s->n; i++) s->first[i + 1] += s->first[i];
    /* Edges are sorted by their later end: filling each list backwards keeps its order. */
    for (int i = e->n - 1; i >= 0; i--) s->after[--s->first[e->pair[i][0] + 1]] = e->pair[i][1];
    for (int i = 0; i < s->n; i++) s->first[i] = s->first[i + 1];
    s->first[s->n] = e->n;
}

/* Chains the sends (recvs) of each peer; last[2 * peer + is_recv] is the latest so far, or -1. */
static void fill_channels(tutti_sched *s, int *last)
{
    for (int p = 0; p < 2 * s->shape.P; p++) last[p] = -1;
    for (int i = 0; i < s->n; i++) {
        const tutti_sched_step *step = &s->step[i];
        s->next[i] = s->of[i] = -1;
        if (step->kind != TUTTI_STEP_SEND && step->kind != TUTTI_STEP_RECV) continue;
        int *before = &last[2 * step->peer + (step->kind == TUTTI_STEP_RECV)];
        if (*before >= 0) {
            s->next[*before] = i;
            s->of[i] = s->of[*before];
            s->waits[i]++;
        } else {
            s->of[i] = s->channels;
            s->channel[s->channels++] = i;
        }
        *before = i;
    }
}

tutti_status tutti_sched_find_dependencies(tutti_sched *s)
{
    frontier f = {{NULL}, {0}, {0}};
    edges e = {NULL, 0, 0};
    size_t n = (size_t)s->n;
    int ok = find_edges(s, &f, &e);
    int *last = malloc(2 * (size_t)s->shape.P * sizeof *last);
    s->waits = calloc(n + 1, sizeof *s->waits);
    s->next = calloc(n + 1, sizeof *s->next);
    s->of = calloc(n + 1, sizeof *s->of);
    s->first = calloc(n + 1, sizeof *s->first);
    s->channel = calloc(n + 1, sizeof *s->channel);
    s->after = calloc((size_t)e.n + 1, sizeof *s->after);
    ok = ok && last && s->waits && s->next && s->of && s->first && s->channel && s->after;
    if (ok) {
        fill_after(s, &e);
        fill_channels(s, last);
    }
    for (int i = 0; i < TUTTI_SPACES; i++) free(f.live[i]);
    free(e.pair);
    free(last);
    return ok ? TUTTI_OK
              : tutti_fail(TUTTI_ERR_NOMEM, "no memory to link a schedule of %d steps", s->n);
}
