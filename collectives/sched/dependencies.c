#include "collectives/sched/dependencies.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* A space is cut wherever a range of some step begins or ends. Every range then consists of whole cells, and a
 * cell knows its last writer and who has read it since. Ranges of a schedule meet exactly or hardly at all, so
 * most consist of one. */
typedef struct cell {
    int writer;  /* the last step that wrote it; -1: none */
    int readers; /* who has read what that step wrote: a list, by number; -1: none */
} cell;

typedef struct reader {
    int step, next; /* next: of the list; -1: the last */
} reader;

typedef struct edges {
    int (*pair)[2]; /* {earlier, later} */
    int n, room;
    int *newest; /* [steps] the step that an edge from this one has led to last; -1: none */
} edges;

typedef struct frontier {
    int64_t *cut[TUTTI_SPACES]; /* [cuts] where cells begin, ascending */
    int cuts[TUTTI_SPACES];
    cell *cells[TUTTI_SPACES]; /* [cuts] */
    reader *reader;
    int readers, room;
} frontier;

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
    if (earlier < 0 || earlier == later || e->newest[earlier] == later) return 1;
    void *pair = with_room(e->pair, sizeof *e->pair, e->n, &e->room);
    if (!pair) return 0;
    e->pair = pair;
    e->pair[e->n][0] = earlier;
    e->pair[e->n++][1] = later;
    e->newest[earlier] = later;
    return 1;
}

static int add_reader(frontier *f, cell *c, int step)
{
    void *larger = with_room(f->reader, sizeof *f->reader, f->readers, &f->room);
    if (!larger) return 0;
    f->reader = larger;
    f->reader[f->readers] = (reader){step, c->readers};
    c->readers = f->readers++;
    return 1;
}

/* A write waits for the readers, which have waited for the last writer; without readers, for the writer. */
static int access_cell(frontier *f, edges *e, cell *c, int step, int writes)
{
    int ok = writes && c->readers >= 0 ? 1 : add_edge(e, c->writer, step);
    if (ok && !writes) return add_reader(f, c, step);
    for (int k = c->readers; ok && k >= 0; k = f->reader[k].next)
        ok = add_edge(e, f->reader[k].step, step);
    *c = (cell){step, -1};
    return ok;
}

