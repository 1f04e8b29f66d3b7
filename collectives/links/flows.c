#include "collectives/links/flows.h"

#include "collectives/links/events.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

/* Events that rounding has put beside each other are one instant. */
static const double INSTANT = 1e-12;

typedef enum state { UNUSED, TRAVELS, WAITS, OPEN, ENDED } state;

/* The capacities that a message between two ranks crosses, each once, and the flows on it. */
typedef struct route {
    int n;
    int first,
        last; /* of the flows that have arrived: the first is open, the others wait; -1: none */
    double latency_s;
    int capacity[];
} route;

/* From one rank to all: how far points are, and the routes that were asked for. */
typedef struct source {
    int64_t *latency_ps;
    int *links;
    route **to; /* [ranks] */
} source;

typedef struct flow {
    state state;
    int frozen;       /* in a solve: its rate is known */
    int seen;         /* in a solve: is part of it */
    unsigned version; /* of its rate: its events of older ones do not count */
    route *route;
    double left, rate, since_s; /* bytes left at since_s */
    int next;                   /* of the list of unused or ended ones, or of its route's */
} flow;

/* What a capacity carries. */
typedef struct load {
    int *flow; /* open ones */
    int n, room;
    double carried;
    /* in a solve */
    int seen, dirty, open;
    double rest;
} load;

struct tutti_flows {
    const tutti_topology *topology;
    source *source; /* [ranks] */
    flow *flow;
    int flows, room, unused, ended, last_ended;
    load *load;          /* [capacities] */
    int *dirty, dirties; /* capacities whose flows have changed */
    int *part_load, part_loads, *part_flow, part_flows, part_room; /* of a solve */
    tutti_events events; /* what: a flow and its version */
    int *links;          /* [points] of a route */
    double now_s;
};

tutti_status tutti_flows_open(const tutti_topology *t, tutti_flows **flows)
{
    tutti_flows *f = calloc(1, sizeof *f);
    if (f) {
        size_t points = (size_t)t->points + 1, capacities = (size_t)t->capacities + 1;
        size_t ranks = (size_t)t->ranks + 1;
        f->topology = t;
        f->unused = f->ended = -1;
        f->source = calloc(ranks, sizeof *f->source);
        f->load = calloc(capacities, sizeof *f->load);
        f->dirty = malloc(capacities * sizeof *f->dirty);
        f->part_load = malloc(capacities * sizeof *f->part_load);
        f->links = malloc(points * sizeof *f->links);
    }
    if (f && f->source && f->load && f->dirty && f->part_load && f->links) {
        *flows = f;
        return TUTTI_OK;
    }
    tutti_flows_close(f);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the flows of a topology");
}

static void free_source(source *s, int ranks)
{
    for (int r = 0; s->to && r < ranks; r++) free(s->to[r]);
    free(s->to);
    free(s->latency_ps);
    free(s->links);
}

void tutti_flows_close(tutti_flows *f)
{
    if (!f) return;
    for (int r = 0; f->source && r < f->topology->ranks; r++)
        free_source(&f->source[r], f->topology->ranks);
    for (int c = 0; f->load && c < f->topology->capacities; c++) free(f->load[c].flow);
    tutti_events_free(&f->events);
    free(f->source);
    free(f->load);
    free(f->dirty);
    free(f->part_load);
    free(f->part_flow);
    free(f->links);
    free(f->flow);
    free(f);
}

/* ---- routes ---- */

static tutti_status open_source(tutti_flows *f, int rank)
{
    const tutti_topology *t = f->topology;
    size_t points = (size_t)t->points;
    source *s = &f->source[rank];
    if (s->to) return TUTTI_OK;
    s->latency_ps = malloc(points * sizeof *s->latency_ps);
    s->links = malloc(points * sizeof *s->links);
    if (!s->latency_ps || !s->links) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for routes");
    tutti_status status = tutti_topology_distances(t, t->rank_point[rank], s->latency_ps, s->links);
    if (status) return status;
    s->to = calloc((size_t)t->ranks, sizeof(route *));
    return s->to ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for routes");
}

static tutti_status find_route(tutti_flows *f, int from, int to, route **found)
{
    const tutti_topology *t = f->topology;
    int b = t->rank_point[to];
    tutti_status status = open_source(f, from);
    if (status) return status;
    source *s = &f->source[from];
    if (!s->to[to]) {
        int n = tutti_topology_walk_back(t, s->latency_ps, s->links, b, to, f->links);
        route *r = malloc(sizeof *r + (2 * (size_t)n + 1) * sizeof *r->capacity);
        if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a route of %d links", n);
        *r = (route){.first = -1, .last = -1, .latency_s = 1e-12 * (double)s->latency_ps[b]};
        r->n = tutti_topology_route_capacities(t, f->links, n, b, r->capacity);
        s->to[to] = r;
    }
    *found = s->to[to];
    return TUTTI_OK;
}

