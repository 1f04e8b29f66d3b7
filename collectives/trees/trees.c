#include "collectives/trees/trees.h"

#include "collectives/trees/network.h"
#include "collectives/trees/pack.h"
#include "collectives/trees/weigh.h"
#include "dag/base/log.h"

#include <stdlib.h>

enum { MOST_ROOTS = 16 }; /* that are tried */
static const double fewest_share = 0.95, exact_eps = 1e-7, first_eps = 0.05;

int tutti_tree_depth(const tutti_forest *f, int tree)
{
    int most = 0;
    for (int r = 0; r < f->P; r++) {
        int depth = 0;
        for (int at = r; f->tree[tree].parent[at] >= 0; at = f->tree[tree].parent[at]) depth++;
        if (depth > most) most = depth;
    }
    return most;
}

tutti_status tutti_trees_centre(tutti_forest *f)
{
    int *roots = calloc((size_t)f->P + 1, sizeof *roots);
    if (!roots) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for trees");
    for (int t = 0; t < f->trees; t++) {
        int best = -1, least = 0;
        for (int r = 0; r < f->P; r++) {
            tutti_tree_turn(f->tree[t].parent, r);
            int depth = tutti_tree_depth(f, t);
            if (best >= 0 && (depth > least || (depth == least && roots[r] >= roots[best])))
                continue;
            best = r;
            least = depth;
        }
        tutti_tree_turn(f->tree[t].parent, best);
        roots[best]++;
    }
    free(roots);
    return TUTTI_OK;
}

static int forest_depth(const tutti_forest *f)
{
    int most = 0;
    for (int t = 0; t < f->trees; t++) {
        int depth = tutti_tree_depth(f, t);
        if (depth > most) most = depth;
    }
    return most;
}

/* The rate of the cables if each rank has one, to the same switch; else 0. */
static double find_hub(const tutti_topology *t)
{
    double rate = 0;
    int hub = -1;
    for (int r = 0; r < t->ranks; r++) {
        int p = t->rank_point[r];
        if (t->out_first[p + 1] != t->out_first[p] + 1) return 0;
        const tutti_link *l = &t->link[t->out[t->out_first[p]]];
        if (l->capacity < 0 || l->capacity == t->link[l->back].capacity) return 0;
        if (r && (l->to != hub || t->capacity[l->capacity] != rate)) return 0;
        for (int q = 0; q < r; q++)
            if (t->rank_point[q] == p) return 0;
        hub = l->to;
        rate = t->capacity[l->capacity];
    }
    int limited = hub < 0 || t->point[hub].is != TUTTI_POINT_SWITCH || t->point[hub].capacity >= 0;
    return limited ? 0 : rate;
}

/* What trees are packed in. */
typedef struct plan {
    tutti_tree_network *oneway, *network; /* network: for both ways, if that is wanted */
    double hub;                           /* the rate of trees of one hop; 0: none */
    int exact;
    const char *way;
} plan;

static void free_plan(plan *p)
{
    if (p->network != p->oneway) tutti_tree_network_free(p->network);
    tutti_tree_network_free(p->oneway);
}

static tutti_status open_plan(plan *p, const tutti_topology *t, const tutti_trees_options *o)
{
    double unit;
    *p = (plan){.way = "cables, multiplicative weights"};
    tutti_status status = tutti_tree_network_of_cables(t, &p->oneway);
    if (status) return status;
    if (o->routes || !tutti_tree_network_reaches_all(p->oneway, 0)) {
        tutti_tree_network_free(p->oneway);
        p->oneway = NULL;
        p->way = "routes, multiplicative weights";
        p->hub = t->ranks > 2 && !o->routes ? find_hub(t) : 0;
        status = tutti_tree_network_of_routes(t, &p->oneway);
    } else if (!o->allreduce && tutti_pack_is_exact(p->oneway, &unit)) {
        p->exact = 1;
        p->way = "cables, exact packing";
    }
    if (status) return status;
    if (p->hub > 0) p->way = "one hop at a switch";
    p->network = p->oneway;
    return o->allreduce ? tutti_tree_network_both_ways(p->oneway, &p->network) : TUTTI_OK;
}

