#include "collectives/transport/virtual_parts.h"

#include <math.h>
#include <sys/mman.h>

tutti_status tutti_transport_virtual(
    tutti_virtual_world *world, int rank, int lanes, tutti_transport **transport)
{
    if (rank < 0 || rank >= world->ranks || lanes < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "no rank %d with %d lanes in a world of %d ranks", rank,
            lanes, world->ranks);
    tutti_virtual_transport *v = malloc(sizeof *v);
    tutti_virtual_arithmetic *a = malloc(sizeof *a);
    int *host = malloc((size_t)world->ranks * sizeof *host);
    if (!v || !a || !host) {
        free(v);
        free(a);
        free(host);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a transport");
    }
    const tutti_topology *t = world->topology;
    int near = 1;
    for (int r = 0; r < world->ranks; r++) {
        host[r] = t->point[t->rank_point[r]].host;
        near &= host[r] == host[0];
    }
    *a = (tutti_virtual_arithmetic){
        .base = {&tutti_virtual_arithmetic_ops}, .world = world, .rank = rank};
    *v = (tutti_virtual_transport){.base = {.ops = &tutti_virtual_ops,
                                       .rank = rank,
                                       .size = world->ranks,
                                       .lanes = lanes,
                                       .near = near,
                                       .host = host,
                                       .tags = (int64_t)1 << 30,
                                       .arithmetic = &a->base},
        .world = world};
    *transport = &v->base;
    return TUTTI_OK;
}

