#include "collectives/sched/walk.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <stdlib.h>

/* The steps of all ranks are numbered consecutively: step i of rank r is base[r] + i. */
struct tutti_walk {
    const tutti_sched *const *ranks;
    int P, n;
    int *base;    /* [P+1] */
    int *owner;   /* [n] rank */
    int *partner; /* [n] a send's recv or a recv's send; -1: a local step */
    int *waits;   /* [n] */
    int *ready;   /* [n] events that may happen: local steps, and sends whose recv has started */
    int begin, end;
    int ended;
    char *started; /* [n] */
};

static void free_walk(tutti_walk *w)
{
    free(w->base);
    free(w->owner);
    free(w->partner);
    free(w->waits);
    free(w->ready);
    free(w->started);
    free(w);
}

static tutti_status number_steps(tutti_walk *w, const tutti_sched *const ranks[], int P)
{
    *w = (tutti_walk){.ranks = ranks, .P = P};
    for (int r = 0; r < P; r++) w->n += ranks[r]->n;
    size_t n = (size_t)w->n + 1;
    w->base = calloc((size_t)P + 1, sizeof(int));
    w->owner = calloc(n, sizeof(int));
    w->partner = calloc(n, sizeof(int));
    w->waits = calloc(n, sizeof(int));
    w->ready = calloc(n, sizeof(int));
    w->started = calloc(n, 1);
    if (!w->base || !w->owner || !w->partner || !w->waits || !w->ready || !w->started)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to walk through %d steps", w->n);
    for (int r = 0; r < P; r++) {
        w->base[r + 1] = w->base[r] + ranks[r]->n;
        for (int g = w->base[r]; g < w->base[r + 1]; g++) {
            w->owner[g] = r;
            w->partner[g] = -1;
            w->waits[g] = ranks[r]->step[g - w->base[r]].waits;
        }
    }
    return TUTTI_OK;
}

static const tutti_sched_step *step_of(const tutti_walk *w, int g)
{
    int r = w->owner[g];
    return &w->ranks[r]->step[g - w->base[r]];
}

static int next_of(const tutti_walk *w, int g)
{
    int r = w->owner[g], next = w->ranks[r]->step[g - w->base[r]].next;
    return next < 0 ? -1 : w->base[r] + next;
}

