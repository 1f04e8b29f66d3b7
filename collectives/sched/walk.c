#include "collectives/sched/walk.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <stdlib.h>

/* The steps of all ranks are numbered consecutively: step i of rank r is base[r] + i. */
typedef struct walk {
    const tutti_sched *const *ranks;
    int P, n;
    int *base;    /* [P+1] */
    int *owner;   /* [n] rank */
    int *partner; /* [n] a send's recv or a recv's send; -1: a local step */
    int *waits;   /* [n] */
    int *ready;   /* [n] events that may happen: local steps, and sends whose recv has started */
    int begin, end;
    char *started; /* [n] */
} walk;

static void close_walk(walk *w)
{
    free(w->base);
    free(w->owner);
    free(w->partner);
    free(w->waits);
    free(w->ready);
    free(w->started);
}

static tutti_status open_walk(walk *w, const tutti_sched *const ranks[], int P)
{
    *w = (walk){.ranks = ranks, .P = P};
    for (int r = 0; r < P; r++) w->n += ranks[r]->n;
    size_t n = (size_t)w->n + 1;
    w->base = calloc((size_t)P + 1, sizeof(int));
    w->owner = calloc(n, sizeof(int));
    w->partner = calloc(n, sizeof(int));
    w->waits = calloc(n, sizeof(int));
    w->ready = calloc(n, sizeof(int));
    w->started = calloc(n, 1);
    if (!w->base || !w->owner || !w->partner || !w->waits || !w->ready || !w->started) {
        close_walk(w);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to walk through %d steps", w->n);
    }
    for (int r = 0; r < P; r++) {
        w->base[r + 1] = w->base[r] + ranks[r]->n;
        for (int g = w->base[r]; g < w->base[r + 1]; g++) {
            w->owner[g] = r;
            w->partner[g] = -1;
            w->waits[g] = ranks[r]->waits[g - w->base[r]];
        }
    }
    return TUTTI_OK;
}

static const tutti_sched_step *step_of(const walk *w, int g)
{
    int r = w->owner[g];
    return &w->ranks[r]->step[g - w->base[r]];
}

/* The first send of `rank` to `peer` (recv from it), or -1. */
static int first_of(const walk *w, int rank, int peer, tutti_step_kind kind)
{
    const tutti_sched *s = w->ranks[rank];
    for (int c = 0; c < s->channels; c++) {
        const tutti_sched_step *step = &s->step[s->channel[c]];
        if (step->kind == kind && step->peer == peer) return w->base[rank] + s->channel[c];
    }
    return -1;
}

static int next_of(const walk *w, int g)
{
    int r = w->owner[g], next = w->ranks[r]->next[g - w->base[r]];
    return next < 0 ? -1 : w->base[r] + next;
}

/* Pairs the k-th send with the k-th recv. */
static tutti_status pair_channel(walk *w, int from, int to)
{
    int s = first_of(w, from, to, TUTTI_STEP_SEND), r = first_of(w, to, from, TUTTI_STEP_RECV);
    for (int k = 0; s >= 0 || r >= 0; k++) {
        if (s < 0 || r < 0)
            return tutti_fail(TUTTI_ERR_MISMATCH,
                "message %d of rank %d to rank %d is %s but never %s", k, from, to,
                r < 0 ? "sent" : "expected", r < 0 ? "expected" : "sent");
        if (step_of(w, s)->count != step_of(w, r)->count)
            return tutti_fail(TUTTI_ERR_MISMATCH,
                "message %d of rank %d to rank %d has %lld elements, but %lld are expected", k,
                from, to, (long long)step_of(w, s)->count, (long long)step_of(w, r)->count);
        w->partner[s] = r;
        w->partner[r] = s;
        s = next_of(w, s);
        r = next_of(w, r);
    }
    return TUTTI_OK;
}

static tutti_status pair_all(walk *w)
{
    tutti_status status = TUTTI_OK;
    for (int from = 0; !status && from < w->P; from++)
        for (int to = 0; !status && to < w->P; to++) status = pair_channel(w, from, to);
    return status;
}

/* Starts a step that has nothing left to wait for, and then the next of its channel if that waited only
 * for this one. */
static void start_step(walk *w, int g)
{
    while (g >= 0) {
        int p = w->partner[g];
        w->started[g] = 1;
        if (p < 0)
            w->ready[w->end++] = g;
        else if (w->started[p])
            w->ready[w->end++] = step_of(w, g)->kind == TUTTI_STEP_SEND ? g : p;
        g = next_of(w, g);
        if (g >= 0 && --w->waits[g]) g = -1;
    }
}

