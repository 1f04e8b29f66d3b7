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

/* What a unit of a ring takes of each capacity, as a share of it. */
static void add_ring_load(const search *s, int ring, double unit, double a[])
{
    const tutti_tree_network *n = s->n;
    const int *order = s->order + (size_t)ring * (size_t)n->ranks;
    for (int i = 0; i < n->ranks; i++) {
        int e = n->edge_of[order[i] * n->ranks + order[(i + 1) % n->ranks]];
        for (int k = n->first[e]; k < n->first[e + 1]; k++)
            a[(size_t)n->use[k] * (size_t)s->rings + (size_t)ring] += unit / n->capacity[n->use[k]];
    }
}

/* A ring as a chain from a root. */
static void cut_ring(const search *s, int ring, int root, int parent[])
{
    int P = s->n->ranks;
    const int *order = s->order + (size_t)ring * (size_t)P;
    for (int i = 0; i < P; i++) {
        int next = order[(i + 1) % P];
        parent[next] = next == root ? -1 : order[i];
    }
}

static tutti_status share_rings(const search *s, int root, tutti_forest *chains)
{
    size_t R = (size_t)s->rings, C = (size_t)s->n->capacities;
    double *a = calloc(R * C + 1, sizeof *a), *x = malloc((R + 2 * C + 1) * sizeof *x), unit = 0;
    int *parent = malloc(((size_t)s->n->ranks + 1) * sizeof *parent);
    tutti_status status =
        a && x && parent ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %zu rings", R);
    for (size_t c = 0; c < C; c++) unit = fmax(unit, s->n->capacity[c]);
    for (int r = 0; !status && r < s->rings; r++) add_ring_load(s, r, unit, a);
    for (size_t c = 0; !status && c < C; c++) x[R + c] = 1;
    if (!status) status = tutti_trees_share(s->n->capacities, s->rings, a, x + R, x, x + R + C);
    for (int r = 0; !status && r < s->rings; r++) {
        if (x[r] <= 1e-9) continue;
        cut_ring(s, r, root, parent);
        status = tutti_forest_add(chains, parent, x[r] * unit);
    }
    free(a);
    free(x);
    free(parent);
    return status;
}

tutti_status tutti_best_rings(const tutti_tree_network *n, int root, tutti_forest **chains)
{
    search s = {.n = n};
    tutti_forest *f;
    tutti_status status = tutti_forest_new(n->ranks, 0, &f);
    if (status) return status;
    if (n->ranks > 1 && n->ranks <= TUTTI_TREE_NETWORK_MOST) find_rings(&s);
    status = s.status;
    if (!status && s.rings) status = share_rings(&s, root, f);
    free(s.order);
    if (status)
        tutti_forest_free(f);
    else
        *chains = f;
    return status;
}

tutti_status tutti_best_rings_of(const tutti_topology *t, int root, tutti_forest **chains)
{
    tutti_tree_network *n;
    tutti_forest *f = NULL;
    tutti_status status = tutti_tree_network_of_cables(t, &n);
    if (status) return status;
    status = tutti_best_rings(n, root, &f);
    tutti_tree_network_free(n);
    if (!status && !f->trees && t->ranks > 1) {
        tutti_forest_free(f);
        f = NULL;
        status = tutti_tree_network_of_routes(t, &n);
        if (status) return status;
        status = tutti_best_rings(n, root, &f);
        tutti_tree_network_free(n);
    }
    if (!status) *chains = f;
    return status;
}