/* Pairs the k-th send with the k-th recv; s, r: the first ones, or -1. */
static tutti_status pair_channel(tutti_walk *w, int from, int to, int s, int r)
{
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

/* The first send of each channel, by the rank that it leads to. */
typedef struct arrivals {
    int *first; /* [P+1] those to rank r are send[first[r] ... first[r+1]) */
    int *send;
    int *recv; /* [P] of one rank: the first recv from each other; -1: none */
} arrivals;

static int is_channel_of(const tutti_sched *s, int channel, tutti_step_kind kind, int *step)
{
    *step = s->channel[channel].first;
    return s->step[*step].kind == kind;
}

static void sort_arrivals(const tutti_walk *w, arrivals *a)
{
    int i, sends;
    for (int r = 0; r < w->P; r++)
        for (int c = 0; c < w->ranks[r]->channels; c++)
            if (is_channel_of(w->ranks[r], c, TUTTI_STEP_SEND, &i))
                a->first[w->ranks[r]->step[i].peer + 1]++;
    for (int r = 0; r < w->P; r++) a->first[r + 1] += a->first[r];
    sends = a->first[w->P];
    for (int r = w->P - 1; r >= 0; r--)
        for (int c = 0; c < w->ranks[r]->channels; c++)
            if (is_channel_of(w->ranks[r], c, TUTTI_STEP_SEND, &i))
                a->send[--a->first[w->ranks[r]->step[i].peer + 1]] = w->base[r] + i;
    for (int r = 0; r < w->P; r++) a->first[r] = a->first[r + 1];
    a->first[w->P] = sends;
    for (int r = 0; r < w->P; r++) a->recv[r] = -1;
}

/* Pairs what arrives at one rank: `sends`, the first of each sender. */
static tutti_status pair_arrivals(tutti_walk *w, int to, const int sends[], int n, int recv[])
{
    const tutti_sched *s = w->ranks[to];
    tutti_status status = TUTTI_OK;
    int i;
    for (int c = 0; c < s->channels; c++)
        if (is_channel_of(s, c, TUTTI_STEP_RECV, &i)) recv[s->step[i].peer] = w->base[to] + i;
    for (int k = 0; !status && k < n; k++) {
        int from = w->owner[sends[k]];
        status = pair_channel(w, from, to, sends[k], recv[from]);
        recv[from] = -1;
    }
    for (int c = 0; c < s->channels; c++) {
        if (!is_channel_of(s, c, TUTTI_STEP_RECV, &i)) continue;
        int from = s->step[i].peer;
        if (!status && recv[from] >= 0) status = pair_channel(w, from, to, -1, recv[from]);
        recv[from] = -1;
    }
    return status;
}

static tutti_status pair_all(tutti_walk *w)
{
    size_t channels = 0, P = (size_t)w->P;
    for (int r = 0; r < w->P; r++) channels += (size_t)w->ranks[r]->channels;
    arrivals a = {.first = calloc(P + 1, sizeof(int)),
        .send = malloc((channels + 1) * sizeof(int)),
        .recv = malloc((P + 1) * sizeof(int))};
    tutti_status status =
        a.first && a.send && a.recv
            ? TUTTI_OK
            : tutti_fail(TUTTI_ERR_NOMEM, "no memory to pair the messages of %d ranks", w->P);
    if (!status) sort_arrivals(w, &a);
    for (int to = 0; !status && to < w->P; to++)
        status = pair_arrivals(w, to, a.send + a.first[to], a.first[to + 1] - a.first[to], a.recv);
    free(a.first);
    free(a.send);
    free(a.recv);
    return status;
}

/* Starts a step that has nothing left to wait for, and then the next of its channel if that waited only
 * for this one. */
static void start_step(tutti_walk *w, int g)
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

void tutti_walk_end_step(tutti_walk *w, int rank, int step)
{
    const tutti_sched *s = w->ranks[rank];
    w->ended++;
    for (int k = s->step[step].first; k < s->step[step + 1].first; k++) {
        int later = w->base[rank] + s->after[k];
        if (!--w->waits[later]) start_step(w, later);
    }
}

static int take_ready(tutti_walk *w, uint64_t seed)
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

int tutti_walk_take(tutti_walk *w, uint64_t seed, tutti_sched_event *event)
{
    if (w->begin == w->end) return 0;
    int g = take_ready(w, seed), p = w->partner[g], r = w->owner[g];
    *event = (tutti_sched_event){.rank = r, .step = g - w->base[r], .peer = -1, .peer_step = -1};
    if (p < 0) return 1;
    event->peer = w->owner[p];
    event->peer_step = p - w->base[event->peer];
    return 1;
}

static tutti_status report_stuck(const tutti_walk *w)
{
    static const char *const words[] = {"send", "receive", "reduction", "copy"};
    int g = 0;
    while (g < w->n && w->started[g] && (w->partner[g] < 0 || w->started[w->partner[g]])) g++;
    const tutti_sched_step *step = step_of(w, g);
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "circular wait: step %d of rank %d, a %s (peer %d), never happens",
        g - w->base[w->owner[g]], w->owner[g], words[step->kind], step->peer);
}

tutti_status tutti_walk_open(const tutti_sched *const ranks[], int P, tutti_walk **walk)
{
    tutti_walk *w = malloc(sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to walk through schedules");
    tutti_status status = number_steps(w, ranks, P);
    if (!status) status = pair_all(w);
    if (status) {
        free_walk(w);
        return status;
    }
    /* Starting a step may already have started the next one of its channel. */
    for (int g = 0; g < w->n; g++)
        if (!w->waits[g] && !w->started[g]) start_step(w, g);
    *walk = w;
    return TUTTI_OK;
}

tutti_status tutti_walk_close(tutti_walk *w)
{
    tutti_status status = w->ended < w->n ? report_stuck(w) : TUTTI_OK;
    free_walk(w);
    return status;
}

tutti_status tutti_sched_walk(
    const tutti_sched *const ranks[], int P, uint64_t seed, tutti_sched_visit visit, void *ctx)
{
    tutti_walk *w;
    tutti_sched_event e;
    tutti_status status = tutti_walk_open(ranks, P, &w);
    if (status) return status;
    while (tutti_walk_take(w, seed, &e)) {
        visit(ctx, &e);
        tutti_walk_end_step(w, e.rank, e.step);
        if (e.peer >= 0) tutti_walk_end_step(w, e.peer, e.peer_step);
    }
    return tutti_walk_close(w);
}

typedef struct levels {
    const tutti_sched *const *ranks;
    int **level;
} levels;

static void raise_levels(const levels *l, int rank, int step)
{
    const tutti_sched *s = l->ranks[rank];
    int *level = l->level[rank];
    for (int k = s->step[step].first; k < s->step[step + 1].first; k++)
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