static tutti_status weigh(
    const plan *p, const tutti_trees_options *o, int root, tutti_forest **forest, double *bound)
{
    double eps = o->eps > 0 ? o->eps : exact_eps;
    tutti_status status =
        tutti_weigh_trees(p->network, root, eps > first_eps ? eps : first_eps, forest, bound);
    if (status) return status;
    status = tutti_weigh_again(p->network, root, eps, *forest, bound);
    if (!status)
        status = o->fewest ? o->fewest(p->network, fewest_share, *forest)
                           : tutti_weigh_drop(p->network, *forest);
    if (!status && o->allreduce && o->root < 0) status = tutti_trees_centre(*forest);
    if (status) tutti_forest_free(*forest);
    return status;
}

static tutti_status make_forest(
    const plan *p, const tutti_trees_options *o, int root, tutti_forest **forest, double *bound)
{
    int P = p->network->ranks;
    tutti_status status;
    if (p->exact) {
        status = tutti_pack_cut(p->oneway, root, bound);
        return status ? status : tutti_pack_trees(p->oneway, root, forest);
    }
    if (p->hub <= 0) return weigh(p, o, root, forest, bound);
    *bound = o->allreduce ? p->hub * P / (2 * (P - 1)) : p->hub;
    return tutti_pack_one_hop(P, o->allreduce ? -1 : root, p->hub, forest);
}

/* The forest with the highest rate of all roots, and of equal ones the shallowest. */
static tutti_status try_roots(
    const plan *p, const tutti_trees_options *o, tutti_forest **forest, double *bound)
{
    int P = p->network->ranks;
    int first = o->root < 0 ? 0 : o->root;
    int any = o->root >= 0 || o->allreduce || p->hub > 0 || P > MOST_ROOTS;
    int last = any ? first : P - 1;
    tutti_forest *best = NULL;
    tutti_status status = TUTTI_OK;
    for (int root = first; !status && root <= last; root++) {
        tutti_forest *f = NULL;
        double own;
        status = make_forest(p, o, root, &f, &own);
        if (status) break;
        double gain = best ? tutti_forest_rate(f) / tutti_forest_rate(best) - 1 : 1;
        int better = gain > 1e-6 || (gain > -1e-6 && forest_depth(f) < forest_depth(best));
        if (better) *bound = own;
        tutti_forest_free(better ? best : f);
        best = better ? f : best;
    }
    if (status)
        tutti_forest_free(best);
    else
        *forest = best;
    return status;
}

int tutti_trees_are_limited(const tutti_topology *t)
{
    const int at = t->rank_point[0];
    int together = 1;
    for (int r = 1; r < t->ranks; r++) together &= t->rank_point[r] == at;
    return !together || t->ranks == 1 || t->point[at].capacity >= 0;
}

tutti_status tutti_trees_of(const tutti_topology *t, const tutti_trees_options *o,
    tutti_forest **forest, tutti_trees_report *report)
{
    plan p = {.way = NULL};
    tutti_forest *f = NULL;
    double bound = 0;
    if (o->root >= t->ranks)
        return tutti_fail(
            TUTTI_ERR_USAGE, "the root %d is not a rank: 0 to %d", o->root, t->ranks - 1);
    if (t->ranks == 1) {
        *report = (tutti_trees_report){.way = "one rank"};
        return tutti_forest_new(1, 1, forest);
    }
    if (!tutti_trees_are_limited(t))
        return tutti_fail(TUTTI_ERR_USAGE,
            "all %d ranks are on %s, and nothing limits what they exchange there, so any tree is "
            "as "
            "good: give its kind a memory rate, as in 'memory 80GB/s'",
            t->ranks, t->point[t->rank_point[0]].name);
    if (t->ranks > TUTTI_TREE_NETWORK_MOST)
        return tutti_fail(TUTTI_ERR_USAGE, "trees are packed for %d ranks at most, here are %d",
            TUTTI_TREE_NETWORK_MOST, t->ranks);
    tutti_status status = open_plan(&p, t, o);
    if (!status) status = try_roots(&p, o, &f, &bound);
    free_plan(&p);
    if (status) {
        tutti_forest_free(f);
        return status;
    }
    *report = (tutti_trees_report){.way = p.way,
        .bound = bound,
        .rate = tutti_forest_rate(f),
        .weighted = !p.exact && p.hub <= 0,
        .rootless = p.hub > 0 && o->allreduce};
    *forest = f;
    return TUTTI_OK;
}
