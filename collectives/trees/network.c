#include "collectives/trees/network.h"

#include "dag/base/log.h"

#include <stdlib.h>

tutti_status tutti_tree_network_new(int ranks, int capacities, tutti_tree_network **network)
{
    enum { MOST_RANKS = 1 << 14 }; /* so that pairs are an int */
    if (ranks > MOST_RANKS)
        return tutti_fail(
            TUTTI_ERR_USAGE, "%d ranks, and trees are found for %d at most", ranks, MOST_RANKS);
    tutti_tree_network *n = calloc(1, sizeof *n);
    size_t pairs = (size_t)ranks * (size_t)ranks;
    if (!n || !(n->edge_of = malloc((pairs + 1) * sizeof *n->edge_of)) ||
        !(n->capacity = calloc((size_t)capacities + 1, sizeof *n->capacity)) ||
        !(n->first = calloc(1, sizeof *n->first))) {
        tutti_tree_network_free(n);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a network of %d ranks", ranks);
    }
    n->ranks = ranks;
    n->capacities = capacities;
    for (size_t i = 0; i < pairs; i++) n->edge_of[i] = -1;
    *network = n;
    return TUTTI_OK;
}

void tutti_tree_network_free(tutti_tree_network *n)
{
    if (!n) return;
    free(n->edge_of);
    free(n->from);
    free(n->to);
    free(n->first);
    free(n->use);
    free(n->capacity);
    free(n);
}

/* *array with room for `room` elements. */
static int resize(int **array, int room)
{
    int *larger = realloc(*array, (size_t)room * sizeof *larger);
    if (larger) *array = larger;
    return larger != NULL;
}

tutti_status tutti_tree_network_add(
    tutti_tree_network *n, int from, int to, const int use[], int uses)
{
    int ok = 1;
    if (n->edges == n->edge_room) {
        n->edge_room = n->edges ? 2 * n->edges : 64;
        ok = resize(&n->from, n->edge_room) && resize(&n->to, n->edge_room) &&
             resize(&n->first, n->edge_room + 1);
    }
    if (ok && n->uses + uses > n->use_room) {
        n->use_room = 2 * (n->uses + uses);
        ok = resize(&n->use, n->use_room);
    }
    if (!ok) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a network of %d ranks", n->ranks);
    for (int i = 0; i < uses; i++) n->use[n->uses++] = use[i];
    n->from[n->edges] = from;
    n->to[n->edges] = to;
    n->edge_of[from * n->ranks + to] = n->edges++;
    n->first[n->edges] = n->uses;
    return TUTTI_OK;
}

static tutti_status new_of(const tutti_topology *t, tutti_tree_network **network)
{
    tutti_status status = tutti_tree_network_new(t->ranks, t->capacities, network);
    for (int c = 0; !status && c < t->capacities; c++) (*network)->capacity[c] = t->capacity[c];
    return status;
}

/* The rank at each point; -1: none. NULL: no memory. */
static int *find_ranks(const tutti_topology *t)
{
    int *rank = malloc(((size_t)t->points + 1) * sizeof *rank);
    for (int p = 0; rank && p < t->points; p++) rank[p] = -1;
    for (int r = t->ranks - 1; rank && r >= 0; r--) rank[t->rank_point[r]] = r;
    return rank;
}

tutti_status tutti_tree_network_of_cables(const tutti_topology *t, tutti_tree_network **network)
{
    tutti_tree_network *n = NULL;
    int *rank = find_ranks(t);
    tutti_status status =
        rank ? new_of(t, &n) : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a network");
    for (int i = 0; !status && i < t->links; i++) {
        const tutti_link *l = &t->link[i];
        int from = rank[l->from], to = rank[l->to];
        if (from < 0 || to < 0 || n->edge_of[from * n->ranks + to] >= 0) continue;
        status = tutti_tree_network_add(n, from, to, &l->capacity, l->capacity >= 0);
    }
    free(rank);
    if (status)
        tutti_tree_network_free(n);
    else
        *network = n;
    return status;
}