/* The cell that begins at an offset. */
static int find_cell(const frontier *f, tutti_space space, int64_t offset)
{
    const int64_t *cut = f->cut[space];
    int low = 0, high = f->cuts[space] - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (cut[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_access(frontier *f, edges *e, int step, tutti_spot spot, int64_t count, int writes)
{
    if (!count) return 1;
    const int64_t *cut = f->cut[spot.space];
    int ok = 1;
    for (int k = find_cell(f, spot.space, spot.offset); ok && cut[k] < spot.offset + count; k++)
        ok = access_cell(f, e, &f->cells[spot.space][k], step, writes);
    return ok;
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

static void add_cuts(frontier *f, tutti_spot spot, int64_t count)
{
    int64_t *cut = f->cut[spot.space] + f->cuts[spot.space];
    cut[0] = spot.offset;
    cut[1] = spot.offset + count;
    f->cuts[spot.space] += count ? 2 : 0;
}

static int compare_cuts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the cuts of a space, each once, and makes its cells. The last cut ends the last cell. */
static int make_cells(frontier *f, int space)
{
    int64_t *cut = f->cut[space];
    int kept = 0;
    qsort(cut, (size_t)f->cuts[space], sizeof *cut, compare_cuts);
    for (int i = 0; i < f->cuts[space]; i++)
        if (!kept || cut[i] != cut[kept - 1]) cut[kept++] = cut[i];
    f->cuts[space] = kept;
    f->cells[space] = malloc((size_t)kept * sizeof(cell) + 1);
    for (int i = 0; f->cells[space] && i < kept; i++) f->cells[space][i] = (cell){-1, -1};
    return f->cells[space] != NULL;
}

static int open_frontier(const tutti_sched *s, frontier *f)
{
    int accesses[TUTTI_SPACES] = {0}, ok = 1;
    for (int i = 0; i < s->n; i++) {
        accesses[s->step[i].src.space]++;
        accesses[s->step[i].dst.space]++;
    }
    for (int i = 0; i < TUTTI_SPACES; i++) {
        f->cut[i] = malloc((2 * (size_t)accesses[i] + 2) * sizeof(int64_t));
        ok = ok && f->cut[i];
    }
    for (int i = 0; ok && i < s->n; i++) {
        const tutti_sched_step *step = &s->step[i];
        if (step->kind != TUTTI_STEP_RECV) add_cuts(f, step->src, step->count);
        if (step->kind != TUTTI_STEP_SEND) add_cuts(f, step->dst, step->count);
    }
    for (int i = 0; ok && i < TUTTI_SPACES; i++) ok = make_cells(f, i);
    return ok;
}

static void close_frontier(frontier *f)
{
    for (int i = 0; i < TUTTI_SPACES; i++) {
        free(f->cut[i]);
        free(f->cells[i]);
    }
    free(f->reader);
}

static void fill_after(tutti_sched *s, const edges *e)
{
    tutti_sched_step *step = s->step;
    for (int i = 0; i < e->n; i++) {
        step[e->pair[i][0] + 1].first++;
        step[e->pair[i][1]].waits++;
    }
    for (int i = 0; i < s->n; i++) step[i + 1].first += step[i].first;
    /* Edges are sorted by their later end: filling each list backwards keeps its order. */
    for (int i = e->n - 1; i >= 0; i--) s->after[--step[e->pair[i][0] + 1].first] = e->pair[i][1];
    for (int i = 0; i < s->n; i++) step[i].first = step[i + 1].first;
    step[s->n].first = e->n;
}

/* Chains the sends (recvs) of each peer; last[2 * peer + is_recv] is the latest so far, or -1. */
static void fill_channels(tutti_sched *s, int *last)
{
    for (int p = 0; p < 2 * s->shape.P; p++) last[p] = -1;
    for (int i = 0; i < s->n; i++) {
        tutti_sched_step *step = &s->step[i];
        step->next = step->channel = -1;
        if (step->kind != TUTTI_STEP_SEND && step->kind != TUTTI_STEP_RECV) {
            s->locals++;
            continue;
        }
        int *before = &last[2 * step->peer + (step->kind == TUTTI_STEP_RECV)];
        if (*before >= 0) {
            s->step[*before].next = i;
            step->channel = s->step[*before].channel;
            step->waits++;
        } else {
            step->channel = s->channels;
            s->channel[s->channels++] = (tutti_sched_channel){.first = i};
        }
        s->channel[step->channel].length++;
        *before = i;
    }
}

tutti_status tutti_sched_find_dependencies(tutti_sched *s)
{
    size_t n = (size_t)s->n;
    frontier f = {.readers = 0};
    edges e = {.newest = malloc((n + 1) * sizeof *e.newest)};
    int ok = open_frontier(s, &f) && e.newest;
    for (int i = 0; e.newest && i < s->n; i++) e.newest[i] = -1;
    if (ok) ok = find_edges(s, &f, &e);
    int *last = malloc(2 * (size_t)s->shape.P * sizeof *last);
    s->channel = malloc((n + 1) * sizeof *s->channel);
    s->after = malloc(((size_t)e.n + 1) * sizeof *s->after);
    ok = ok && last && s->channel && s->after;
    if (ok) {
        fill_after(s, &e);
        fill_channels(s, last);
        void *fits = realloc(s->channel, ((size_t)s->channels + 1) * sizeof *s->channel);
        if (fits) s->channel = fits;
    }
    close_frontier(&f);
    free(e.newest);
    free(e.pair);
    free(last);
    return ok ? TUTTI_OK
              : tutti_fail(TUTTI_ERR_NOMEM, "no memory to link a schedule of %d steps", s->n);
}
