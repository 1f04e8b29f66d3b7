#include "collectives/trees/pack.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DENOMINATOR = 64, MOST_UNITS = 1 << 16 };

/* Whole capacities between ranks, and what a search for a path needs. */
typedef struct packing {
    int P, root;
    int *left; /* [P * P] units from u to v that no tree has taken */
    int *rest; /* [P * P] of these, what a flow has left */
    int *from; /* [P] where a path came from; -1: not reached */
    int *queue;
    int reached;
} packing;

/* ---- whole capacities ---- */

int tutti_pack_is_exact(const tutti_tree_network *n, double *unit)
{
    double least = HUGE_VAL;
    char *used = calloc((size_t)n->capacities + 1, 1);
    int exact = used != NULL;
    for (int e = 0; exact && e < n->edges; e++) {
        exact = n->first[e + 1] == n->first[e] + 1 && !used[n->use[n->first[e]]]++;
        if (exact) least = fmin(least, n->capacity[n->use[n->first[e]]]);
    }
    free(used);
    for (int q = 1; exact && q <= MOST_DENOMINATOR; q++) {
        int whole = 1;
        for (int e = 0; whole && e < n->edges; e++) {
            double units = n->capacity[n->use[n->first[e]]] * q / least;
            whole = fabs(units - round(units)) < 1e-9 * units && units < MOST_UNITS;
        }
        if (!whole) continue;
        *unit = least / q;
        return 1;
    }
    return 0;
}

static void free_packing(packing *p)
{
    free(p->left);
    free(p->rest);
    free(p->from);
    free(p->queue);
}

static tutti_status open_packing(packing *p, const tutti_tree_network *n, int root, double unit)
{
    size_t P = (size_t)n->ranks;
    *p = (packing){.P = n->ranks,
        .root = root,
        .left = calloc(P * P, sizeof(int)),
        .rest = malloc(P * P * sizeof(int)),
        .from = malloc(P * sizeof(int)),
        .queue = malloc(P * sizeof(int))};
    if (!p->left || !p->rest || !p->from || !p->queue)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to pack trees of %d ranks", n->ranks);
    for (int e = 0; e < n->edges; e++)
        p->left[n->from[e] * p->P + n->to[e]] =
            (int)llround(n->capacity[n->use[n->first[e]]] / unit);
    return TUTTI_OK;
}

/* ---- flows ---- */

/* Searches a shortest path from the root in what is left of a flow. */
static int find_path(packing *p, int to)
{
    int begin = 0, end = 0;
    for (int v = 0; v < p->P; v++) p->from[v] = -1;
    p->from[p->root] = p->root;
    p->queue[end++] = p->root;
    while (begin < end && p->from[to] < 0) {
        int u = p->queue[begin++];
        for (int v = 0; v < p->P; v++) {
            if (p->from[v] >= 0 || !p->rest[u * p->P + v]) continue;
            p->from[v] = u;
            p->queue[end++] = v;
        }
    }
    p->reached = end;
    return p->from[to] >= 0;
}

/* How much flows from the root to a rank, up to a limit. */
static int flow_to(packing *p, int to, int limit)
{
    int flow = 0;
    memcpy(p->rest, p->left, (size_t)p->P * (size_t)p->P * sizeof *p->rest);
    while (flow < limit && find_path(p, to)) {
        int least = limit - flow;
        for (int v = to; v != p->root; v = p->from[v])
            if (p->rest[p->from[v] * p->P + v] < least) least = p->rest[p->from[v] * p->P + v];
        for (int v = to; v != p->root; v = p->from[v]) {
            p->rest[p->from[v] * p->P + v] -= least;
            p->rest[v * p->P + p->from[v]] += least;
        }
        flow += least;
    }
    return flow;
}

static int least_cut(packing *p)
{
    int least = MOST_UNITS * p->P;
    for (int v = 0; v < p->P; v++)
        if (v != p->root) least = flow_to(p, v, least);
    return p->P > 1 ? least : 0;
}

static int cut_is_at_least(packing *p, int limit)
{
    for (int v = 0; v < p->P; v++)
        if (v != p->root && flow_to(p, v, limit) < limit) return 0;
    return 1;
}

tutti_status tutti_pack_cut(const tutti_tree_network *n, int root, double *rate)
{
    packing p;
    double most = 0, unit;
    for (int e = 0; e < n->edges; e++) most = fmax(most, n->capacity[n->use[n->first[e]]]);
    if (!tutti_pack_is_exact(n, &unit)) unit = most / (1 << 20);
    tutti_status status = open_packing(&p, n, root, unit);
    if (!status) {
        int least = (1 << 30) / (n->ranks + 1);
        for (int v = 0; v < n->ranks; v++)
            if (v != root) least = flow_to(&p, v, least);
        *rate = n->ranks > 1 ? least * unit : 0;
    }
    free_packing(&p);
    return status;
}