typedef struct routes {
    const tutti_topology *t;
    tutti_tree_network *n;
    int64_t *latency_ps; /* [points] from one rank */
    int *links;          /* [points] */
    int *route;          /* [points] */
    int *use;            /* [2 points] */
} routes;

static tutti_status add_route(const routes *r, int from, int to)
{
    const tutti_topology *t = r->t;
    int point = t->rank_point[to];
    int links = tutti_topology_walk_back(t, r->latency_ps, r->links, point, to, r->route);
    int uses = tutti_topology_route_capacities(t, r->route, links, point, r->use);
    return tutti_tree_network_add(r->n, from, to, r->use, uses);
}

tutti_status tutti_tree_network_of_routes(const tutti_topology *t, tutti_tree_network **network)
{
    size_t points = (size_t)t->points + 1;
    routes r = {.t = t};
    if (t->ranks > TUTTI_TREE_NETWORK_MOST)
        return tutti_fail(TUTTI_ERR_USAGE,
            "trees are packed along routes for %d ranks at most, here are %d",
            TUTTI_TREE_NETWORK_MOST, t->ranks);
    r.latency_ps = malloc(points * sizeof *r.latency_ps);
    r.links = malloc(points * sizeof *r.links);
    r.route = malloc(points * sizeof *r.route);
    r.use = malloc(2 * points * sizeof *r.use);
    tutti_status status = r.latency_ps && r.links && r.route && r.use
                              ? new_of(t, &r.n)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory for routes");
    for (int a = 0; !status && a < t->ranks; a++) {
        status = tutti_topology_distances(t, t->rank_point[a], r.latency_ps, r.links);
        for (int b = 0; !status && b < t->ranks; b++)
            if (b != a) status = add_route(&r, a, b);
    }
    free(r.latency_ps);
    free(r.links);
    free(r.route);
    free(r.use);
    if (status)
        tutti_tree_network_free(r.n);
    else
        *network = r.n;
    return status;
}

tutti_status tutti_tree_network_both_ways(const tutti_tree_network *n, tutti_tree_network **both)
{
    tutti_tree_network *b = NULL;
    int *use = malloc(((size_t)n->uses + 1) * sizeof *use);
    tutti_status status = use ? tutti_tree_network_new(n->ranks, n->capacities, &b)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a network");
    for (int c = 0; !status && c < n->capacities; c++) b->capacity[c] = n->capacity[c];
    for (int e = 0; !status && e < n->edges; e++) {
        int back = n->edge_of[n->to[e] * n->ranks + n->from[e]], uses = 0;
        if (back < 0) continue;
        for (int k = n->first[e]; k < n->first[e + 1]; k++) use[uses++] = n->use[k];
        for (int k = n->first[back]; k < n->first[back + 1]; k++) use[uses++] = n->use[k];
        status = tutti_tree_network_add(b, n->from[e], n->to[e], use, uses);
    }
    free(use);
    if (status)
        tutti_tree_network_free(b);
    else
        *both = b;
    return status;
}

/* Marks what can be reached from a rank. Returns how many ranks. */
static int mark_reached(const tutti_tree_network *n, int rank, char reached[])
{
    int count = 1;
    reached[rank] = 1;
    for (int v = 0; v < n->ranks; v++)
        if (!reached[v] && n->edge_of[rank * n->ranks + v] >= 0)
            count += mark_reached(n, v, reached);
    return count;
}

int tutti_tree_network_reaches_all(const tutti_tree_network *n, int from)
{
    char *reached = calloc((size_t)n->ranks + 1, 1);
    int all = reached && mark_reached(n, from, reached) == n->ranks;
    free(reached);
    return all;
}

int tutti_tree_network_add_load(
    const tutti_tree_network *n, const int parent[], double weight, double load[])
{
    for (int v = 0; v < n->ranks; v++) {
        int e = parent[v] < 0 ? -1 : n->edge_of[parent[v] * n->ranks + v];
        if (parent[v] >= 0 && e < 0) return 0;
        for (int k = e < 0 ? 0 : n->first[e]; e >= 0 && k < n->first[e + 1]; k++)
            load[n->use[k]] += weight;
    }
    return 1;
}
