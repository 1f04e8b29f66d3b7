#include "collectives/links/topology.h"

#include "collectives/links/events.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

tutti_status tutti_topology_new(tutti_topology **topology)
{
    tutti_topology *t = calloc(1, sizeof *t);
    if (!t) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    *topology = t;
    return TUTTI_OK;
}

void tutti_topology_free(tutti_topology *t)
{
    if (!t) return;
    free(t->kind);
    free(t->point);
    free(t->link);
    free(t->capacity);
    free(t->rank_point);
    free(t->out_first);
    free(t->out);
    free(t);
}

/* Room for one more after the first n. */
static tutti_status make_room(void **array, size_t size, int n, int *room)
{
    if (n < *room) return TUTTI_OK;
    int wanted = *room ? 2 * *room : 16;
    void *larger = realloc(*array, (size_t)wanted * size);
    if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    *array = larger;
    *room = wanted;
    return TUTTI_OK;
}

tutti_status tutti_topology_add_kind(tutti_topology *t, const tutti_point_kind *kind, int *number)
{
    tutti_status status = make_room((void **)&t->kind, sizeof *t->kind, t->kinds, &t->kind_room);
    if (status) return status;
    *number = t->kinds;
    t->kind[t->kinds++] = *kind;
    return TUTTI_OK;
}

tutti_status tutti_topology_add_capacity(tutti_topology *t, double bytes_per_s, int *number)
{
    tutti_status status =
        make_room((void **)&t->capacity, sizeof *t->capacity, t->capacities, &t->capacity_room);
    if (status) return status;
    *number = t->capacities;
    t->capacity[t->capacities++] = bytes_per_s;
    return TUTTI_OK;
}

tutti_status tutti_topology_add_point(tutti_topology *t, const tutti_point *point, int *number)
{
    tutti_status status =
        make_room((void **)&t->point, sizeof *t->point, t->points, &t->point_room);
    if (status) return status;
    tutti_point *p = &t->point[t->points];
    *p = *point;
    if (p->is == TUTTI_POINT_HOST) {
        p->host = t->points;
        p->capacity = -1;
        if (p->kind >= 0 && t->kind[p->kind].memory > 0)
            status = tutti_topology_add_capacity(t, t->kind[p->kind].memory, &p->capacity);
    }
    if (status) return status;
    *number = t->points++;
    return TUTTI_OK;
}

static tutti_status add_link(
    tutti_topology *t, int from, int to, int capacity, int count, int back, int64_t latency_ps)
{
    tutti_status status = make_room((void **)&t->link, sizeof *t->link, t->links, &t->link_room);
    if (status) return status;
    t->link[t->links++] = (tutti_link){from, to, capacity, count, back, latency_ps};
    return TUTTI_OK;
}

tutti_status tutti_topology_add_cable(
    tutti_topology *t, int a, int b, double bytes_per_s, int64_t latency_ps, int count)
{
    int there, back, first = t->links;
    tutti_status status = tutti_topology_add_capacity(t, count * bytes_per_s, &there);
    if (!status) status = tutti_topology_add_capacity(t, count * bytes_per_s, &back);
    if (!status) status = add_link(t, a, b, there, count, first + 1, latency_ps);
    return status ? status : add_link(t, b, a, back, count, first, latency_ps);
}

tutti_status tutti_topology_add_shared(
    tutti_topology *t, int a, int b, int capacity, int64_t latency_ps)
{
    int first = t->links;
    tutti_status status = add_link(t, a, b, capacity, 1, first + 1, latency_ps);
    return status ? status : add_link(t, b, a, capacity, 1, first, latency_ps);
}

tutti_status tutti_topology_add_rank(tutti_topology *t, int point)
{
    tutti_status status =
        make_room((void **)&t->rank_point, sizeof *t->rank_point, t->ranks, &t->rank_room);
    if (status) return status;
    t->rank_point[t->ranks++] = point;
    return TUTTI_OK;
}

