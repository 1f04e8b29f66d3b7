#include "collectives/trees/weigh.h"

#include "collectives/trees/arborescence.h"
#include "collectives/trees/program.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ADDED = 1000 };

typedef struct weighing {
    const tutti_tree_network *n;
    int root;
    double *cost;   /* [ranks * ranks] of edges */
    double *length; /* [capacities] */
    double *load;   /* [capacities] */
    double *one;    /* [capacities] what a tree loads */
    int *parent;    /* [ranks] */
} weighing;

static void close_weighing(weighing *w)
{
    free(w->cost);
    free(w->length);
    free(w->parent);
}

static tutti_status open_weighing(weighing *w, const tutti_tree_network *n, int root)
{
    size_t P = (size_t)n->ranks, C = (size_t)n->capacities + 1;
    *w = (weighing){.n = n,
        .root = root,
        .cost = malloc((P * P + 1) * sizeof(double)),
        .length = calloc(3 * C, sizeof(double)),
        .parent = malloc((P + 1) * sizeof(int))};
    if (!w->cost || !w->length || !w->parent)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to weigh trees of %d ranks", n->ranks);
    w->load = w->length + C;
    w->one = w->load + C;
    return TUTTI_OK;
}

static double length_of(const weighing *w, int edge)
{
    double sum = 0;
    for (int k = w->n->first[edge]; k < w->n->first[edge + 1]; k++) sum += w->length[w->n->use[k]];
    return sum;
}

/* The tree of least length, what it loads, and its length. */
static tutti_status find_shortest(weighing *w, double *length)
{
    const tutti_tree_network *n = w->n;
    for (int i = 0; i < n->ranks * n->ranks; i++)
        w->cost[i] = n->edge_of[i] < 0 ? HUGE_VAL : length_of(w, n->edge_of[i]);
    tutti_status status = tutti_trees_cheapest(n->ranks, w->root, w->cost, w->parent);
    if (status) return status;
    memset(w->one, 0, (size_t)n->capacities * sizeof *w->one);
    tutti_tree_network_add_load(n, w->parent, 1, w->one);
    *length = 0;
    for (int c = 0; c < n->capacities; c++) *length += w->one[c] * w->length[c];
    return TUTTI_OK;
}

static double worth_of(const weighing *w)
{
    double sum = 0;
    for (int c = 0; c < w->n->capacities; c++) sum += w->n->capacity[c] * w->length[c];
    return sum;
}

static double fullest(const tutti_tree_network *n, const double load[])
{
    double most = 0;
    for (int c = 0; c < n->capacities; c++) most = fmax(most, load[c] / n->capacity[c]);
    return most;
}

/* What the tree can take; its capacities become longer. */
static double send_along(weighing *w, double eps)
{
    double most = HUGE_VAL;
    for (int c = 0; c < w->n->capacities; c++)
        if (w->one[c] > 0) most = fmin(most, w->n->capacity[c] / w->one[c]);
    for (int c = 0; c < w->n->capacities; c++) {
        w->load[c] += most * w->one[c];
        w->length[c] *= 1 + eps * most * w->one[c] / w->n->capacity[c];
    }
    return most;
}

tutti_status tutti_weigh_trees(
    const tutti_tree_network *n, int root, double eps, tutti_forest **forest, double *bound)
{
    weighing w;
    tutti_forest *f = NULL;
    double rate = 0, least = HUGE_VAL, length;
    tutti_status status = open_weighing(&w, n, root);
    if (!status) status = tutti_forest_new(n->ranks, 0, &f);
    for (int c = 0; c < n->capacities && !status; c++) w.length[c] = 1 / n->capacity[c];
    while (!status && n->ranks > 1) {
        status = find_shortest(&w, &length);
        if (status) break;
        least = fmin(least, worth_of(&w) / length);
        if (rate > 0 && rate / fullest(n, w.load) >= (1 - eps) * least) break;
        double sent = send_along(&w, eps / 2);
        rate += sent;
        status = tutti_forest_add(f, w.parent, sent);
    }
    double full = status ? 1 : fullest(n, w.load);
    for (int t = 0; !status && t < f->trees; t++) f->tree[t].weight /= full;
    close_weighing(&w);
    if (status) {
        tutti_forest_free(f);
        return status;
    }
    *forest = f;
    *bound = least;
    return TUTTI_OK;
}

/* The best weights of the trees that there are; w->length: what capacities are worth. */
static tutti_status solve(weighing *w, tutti_forest *f)
{
    const tutti_tree_network *n = w->n;
    size_t T = (size_t)f->trees, C = (size_t)n->capacities;
    double *a = calloc(C * T + 1, sizeof *a), *ones = malloc((C + 1) * sizeof *ones),
           *x = malloc((T + 1) * sizeof *x);
    tutti_status status =
        a && ones && x ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %zu trees", T);
    double unit = 0;
    for (size_t c = 0; c < C; c++) unit = fmax(unit, n->capacity[c]);
    for (size_t t = 0; !status && t < T; t++) {
        memset(w->one, 0, C * sizeof *w->one);
        tutti_tree_network_add_load(n, f->tree[t].parent, 1, w->one);
        for (size_t c = 0; c < C; c++) a[c * T + t] = w->one[c] * unit / n->capacity[c];
    }
    for (size_t c = 0; !status && c < C; c++) ones[c] = 1;
    if (!status) status = tutti_trees_share(n->capacities, f->trees, a, ones, x, w->length);
    for (size_t t = 0; !status && t < T; t++) f->tree[t].weight = x[t] * unit;
    for (size_t c = 0; !status && c < C; c++) w->length[c] *= unit / n->capacity[c];
    free(a);
    free(ones);
    free(x);
    return status;
}