/* ---- trees ---- */

/* Takes or gives back `times` a tree. */
static void take_tree(packing *p, const int parent[], int times)
{
    for (int v = 0; v < p->P; v++)
        if (parent[v] >= 0) p->left[parent[v] * p->P + v] -= times;
}

/* Tries to add an edge from a rank of this depth to one outside; the cut must stay at least this. */
static int add_edge(packing *p, int parent[], int depth[], int at, int cut)
{
    for (int u = 0; u < p->P; u++) {
        if (depth[u] != at) continue;
        for (int v = 0; v < p->P; v++) {
            int *left = &p->left[u * p->P + v];
            if (depth[v] >= 0 || !*left) continue;
            --*left;
            if (cut_is_at_least(p, cut)) {
                parent[v] = u;
                depth[v] = at + 1;
                return 1;
            }
            ++*left;
        }
    }
    return 0;
}

static tutti_status report_stuck(const packing *p, const int depth[], int cut)
{
    int in = 0;
    for (int v = 0; v < p->P; v++) in += depth[v] >= 0;
    return tutti_fail(TUTTI_ERR_INTERNAL,
        "a tree from rank %d stops at %d of %d ranks: no edge leaves a cut of %d; a fault of Tutti",
        p->root, in, p->P, cut);
}

/* Grows a tree so that what is left has this cut. It takes the tree's edges. */
static tutti_status grow_tree(packing *p, int parent[], int depth[], int cut)
{
    for (int v = 0; v < p->P; v++) parent[v] = depth[v] = -1;
    depth[p->root] = 0;
    for (int n = 1; n < p->P; n++) {
        int at = 0;
        while (at < n && !add_edge(p, parent, depth, at, cut)) at++;
        if (at == n) return report_stuck(p, depth, cut);
    }
    return TUTTI_OK;
}

/* How often a tree, which has been taken once, can be taken in all while the cut falls by no more. */
static int count_times(packing *p, const int parent[], int cut)
{
    int most = cut + 1, times = 1;
    for (int v = 0; v < p->P; v++)
        if (parent[v] >= 0 && p->left[parent[v] * p->P + v] + 1 < most)
            most = p->left[parent[v] * p->P + v] + 1;
    while (times < most) {
        int more = (most - times + 1) / 2;
        take_tree(p, parent, more);
        if (cut_is_at_least(p, cut + 1 - times - more)) {
            times += more;
        } else {
            take_tree(p, parent, -more);
            most = times + more - 1;
        }
    }
    return times;
}

tutti_status tutti_pack_trees(const tutti_tree_network *n, int root, tutti_forest **forest)
{
    packing p = {.P = 0};
    tutti_forest *f = NULL;
    double unit;
    int *parent = malloc(2 * (size_t)n->ranks * sizeof *parent);
    tutti_status status = parent ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for trees");
    if (!status && !tutti_pack_is_exact(n, &unit))
        status = tutti_fail(TUTTI_ERR_INVAL, "capacities that are no multiples of a unit");
    if (!status) status = open_packing(&p, n, root, unit);
    int k = status ? 0 : least_cut(&p);
    if (!status) status = tutti_forest_new(n->ranks, 0, &f);
    while (!status && k > 0) {
        status = grow_tree(&p, parent, parent + n->ranks, k - 1);
        int times = status ? 0 : count_times(&p, parent, k - 1);
        if (!status) status = tutti_forest_add(f, parent, times * unit);
        k -= times;
    }
    free_packing(&p);
    free(parent);
    if (status)
        tutti_forest_free(f);
    else
        *forest = f;
    return status;
}

tutti_status tutti_pack_one_hop(int P, int root, double link_rate, tutti_forest **forest)
{
    tutti_forest *f;
    tutti_status status = tutti_forest_new(P, 0, &f);
    int *parent = malloc(((size_t)P + 1) * sizeof *parent);
    if (!status && !parent) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for trees");
    for (int hub = 0; !status && hub < P; hub++) {
        for (int r = 0; r < P; r++) parent[r] = r == hub ? root : r == root ? -1 : hub;
        if (hub != root)
            status = tutti_forest_add(
                f, parent, root < 0 ? link_rate / (2 * (P - 1)) : link_rate / (P - 1));
    }
    free(parent);
    if (status)
        tutti_forest_free(f);
    else
        *forest = f;
    return status;
}