tutti_status tutti_virtual_world_new(
    const tutti_topology *topology, int ranks, tutti_virtual_world **world)
{
    if (ranks < 1 || ranks > topology->ranks)
        return tutti_fail(TUTTI_ERR_INVAL, "a simulation of %d ranks on a topology that has %d",
            ranks, topology->ranks);
    tutti_virtual_world *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a simulation");
    w->topology = topology;
    w->ranks = ranks;
    w->unused = -1;
    w->payload = mmap(NULL, TUTTI_VIRTUAL_PAYLOAD_BYTES, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    w->place = calloc((size_t)ranks, sizeof *w->place);
    w->concerned = malloc((size_t)ranks * sizeof *w->concerned);
    tutti_status status = tutti_flows_open(topology, &w->flows);
    if (!status && (w->payload == MAP_FAILED || !w->place || !w->concerned))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a simulation of %d ranks", ranks);
    if (status)
        tutti_virtual_world_free(w);
    else
        *world = w;
    return status;
}

void tutti_virtual_world_free(tutti_virtual_world *w)
{
    if (!w) return;
    tutti_virtual_free_messages(w);
    for (tutti_timed_event e;
         tutti_events_take(&w->events, HUGE_VAL, &e);) /* steps that were not tested */
        free(w->subject[e.what].step);
    if (w->payload && w->payload != MAP_FAILED) munmap(w->payload, TUTTI_VIRTUAL_PAYLOAD_BYTES);
    tutti_events_free(&w->events);
    tutti_flows_close(w->flows);
    free(w->subject);
    free(w->of_flow);
    free(w->table.slot);
    free(w->place);
    free(w->concerned);
    free(w);
}

void *tutti_virtual_payload(const tutti_virtual_world *world)
{
    return world->payload;
}

void tutti_virtual_break(tutti_virtual_world *world)
{
    world->broken = 1;
    tutti_virtual_raise_all(world);
}

double tutti_virtual_now(const tutti_virtual_world *world)
{
    return world->now_s;
}

tutti_status tutti_virtual_wake_at(tutti_virtual_world *world, double at_s, int rank)
{
    return tutti_virtual_add_event(
        world, at_s > world->now_s ? at_s : world->now_s, (tutti_virtual_subject){.rank = rank});
}

tutti_status tutti_virtual_when(tutti_virtual_world *world, double *at_s)
{
    tutti_status status = tutti_flows_next(world->flows, at_s);
    if (!status) *at_s = fmin(*at_s, tutti_events_next(&world->events));
    return status;
}

static tutti_status run_event(tutti_virtual_world *w, int number)
{
    const tutti_virtual_subject s = w->subject[number];
    w->subject[number].next = w->unused;
    w->unused = number;
    w->account.events++;
    if (s.message) return tutti_virtual_advance(w, s.message);
    if (s.step) tutti_virtual_end_step(s.step);
    tutti_virtual_concern(w, s.rank, s.step ? TUTTI_VIRTUAL_FLIGHTS : TUTTI_VIRTUAL_MORE);
    return TUTTI_OK;
}

/* What happens now. */
static tutti_status run_instant(tutti_virtual_world *w)
{
    tutti_timed_event event;
    int flow = -1;
    tutti_status status = tutti_flows_end(w->flows, w->now_s, &flow);
    while (!status && flow >= 0) {
        w->account.events++;
        status = tutti_virtual_end_flow(w, w->of_flow[flow]);
        if (!status) status = tutti_flows_end(w->flows, w->now_s, &flow);
    }
    while (!status && tutti_events_take(&w->events, w->now_s, &event))
        status = run_event(w, (int)event.what);
    return status;
}

static void fetch_watcher(const tutti_message *m)
{
    if (!m || !m->news) return;
    __builtin_prefetch(m->news, 1);
    if (m->watcher->ahead) m->watcher->ahead(m->watcher->ctx);
}

/* Fetches into the cache what the next events will need, the less of it the further ahead: each step needs what the
 * last one has fetched. Large simulations wait for memory. */
static void look_ahead(const tutti_virtual_world *w)
{
    enum { NEAR = 3, FAR = 7, FARTHEST = 15 }; /* events */
    for (int i = FARTHEST - 1; i >= 0; i--) {
        const int flow = tutti_flows_ahead(w->flows, i);
        const tutti_message *m = flow >= 0 && i < FAR ? w->of_flow[flow] : NULL;
        if (flow >= 0 && !m) __builtin_prefetch(&w->of_flow[flow]);
        if (!m) continue;
        if (i >= NEAR) {
            __builtin_prefetch(m);
        } else if (i) {
            __builtin_prefetch(m->partner);
            __builtin_prefetch(m->watcher);
        } else {
            fetch_watcher(m);
            fetch_watcher(m->partner);
        }
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

tutti_status tutti_virtual_next(tutti_virtual_world *w, const int **rank, int *ranks)
{
    double at_s;
    for (int i = 0; i < w->concerns; i++) w->place[w->concerned[i]].concerned = 0;
    w->concerns = 0;
    tutti_status status = tutti_virtual_when(w, &at_s);
    while (!status && !w->concerns && at_s < HUGE_VAL) {
        if (at_s > w->now_s) w->now_s = at_s;
        status = run_instant(w);
        if (!status) status = tutti_virtual_when(w, &at_s);
    }
    look_ahead(w);
    qsort(w->concerned, (size_t)w->concerns, sizeof *w->concerned, by_number);
    *rank = w->concerned;
    *ranks = w->concerns;
    return status;
}

int tutti_virtual_only_flights(const tutti_virtual_world *world, int rank)
{
    return world->place[rank].concerned == TUTTI_VIRTUAL_FLIGHTS;
}

tutti_virtual_account tutti_virtual_totals(const tutti_virtual_world *world)
{
    return world->account;
}

int tutti_virtual_busiest(const tutti_virtual_world *world, double *share)
{
    int busiest = -1;
    *share = 0;
    for (int c = 0; c < world->topology->capacities; c++) {
        const double most = world->topology->capacity[c] * world->now_s;
        const double used = most > 0 ? tutti_flows_carried(world->flows, c) / most : 0;
        if (used <= *share) continue;
        *share = used;
        busiest = c;
    }
    return busiest;
}
