#include "collectives/trees/arborescence.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* Which edge into a rank is cheapest. */
static void take_cheapest(int P, int root, const double cost[], int parent[])
{
    for (int v = 0; v < P; v++) {
        parent[v] = -1;
        for (int u = 0; u < P && v != root; u++)
            if (u != v && (parent[v] < 0 || cost[u * P + v] < cost[parent[v] * P + v]))
                parent[v] = u;
    }
}

/* Marks the ranks of a circle. Returns whether there is one. */
static int find_circle(int P, const int parent[], char in[])
{
    for (int v = 0; v < P; v++) {
        int at = v;
        for (int steps = 0; at >= 0 && steps < P; steps++) at = parent[at];
        if (at < 0) continue;
        memset(in, 0, (size_t)P);
        for (; !in[at]; at = parent[at]) in[at] = 1;
        return 1;
    }
    return 0;
}

/* The smaller problem in which a circle is one rank, the last. */
typedef struct contraction {
    int P, root;
    int *number;  /* [P of the larger] */
    int *of;      /* [P] the number in the larger; the circle's: -1 */
    int *entered; /* [P] of an edge from u to the circle: which of its ranks */
    int *left;    /* [P] of an edge from the circle to v: from which */
    int *parent;  /* [P] */
    double *cost; /* [P * P] */
} contraction;

static void free_contraction(contraction *c)
{
    free(c->number);
    free(c->cost);
}

static tutti_status open_contraction(contraction *c, int P, int root, const char in[])
{
    int outside = 0;
    for (int v = 0; v < P; v++) outside += !in[v];
    size_t n = (size_t)outside + 1;
    *c = (contraction){.P = outside + 1,
        .number = malloc(((size_t)P + 4 * n) * sizeof(int)),
        .cost = malloc(n * n * sizeof(double))};
    if (!c->number || !c->cost)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a tree of %d ranks", P);
    c->of = c->number + P;
    c->entered = c->of + n;
    c->left = c->entered + n;
    c->parent = c->left + n;
    for (int v = 0, i = 0; v < P; v++) {
        c->number[v] = in[v] ? outside : i++;
        c->of[c->number[v]] = in[v] ? -1 : v;
    }
    c->root = c->number[root];
    return TUTTI_OK;
}

/* What the edge from u to v costs beside the one that it replaces. */
static double extra_cost(int P, const double cost[], const int parent[], int u, int v)
{
    return cost[u * P + v] - cost[parent[v] * P + v];
}

static void contract_costs(
    contraction *c, int P, const double cost[], const int parent[], const char in[])
{
    int n = c->P, circle = n - 1;
    for (int i = 0; i < circle; i++) {
        int x = c->of[i];
        c->entered[i] = c->left[i] = -1;
        for (int j = 0; j < circle; j++) c->cost[i * n + j] = cost[x * P + c->of[j]];
        for (int v = 0; v < P; v++) {
            if (!in[v]) continue;
            int *into = &c->entered[i], *from = &c->left[i];
            if (*into < 0 || extra_cost(P, cost, parent, x, v) < c->cost[i * n + circle]) {
                *into = v;
                c->cost[i * n + circle] = extra_cost(P, cost, parent, x, v);
            }
            if (*from < 0 || cost[v * P + x] < c->cost[circle * n + i]) {
                *from = v;
                c->cost[circle * n + i] = cost[v * P + x];
            }
        }
    }
    c->cost[circle * n + circle] = 0;
}

static void expand_tree(const contraction *c, int parent[])
{
    int circle = c->P - 1;
    for (int i = 0; i < circle; i++) {
        int p = c->parent[i];
        parent[c->of[i]] = p < 0 ? -1 : p == circle ? c->left[i] : c->of[p];
    }
    int above = c->parent[circle];
    parent[c->entered[above]] = c->of[above];
}

tutti_status tutti_trees_cheapest(int P, int root, const double cost[], int parent[])
{
    contraction c = {.P = 0};
    char *in = malloc((size_t)P + 1);
    if (!in) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a tree of %d ranks", P);
    take_cheapest(P, root, cost, parent);
    tutti_status status = TUTTI_OK;
    if (find_circle(P, parent, in)) {
        status = open_contraction(&c, P, root, in);
        if (!status) {
            contract_costs(&c, P, cost, parent, in);
            status = tutti_trees_cheapest(c.P, c.root, c.cost, c.parent);
        }
        if (!status) expand_tree(&c, parent);
        free_contraction(&c);
    }
    free(in);
    return status;
}