static tutti_status sort_links(tutti_topology *t)
{
    t->out_first = calloc((size_t)t->points + 1, sizeof *t->out_first);
    t->out = malloc(((size_t)t->links + 1) * sizeof *t->out);
    if (!t->out_first || !t->out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    for (int i = 0; i < t->links; i++) t->out_first[t->link[i].from + 1]++;
    for (int p = 0; p < t->points; p++) t->out_first[p + 1] += t->out_first[p];
    for (int i = t->links - 1; i >= 0; i--) t->out[--t->out_first[t->link[i].from + 1]] = i;
    for (int p = 0; p < t->points; p++) t->out_first[p] = t->out_first[p + 1];
    t->out_first[t->points] = t->links;
    return TUTTI_OK;
}

/* From a rank that passes messages on, all are reached that reach it: asking from one of these is enough. Devices pass
 * nothing on. */
static tutti_status check_reach(const tutti_topology *t, const char *name)
{
    int64_t *latency_ps = malloc(((size_t)t->points + 1) * sizeof *latency_ps);
    int *links = malloc(((size_t)t->points + 1) * sizeof *links);
    tutti_status status =
        latency_ps && links ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    for (int a = 0, last = 0; !status && a < t->ranks && !last; a++) {
        const int from = t->rank_point[a];
        status = tutti_topology_distances(t, from, latency_ps, links);
        for (int r = a + 1; !status && r < t->ranks; r++)
            if (links[t->rank_point[r]] < 0)
                status = tutti_fail(TUTTI_ERR_FORMAT,
                    "%s%srank %d (%s) cannot reach rank %d (%s): nothing connects them",
                    name ? name : "", name ? ": " : "", a, t->point[from].name, r,
                    t->point[t->rank_point[r]].name);
        last = t->point[from].is != TUTTI_POINT_DEVICE;
    }
    free(latency_ps);
    free(links);
    return status;
}

tutti_status tutti_topology_finish(tutti_topology *t, const char *name)
{
    if (!t->ranks) return tutti_fail(TUTTI_ERR_FORMAT, "a topology without ranks");
    tutti_status status = sort_links(t);
    return status ? status : check_reach(t, name);
}

tutti_status tutti_topology_star(int P, double bytes_per_s, int64_t latency_ps,
    const tutti_point_kind *kind, tutti_topology **star)
{
    tutti_topology *t = NULL;
    tutti_point hub = {
        .name = "s0", .is = TUTTI_POINT_SWITCH, .kind = -1, .host = -1, .capacity = -1};
    int middle, host, number;
    tutti_status status = tutti_topology_new(&t);
    if (status) return status;
    status = tutti_topology_add_kind(t, kind, &number);
    if (!status) status = tutti_topology_add_point(t, &hub, &middle);
    for (int r = 0; !status && r < P; r++) {
        tutti_point p = {.is = TUTTI_POINT_HOST, .kind = number};
        snprintf(p.name, sizeof p.name, "h%d", r);
        status = tutti_topology_add_point(t, &p, &host);
        if (!status)
            status = tutti_topology_add_cable(t, host, middle, bytes_per_s, latency_ps / 2, 1);
        if (!status) status = tutti_topology_add_rank(t, host);
    }
    if (!status) status = tutti_topology_finish(t, NULL);
    if (status)
        tutti_topology_free(t);
    else
        *star = t;
    return status;
}

const tutti_point_kind *tutti_topology_kind_of(const tutti_topology *t, int rank)
{
    static const tutti_point_kind free_of_cost = {.name = ""};
    int kind = t->point[t->rank_point[rank]].kind;
    return kind < 0 ? &free_of_cost : &t->kind[kind];
}

static int is_shorter(int64_t latency_ps, int links, int64_t than_ps, int than)
{
    return than < 0 || latency_ps < than_ps || (latency_ps == than_ps && links < than);
}

tutti_status tutti_topology_distances(
    const tutti_topology *t, int from, int64_t *latency_ps, int *links)
{
    tutti_events near = {.heap = NULL};
    tutti_timed_event e;
    for (int p = 0; p < t->points; p++) links[p] = -1;
    latency_ps[from] = links[from] = 0;
    tutti_status status = tutti_events_add(&near, 0, from);
    while (!status && tutti_events_take(&near, HUGE_VAL, &e)) {
        int p = (int)e.what;
        if (e.at_s > (double)latency_ps[p]) continue;
        if (p != from && t->point[p].is == TUTTI_POINT_DEVICE) continue;
        for (int k = t->out_first[p]; !status && k < t->out_first[p + 1]; k++) {
            const tutti_link *l = &t->link[t->out[k]];
            int64_t then_ps = latency_ps[p] + l->latency_ps;
            if (!is_shorter(then_ps, links[p] + 1, latency_ps[l->to], links[l->to])) continue;
            latency_ps[l->to] = then_ps;
            links[l->to] = links[p] + 1;
            status = tutti_events_add(&near, (double)then_ps, l->to);
        }
    }
    tutti_events_free(&near);
    return status;
}

/* Whether a shortest route to the end of a link comes over it. */
static int is_on_route(
    const tutti_topology *t, const int64_t *latency_ps, const int *links, const tutti_link *l)
{
    int passes = links[l->from] == 0 || t->point[l->from].is != TUTTI_POINT_DEVICE;
    return passes && links[l->from] >= 0 && links[l->from] + 1 == links[l->to] &&
           latency_ps[l->from] + l->latency_ps == latency_ps[l->to];
}

int tutti_topology_walk_back(const tutti_topology *t, const int64_t *latency_ps, const int *links,
    int to, int spread, int link[])
{
    int n = 0;
    for (int p = to; links[p] > 0; p = t->link[link[n - 1]].from) {
        int ways = 0;
        /* A link that ends here is the way back of one that begins here. */
        for (int k = t->out_first[p]; k < t->out_first[p + 1]; k++)
            ways += is_on_route(t, latency_ps, links, &t->link[t->link[t->out[k]].back]);
        int chosen = spread % ways;
        spread /= ways;
        for (int k = t->out_first[p]; k < t->out_first[p + 1]; k++) {
            int l = t->link[t->out[k]].back;
            if (is_on_route(t, latency_ps, links, &t->link[l]) && !chosen--) link[n] = l;
        }
        n++;
    }
    return n;
}

static void add_once(int capacity[], int *n, int new)
{
    for (int i = 0; i < *n; i++)
        if (capacity[i] == new) return;
    if (new >= 0) capacity[(*n)++] = new;
}

int tutti_topology_route_capacities(
    const tutti_topology *t, const int link[], int links, int point, int capacity[])
{
    int n = 0;
    for (int i = 0; i < links; i++) {
        const tutti_link *l = &t->link[link[i]];
        add_once(capacity, &n, l->capacity);
        if (t->point[l->from].is == TUTTI_POINT_SWITCH)
            add_once(capacity, &n, t->point[l->from].capacity);
    }
    if (!links) add_once(capacity, &n, t->point[point].capacity);
    return n;
}