static void finish_step(walk *w, int g)
{
    int r = w->owner[g], i = g - w->base[r];
    const tutti_sched *s = w->ranks[r];
    for (int k = s->first[i]; k < s->first[i + 1]; k++) {
        int later = w->base[r] + s->after[k];
        if (!--w->waits[later]) start_step(w, later);
    }
}

static int take_ready(walk *w, uint64_t seed)
{
    if (seed) {
        uint64_t left = (uint64_t)(w->end - w->begin);
        int chosen = w->begin + (int)tutti_rng_below(seed, 0, (uint64_t)w->begin, left);
        int first = w->ready[w->begin];
        w->ready[w->begin] = w->ready[chosen];
        w->ready[chosen] = first;
    }
    return w->ready[w->begin++];
}

static void run_event(walk *w, int g, tutti_sched_visit visit, void *ctx)
{
    int p = w->partner[g], r = w->owner[g];
    tutti_sched_event event = {.rank = r, .step = g - w->base[r], .peer = -1, .peer_step = -1};
    if (p >= 0) {
        event.peer = w->owner[p];
        event.peer_step = p - w->base[event.peer];
    }
    visit(ctx, &event);
    finish_step(w, g);
    if (p >= 0) finish_step(w, p);
}

static tutti_status report_stuck(const walk *w)
{
    static const char *const words[] = {"send", "receive", "reduction", "copy"};
    int g = 0;
    while (g < w->n && w->started[g] && (w->partner[g] < 0 || w->started[w->partner[g]])) g++;
    const tutti_sched_step *step = step_of(w, g);
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "circular wait: step %d of rank %d, a %s (peer %d), never happens",
        g - w->base[w->owner[g]], w->owner[g], words[step->kind], step->peer);
}

tutti_status tutti_sched_walk(
    const tutti_sched *const ranks[], int P, uint64_t seed, tutti_sched_visit visit, void *ctx)
{
    walk w;
    tutti_status status = open_walk(&w, ranks, P);
    if (status) return status;
    status = pair_all(&w);
    /* Starting a step may already have started the next one of its channel. */
    for (int g = 0; !status && g < w.n; g++)
        if (!w.waits[g] && !w.started[g]) start_step(&w, g);
    int messages = 0;
    while (!status && w.begin < w.end) {
        int g = take_ready(&w, seed);
        messages += w.partner[g] >= 0;
        run_event(&w, g, visit, ctx);
    }
    if (!status && w.begin + messages < w.n) status = report_stuck(&w);
    close_walk(&w);
    return status;
}

typedef struct levels {
    const tutti_sched *const *ranks;
    int **level;
} levels;

static void raise_levels(const levels *l, int rank, int step)
{
    const tutti_sched *s = l->ranks[rank];
    int *level = l->level[rank];
    for (int k = s->first[step]; k < s->first[step + 1]; k++)
        if (level[s->after[k]] < level[step]) level[s->after[k]] = level[step];
}

/* Until a step happens, its level is the highest of what it waits for. */
static void visit_level(void *ctx, const tutti_sched_event *e)
{
    const levels *l = ctx;
    if (e->peer >= 0) {
        int *sent = &l->level[e->rank][e->step], *got = &l->level[e->peer][e->peer_step];
        *sent = *got = 1 + (*sent > *got ? *sent : *got);
        raise_levels(l, e->peer, e->peer_step);
    }
    raise_levels(l, e->rank, e->step);
}

tutti_status tutti_sched_levels(const tutti_sched *const ranks[], int P, int ***level)
{
    size_t steps = 0;
    for (int r = 0; r < P; r++) steps += (size_t)ranks[r]->n;
    size_t bytes = (size_t)P * sizeof(int *) + steps * sizeof(int);
    levels l = {.ranks = ranks, .level = calloc(1, bytes + 1)};
    if (!l.level) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %zu levels", steps);
    int *next = (int *)(l.level + P);
    for (int r = 0; r < P; r++) {
        l.level[r] = next;
        next += ranks[r]->n;
    }
    tutti_status status = tutti_sched_walk(ranks, P, 0, visit_level, &l);
    if (status)
        free(l.level);
    else
        *level = l.level;
    return status;
}