/* Drops trees without a weight. */
static void drop_unused(tutti_forest *f, double least)
{
    int kept = 0;
    for (int t = 0; t < f->trees; t++) {
        if (f->tree[t].weight > least)
            f->tree[kept++] = f->tree[t];
        else
            free(f->tree[t].parent);
    }
    f->trees = kept;
}

/* Rounding may have filled a capacity a little too much. */
static void scale_down(weighing *w, tutti_forest *f)
{
    memset(w->load, 0, (size_t)w->n->capacities * sizeof *w->load);
    for (int t = 0; t < f->trees; t++)
        tutti_tree_network_add_load(w->n, f->tree[t].parent, f->tree[t].weight, w->load);
    double full = fullest(w->n, w->load);
    for (int t = 0; full > 1 && t < f->trees; t++) f->tree[t].weight /= full;
}

tutti_status tutti_weigh_again(
    const tutti_tree_network *n, int root, double eps, tutti_forest *f, double *bound)
{
    weighing w;
    double length = 0;
    tutti_status status = open_weighing(&w, n, root);
    for (int added = 0; !status && n->ranks > 1; added++) {
        status = solve(&w, f);
        if (!status) status = find_shortest(&w, &length);
        if (status) break;
        double rate = tutti_forest_rate(f);
        if (length > 0) *bound = fmin(*bound, worth_of(&w) / length);
        if (rate >= (1 - eps) * *bound || length >= 1 - 1e-9 || added == MOST_ADDED) break;
        status = tutti_forest_add(f, w.parent, 0);
    }
    close_weighing(&w);
    return status;
}

tutti_status tutti_weigh_best(const tutti_tree_network *n, tutti_forest *f)
{
    weighing w;
    tutti_status status = open_weighing(&w, n, 0);
    if (!status) status = solve(&w, f);
    close_weighing(&w);
    return status;
}

tutti_status tutti_weigh_drop(const tutti_tree_network *n, tutti_forest *f)
{
    weighing w;
    tutti_status status = open_weighing(&w, n, 0);
    if (!status) {
        drop_unused(f, 1e-9 * tutti_forest_rate(f));
        scale_down(&w, f);
    }
    close_weighing(&w);
    return status;
}

/* The number of the lightest tree that has not been tried. */
static int find_lightest(const tutti_forest *f, const double tried[])
{
    int best = -1;
    for (int t = 0; t < f->trees; t++)
        if (!(tried[t] > 0) && (best < 0 || f->tree[t].weight < f->tree[best].weight)) best = t;
    return best;
}

static tutti_status copy_without(const tutti_forest *f, int without, tutti_forest **copy)
{
    tutti_status status = tutti_forest_new(f->P, 0, copy);
    for (int t = 0; !status && t < f->trees; t++)
        if (t != without) status = tutti_forest_add(*copy, f->tree[t].parent, f->tree[t].weight);
    return status;
}

tutti_status tutti_weigh_fewest(const tutti_tree_network *n, double share, tutti_forest *f)
{
    weighing w;
    double least = share * tutti_forest_rate(f);
    tutti_status status = tutti_weigh_drop(n, f);
    if (status) return status;
    double *tried = calloc((size_t)f->trees + 1, sizeof *tried);
    if (!tried) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for trees");
    status = open_weighing(&w, n, 0);
    for (int t; !status && (t = find_lightest(f, tried)) >= 0;) {
        tutti_forest *fewer = NULL;
        status = copy_without(f, t, &fewer);
        if (!status) status = solve(&w, fewer);
        tried[t] = 1;
        if (!status && tutti_forest_rate(fewer) >= least) {
            tutti_forest other = *f;
            drop_unused(fewer, 1e-9 * least);
            *f = *fewer;
            *fewer = other;
            memset(tried, 0, (size_t)f->trees * sizeof *tried);
        }
        tutti_forest_free(fewer);
    }
    if (!status) scale_down(&w, f);
    close_weighing(&w);
    free(tried);
    return status;
}

double tutti_forest_rate(const tutti_forest *f)
{
    double sum = 0;
    for (int t = 0; t < f->trees; t++) sum += f->tree[t].weight;
    return sum;
}

tutti_status tutti_weigh_load(const tutti_tree_network *n, const tutti_forest *f, double *share)
{
    double *load = calloc((size_t)n->capacities + 1, sizeof *load);
    int there = 1;
    if (!load) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for loads");
    for (int t = 0; t < f->trees; t++)
        there &= tutti_tree_network_add_load(n, f->tree[t].parent, f->tree[t].weight, load);
    *share = there ? fullest(n, load) : 0;
    free(load);
    return TUTTI_OK;
}
