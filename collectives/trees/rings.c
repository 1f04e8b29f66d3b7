#include "collectives/trees/rings.h"

#include "collectives/trees/program.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    const tutti_tree_network *n;
    int *order; /* [rings * ranks] */
    int rings, room;
    int path[TUTTI_TREE_NETWORK_MOST];
    tutti_status status;
} search;

static void keep_ring(search *s)
{
    size_t P = (size_t)s->n->ranks;
    if (s->rings == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        int *larger = realloc(s->order, (size_t)s->room * P * sizeof *larger);
        if (!larger) {
            s->status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for rings of %zu ranks", P);
            return;
        }
        s->order = larger;
    }
    memcpy(s->order + (size_t)s->rings++ * P, s->path, P * sizeof *s->order);
}

static int has_edge(const tutti_tree_network *n, int u, int v)
{
    return n->edge_of[u * n->ranks + v] >= 0;
}

/* Goes on from a path of `length` ranks through those that it has not been at. */
static void extend_path(search *s, int length, unsigned been)
{
    int P = s->n->ranks, last = s->path[length - 1];
    if (s->status) return;
    if (length == P && has_edge(s->n, last, s->path[0])) keep_ring(s);
    for (int v = 0; length < P && v < P; v++) {
        if (been >> v & 1 || !has_edge(s->n, last, v)) continue;
        s->path[length] = v;
        extend_path(s, length + 1, been | 1u << v);
    }
}

static void find_rings(search *s)
{
    int P = s->n->ranks, whole = 1;
    for (int r = 0; r < P; r++) {
        s->path[r] = r;
        whole &= has_edge(s->n, r, (r + 1) % P);
    }
    if (P <= TUTTI_RINGS_MOST)
        extend_path(s, 1, 1);
    else if (whole)
        keep_ring(s);
}

static void add_ring_load(const search *s, int ring, double a[])
{
    const tutti_tree_network *n = s->n;
    const int *order = s->order + (size_t)ring * (size_t)n->ranks;
    for (int i = 0; i < n->ranks; i++) {
        int e = n->edge_of[order[i] * n->ranks + order[(i + 1) % n->ranks]];
        for (int k = n->first[e]; k < n->first[e + 1]; k++)
            a[(size_t)n->use[k] * (size_t)s->rings + (size_t)ring] += 1 / n->capacity[n->use[k]];
    }
}

static tutti_status share_rings(const search *s, double *rate, int ring[])
{
    size_t R = (size_t)s->rings, C = (size_t)s->n->capacities;
    double *a = calloc(R * C + 1, sizeof *a), *x = malloc((R + 2 * C + 1) * sizeof *x), unit = 0;
    if (!a || !x) {
        free(a);
        free(x);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %zu rings", R);
    }
    double *ones = x + R, *price = ones + C;
    for (int r = 0; r < s->rings; r++) add_ring_load(s, r, a);
    for (size_t c = 0; c < C; c++) unit = fmax(unit, s->n->capacity[c]);
    for (size_t i = 0; i < R * C; i++) a[i] *= unit;
    for (size_t c = 0; c < C; c++) ones[c] = 1;
    tutti_status status = tutti_trees_share(s->n->capacities, s->rings, a, ones, x, price);
    int best = 0;
    for (int r = 0; !status && r < s->rings; r++) {
        *rate += x[r] * unit;
        if (x[r] > x[best]) best = r;
    }
    size_t P = (size_t)s->n->ranks;
    if (!status) memcpy(ring, s->order + (size_t)best * P, P * sizeof *ring);
    free(a);
    free(x);
    return status;
}

tutti_status tutti_best_rings(const tutti_tree_network *n, double *rate, int ring[])
{
    search s = {.n = n};
    *rate = 0;
    if (n->ranks < 2 || n->ranks > TUTTI_TREE_NETWORK_MOST) return TUTTI_OK;
    find_rings(&s);
    tutti_status status = s.status;
    if (!status && s.rings) status = share_rings(&s, rate, ring);
    free(s.order);
    return status;
}