tutti_status tutti_flows_latency(tutti_flows *f, int from, int to, double *latency_s)
{
    route *r;
    tutti_status status = find_route(f, from, to, &r);
    if (!status) *latency_s = r->latency_s;
    return status;
}

/* ---- flows ---- */

static int flow_of(int64_t what)
{
    return (int)(what & INT32_MAX);
}

static int is_current(const tutti_flows *f, int64_t what)
{
    return f->flow[flow_of(what)].version == (unsigned)((uint64_t)what >> 32);
}

static int64_t event_of(const tutti_flows *f, int number)
{
    return (int64_t)((uint64_t)f->flow[number].version << 32 | (uint64_t)number);
}

static tutti_status new_flow(tutti_flows *f, int *number)
{
    if (f->unused >= 0) {
        *number = f->unused;
        f->unused = f->flow[*number].next;
        return TUTTI_OK;
    }
    if (f->flows == f->room) {
        int room = f->room ? 2 * f->room : 64;
        flow *larger = realloc(f->flow, (size_t)room * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d flows", room);
        f->flow = larger;
        f->room = room;
    }
    *number = f->flows++;
    f->flow[*number] = (flow){.state = UNUSED};
    return TUTTI_OK;
}

tutti_status tutti_flows_start(
    tutti_flows *f, double now_s, int from, int to, double bytes, int *number)
{
    route *r;
    tutti_status status = find_route(f, from, to, &r);
    if (!status) status = new_flow(f, number);
    if (status) return status;
    flow *one = &f->flow[*number];
    unsigned version = one->version + 1;
    *one = (flow){.state = TRAVELS, .version = version, .route = r, .left = bytes};
    for (int i = 0; i < r->n; i++) f->load[r->capacity[i]].carried += bytes;
    return tutti_events_add(&f->events, now_s + r->latency_s, event_of(f, *number));
}

static void mark_dirty(tutti_flows *f, int capacity)
{
    if (!f->load[capacity].dirty) f->dirty[f->dirties++] = capacity;
    f->load[capacity].dirty = 1;
}

static tutti_status join_loads(tutti_flows *f, int number)
{
    const route *r = f->flow[number].route;
    for (int i = 0; i < r->n; i++) {
        load *l = &f->load[r->capacity[i]];
        if (l->n == l->room) {
            int room = l->room ? 2 * l->room : 4;
            int *larger = realloc(l->flow, (size_t)room * sizeof *larger);
            if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d flows", room);
            l->flow = larger;
            l->room = room;
        }
        l->flow[l->n++] = number;
        mark_dirty(f, r->capacity[i]);
    }
    return TUTTI_OK;
}

static void leave_loads(tutti_flows *f, int number)
{
    const route *r = f->flow[number].route;
    for (int i = 0; i < r->n; i++) {
        load *l = &f->load[r->capacity[i]];
        int k = 0;
        while (l->flow[k] != number) k++;
        l->flow[k] = l->flow[--l->n];
        mark_dirty(f, r->capacity[i]);
    }
}

static void end_flow(tutti_flows *f, int number)
{
    flow *one = &f->flow[number];
    one->state = ENDED;
    one->version++;
    one->next = -1;
    if (f->ended >= 0)
        f->flow[f->last_ended].next = number;
    else
        f->ended = number;
    f->last_ended = number;
}

/* ---- rates ---- */

static tutti_status add_to_part(tutti_flows *f, int number)
{
    if (f->flow[number].seen) return TUTTI_OK;
    if (f->part_flows == f->part_room) {
        int room = f->part_room ? 2 * f->part_room : 64;
        int *larger = realloc(f->part_flow, (size_t)room * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d flows", room);
        f->part_flow = larger;
        f->part_room = room;
    }
    f->flow[number].seen = 1;
    f->part_flow[f->part_flows++] = number;
    return TUTTI_OK;
}

static void add_load_to_part(tutti_flows *f, int capacity)
{
    load *l = &f->load[capacity];
    if (l->seen) return;
    l->seen = 1;
    l->open = l->n;
    l->rest = f->topology->capacity[capacity];
    f->part_load[f->part_loads++] = capacity;
}

/* Everything that shares capacities with what has changed. */
static tutti_status find_part(tutti_flows *f)
{
    tutti_status status = TUTTI_OK;
    f->part_loads = f->part_flows = 0;
    for (int i = 0; i < f->dirties; i++) {
        f->load[f->dirty[i]].dirty = 0;
        add_load_to_part(f, f->dirty[i]);
    }
    f->dirties = 0;
    for (int i = 0, done = 0; !status && i < f->part_loads; i++) {
        const load *l = &f->load[f->part_load[i]];
        for (int k = 0; !status && k < l->n; k++) status = add_to_part(f, l->flow[k]);
        for (; !status && done < f->part_flows; done++) {
            const route *r = f->flow[f->part_flow[done]].route;
            for (int k = 0; k < r->n; k++) add_load_to_part(f, r->capacity[k]);
        }
    }
    return status;
}

/* The least share that any capacity has for each of its open flows. */
static double least_share(const tutti_flows *f)
{
    double least = HUGE_VAL;
    for (int i = 0; i < f->part_loads; i++) {
        const load *l = &f->load[f->part_load[i]];
        if (l->open && l->rest / l->open < least) least = l->rest / l->open;
    }
    return least;
}

static tutti_status set_rate(tutti_flows *f, int number, double rate)
{
    flow *one = &f->flow[number];
    one->frozen = 1;
    for (int i = 0; i < one->route->n; i++) {
        load *l = &f->load[one->route->capacity[i]];
        l->rest -= rate;
        l->open--;
    }
    if (rate == one->rate) return TUTTI_OK; /* its event stands */
    one->left -= one->rate * (f->now_s - one->since_s);
    if (one->left < 0) one->left = 0;
    one->since_s = f->now_s;
    one->rate = rate;
    one->version++;
    return tutti_events_add(&f->events, f->now_s + one->left / rate, event_of(f, number));
}

/* Fills all links alike until one is full; its flows have their rates, and the others continue. Shares grow,
 * except for what rounding leaves. */
static tutti_status fill_part(tutti_flows *f)
{
    tutti_status status = TUTTI_OK;
    double share = 0;
    for (double least; !status && (least = least_share(f)) < HUGE_VAL;) {
        if (least > share) share = least;
        for (int i = 0; !status && i < f->part_loads; i++) {
            const load *l = &f->load[f->part_load[i]];
            if (!l->open || l->rest > share * (1 + 1e-9) * l->open) continue;
            for (int k = 0; !status && k < l->n; k++)
                if (!f->flow[l->flow[k]].frozen) status = set_rate(f, l->flow[k], share);
        }
    }
    return status;
}

static tutti_status solve(tutti_flows *f)
{
    if (!f->dirties) return TUTTI_OK;
    tutti_status status = find_part(f);
    if (!status) status = fill_part(f);
    for (int i = 0; i < f->part_loads; i++) f->load[f->part_load[i]].seen = 0;
    for (int i = 0; i < f->part_flows; i++)
        f->flow[f->part_flow[i]].seen = f->flow[f->part_flow[i]].frozen = 0;
    return status;
}

/* ---- time ---- */

int tutti_flows_ahead(const tutti_flows *f, int i)
{
    if (i >= f->events.n) return -1;
    const int number = flow_of(f->events.heap[i].what);
    __builtin_prefetch(&f->flow[number]);
    return number;
}

tutti_status tutti_flows_next(tutti_flows *f, double *at_s)
{
    tutti_timed_event e;
    tutti_status status = solve(f);
    /* Events of rates that have changed since do not happen. */
    while (!status && f->events.n && !is_current(f, f->events.heap[0].what))
        tutti_events_take(&f->events, HUGE_VAL, &e);
    *at_s = f->ended >= 0 ? f->now_s : tutti_events_next(&f->events);
    return status;
}

static tutti_status open_flow(tutti_flows *f, int number)
{
    f->flow[number].state = OPEN;
    f->flow[number].since_s = f->now_s;
    return join_loads(f, number);
}

/* The first flow that has arrived on its route is open; one that arrives later waits for it. */
static tutti_status arrive(tutti_flows *f, int number)
{
    flow *one = &f->flow[number];
    route *r = one->route;
    one->state = WAITS;
    one->next = -1;
    if (r->first >= 0)
        f->flow[r->last].next = number;
    else
        r->first = number;
    r->last = number;
    return r->first == number ? open_flow(f, number) : TUTTI_OK;
}

static tutti_status arrive_or_end(tutti_flows *f, int number)
{
    flow *one = &f->flow[number];
    if (one->state == TRAVELS && one->route->n) return arrive(f, number);
    route *r = one->route;
    int next = one->next;
    if (one->state == OPEN) leave_loads(f, number);
    if (one->state == OPEN) r->first = next;
    tutti_status status = one->state == OPEN && next >= 0 ? open_flow(f, next) : TUTTI_OK;
    end_flow(f, number);
    return status;
}

tutti_status tutti_flows_end(tutti_flows *f, double now_s, int *number)
{
    tutti_timed_event e;
    tutti_status status = TUTTI_OK;
    if (now_s > f->now_s) f->now_s = now_s;
    while (!status && tutti_events_take(&f->events, now_s * (1 + INSTANT), &e))
        if (is_current(f, e.what)) status = arrive_or_end(f, flow_of(e.what));
    *number = f->ended;
    if (*number < 0) return status;
    flow *one = &f->flow[*number];
    f->ended = one->next;
    one->state = UNUSED;
    one->next = f->unused;
    f->unused = *number;
    return status;
}

double tutti_flows_rate(const tutti_flows *f, int number)
{
    return f->flow[number].state == OPEN ? f->flow[number].rate : 0;
}

double tutti_flows_carried(const tutti_flows *f, int capacity)
{
    return f->load[capacity].carried;
}
