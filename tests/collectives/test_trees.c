/* collectives/trees: spanning trees packed in links, exactly and by multiplicative weights. */
#include "collectives/links/topology_text.h"
#include "collectives/sched/price.h"
#include "collectives/trees/arborescence.h"
#include "collectives/trees/network.h"
#include "collectives/trees/pack.h"
#include "collectives/trees/program.h"
#include "collectives/trees/rings.h"
#include "collectives/trees/trees.h"
#include "collectives/trees/weigh.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long seed;

static int draw(uint64_t *at, int below)
{
    return (int)tutti_rng_below(seed, 1, (*at)++, (uint64_t)below);
}

/* The ranks of an allocation of a DGX: the GPUs that are in a set. */
static tutti_topology *allocate(const char *spec, unsigned gpus)
{
    tutti_topology *t;
    ck_assert_ok(tutti_topology_open(spec, &t));
    int n = 0;
    for (int g = 0; g < 8; g++)
        if (gpus >> g & 1) t->rank_point[n++] = t->rank_point[g];
    t->ranks = n;
    return t;
}

static void check_forest(const tutti_tree_network *n, const tutti_forest *f, double rate)
{
    double full;
    ck_assert_ok(tutti_forest_check(f));
    ck_assert_double_eq_tol(tutti_forest_rate(f), rate, 1e-6 * rate);
    ck_assert_ok(tutti_weigh_load(n, f, &full));
    ck_assert_double_gt(full, 0);
    ck_assert_double_le(full, 1 + 1e-9);
}

/* All allocations of 3 to 8 GPUs that NVLink connects: as much as the least cut, with 6 trees at most. */
START_TEST(allocations_reach_the_cut)
{
    static const char *const specs[] = {"dgx-1v", "dgx-1p"};
    int connected = 0;
    for (unsigned gpus = 0; gpus < 256; gpus++) {
        if (__builtin_popcount(gpus) < 3) continue;
        tutti_topology *t = allocate(specs[_i], gpus);
        tutti_tree_network *n;
        ck_assert_ok(tutti_tree_network_of_cables(t, &n));
        for (int root = 0; tutti_tree_network_reaches_all(n, 0) && root < t->ranks; root++) {
            tutti_forest *f;
            double cut;
            ck_assert_ok(tutti_pack_cut(n, root, &cut));
            ck_assert_ok(tutti_pack_trees(n, root, &f));
            check_forest(n, f, cut);
            ck_assert_int_le(f->trees, 6);
            connected += !root;
            tutti_forest_free(f);
        }
        tutti_tree_network_free(n);
        tutti_topology_free(t);
    }
    ck_assert_int_eq(connected, 181);
}
END_TEST

/* A random network of n ranks; each edge has a capacity of its own: whole ones, or any. */
static tutti_tree_network *draw_network(uint64_t *at, int P, int density, int whole)
{
    tutti_tree_network *n;
    ck_assert_ok(tutti_tree_network_new(P, P * P, &n));
    for (int u = 0; u < P; u++) {
        for (int v = 0; v < P; v++) {
            int c = u * P + v;
            if (u == v || draw(at, 10) >= density) continue;
            n->capacity[c] = whole ? 1 + draw(at, 3) : 0.1 + draw(at, 1000) / 100.0;
            ck_assert_ok(tutti_tree_network_add(n, u, v, &c, 1));
        }
    }
    /* Capacities of no edge are not 0, by which loads are divided. */
    for (int c = 0; c < P * P; c++)
        if (!(n->capacity[c] > 0)) n->capacity[c] = 1;
    return n;
}

/* The least of all cuts, one by one. */
static double try_cuts(const tutti_tree_network *n, int root)
{
    double least = HUGE_VAL;
    for (unsigned in = 0; in + 1 < 1u << n->ranks; in++) {
        double out = 0;
        if (!(in >> root & 1)) continue;
        for (int e = 0; e < n->edges; e++)
            if (in >> n->from[e] & 1 && !(in >> n->to[e] & 1))
                out += n->capacity[n->use[n->first[e]]];
        least = fmin(least, out);
    }
    return least;
}

START_TEST(random_networks_are_packed)
{
    uint64_t at = 0;
    int packed = 0;
    for (int c = 0; c < 400; c++) {
        int P = 2 + draw(&at, 6), root = draw(&at, P);
        tutti_tree_network *n = draw_network(&at, P, 4 + draw(&at, 6), 1);
        double cut, unit;
        ck_assert(tutti_pack_is_exact(n, &unit));
        if (tutti_tree_network_reaches_all(n, root)) {
            tutti_forest *f;
            ck_assert_ok(tutti_pack_cut(n, root, &cut));
            ck_assert_double_eq(cut, try_cuts(n, root));
            ck_assert_ok(tutti_pack_trees(n, root, &f));
            check_forest(n, f, cut);
            packed++;
            tutti_forest_free(f);
        }
        tutti_tree_network_free(n);
    }
    ck_assert_int_gt(packed, 200);
}
END_TEST

/* Capacities that are fractions have a unit; others, shared ones and those of several links of a route have none. */
START_TEST(units_are_found)
{
    static const double capacity[] = {1.5, 2, 0.75, 5};
    tutti_tree_network *n;
    double unit, cut;
    ck_assert_ok(tutti_tree_network_new(3, 4, &n));
    memcpy(n->capacity, capacity, sizeof capacity);
    const int use[] = {0, 1, 2, 3};
    ck_assert_ok(tutti_tree_network_add(n, 0, 1, &use[0], 1));
    ck_assert_ok(tutti_tree_network_add(n, 0, 2, &use[1], 1));
    ck_assert_ok(tutti_tree_network_add(n, 1, 2, &use[2], 1));
    ck_assert_int_eq(tutti_pack_is_exact(n, &unit), 1);
    ck_assert_double_eq_tol(unit, 0.25, 1e-12);
    tutti_forest *f;
    ck_assert_ok(tutti_pack_cut(n, 0, &cut));
    ck_assert_double_eq_tol(cut, 1.5, 1e-12);
    ck_assert_ok(tutti_pack_trees(n, 0, &f));
    check_forest(n, f, 1.5);
    tutti_forest_free(f);
    n->capacity[1] = sqrt(2);
    ck_assert_int_eq(tutti_pack_is_exact(n, &unit), 0);
    n->capacity[1] = 2;
    ck_assert_ok(tutti_tree_network_add(n, 2, 1, &use[0], 1)); /* shared */
    ck_assert_int_eq(tutti_pack_is_exact(n, &unit), 0);
    tutti_tree_network_free(n);
}
END_TEST

/* Whether parents are a tree from a root. */
static int is_tree(int P, int root, const int parent[])
{
    for (int v = 0; v < P; v++) {
        int at = v;
        for (int k = 0; k < P && at != root; k++) at = parent[at];
        if (at != root) return 0;
    }
    return 1;
}

/* All trees of up to 5 ranks, one by one. */
START_TEST(cheapest_trees_are_cheapest)
{
    uint64_t at = 0;
    for (int c = 0; c < 300; c++) {
        int P = 2 + draw(&at, 4), root = draw(&at, P), parent[5], found[5];
        double cost[25], best = HUGE_VAL, own = 0;
        for (int i = 0; i < P * P; i++) cost[i] = draw(&at, 4) ? draw(&at, 20) : HUGE_VAL;
        int all = 1;
        for (int v = 0; v < P; v++) all *= v == root ? 1 : P;
        for (int k = 0; k < all; k++) {
            double sum = 0;
            for (int v = 0, rest = k; v < P; v++) {
                parent[v] = v == root ? -1 : rest % P;
                if (v != root) rest /= P;
                if (v != root) sum += parent[v] == v ? HUGE_VAL : cost[parent[v] * P + v];
            }
            if (sum < best && is_tree(P, root, parent)) best = sum;
        }
        if (best == HUGE_VAL) continue;
        ck_assert_ok(tutti_trees_cheapest(P, root, cost, found));
        ck_assert_int_eq(found[root], -1);
        ck_assert(is_tree(P, root, found));
        for (int v = 0; v < P; v++) own += v == root ? 0 : cost[found[v] * P + v];
        ck_assert_double_eq(own, best);
    }
}
END_TEST

/* Weights reach what eps promises of the least cut, which is the bound where each edge has its own capacity. */
START_TEST(random_networks_are_filled)
{
    static const double eps = 0.1;
    uint64_t at = 1 << 20;
    int filled = 0;
    while (filled < 500) {
        int P = 2 + draw(&at, 7), root = draw(&at, P);
        tutti_tree_network *n = draw_network(&at, P, 3 + draw(&at, 7), 0);
        if (tutti_tree_network_reaches_all(n, root)) {
            tutti_forest *f;
            double cut = try_cuts(n, root), bound, full;
            ck_assert_ok(tutti_weigh_trees(n, root, eps, &f, &bound));
            ck_assert_ok(tutti_forest_check(f));
            ck_assert_ok(tutti_weigh_load(n, f, &full));
            ck_assert_double_eq_tol(full, 1, 1e-9);
            ck_assert_double_ge(tutti_forest_rate(f), (1 - 1.2 * eps) * cut);
            ck_assert_double_le(tutti_forest_rate(f), cut * (1 + 1e-9));
            ck_assert_double_ge(bound, cut * (1 - 1e-9));
            /* The linear program reaches the bound itself, by fewer trees. */
            ck_assert_ok(tutti_weigh_again(n, root, 1e-7, f, &bound));
            ck_assert_ok(tutti_weigh_drop(n, f));
            check_forest(n, f, cut);
            ck_assert_double_eq_tol(bound, cut, 1e-6 * cut);
            ck_assert_int_le(f->trees, n->edges);
            int before = f->trees;
            ck_assert_ok(tutti_weigh_fewest(n, 0.95, f));
            ck_assert_int_le(f->trees, before);
            ck_assert_double_ge(tutti_forest_rate(f), 0.95 * cut * (1 - 1e-6));
            ck_assert_ok(tutti_weigh_load(n, f, &full));
            ck_assert_double_le(full, 1 + 1e-9);
            tutti_forest_free(f);
            filled++;
        }
        tutti_tree_network_free(n);
    }
}
END_TEST

/* What ranks of a topology can sum up or send: known by hand. */
static const struct {
    const char *text;
    int allreduce;
    double rate;
} known[] = {
    /* Two more ranks hear a root on a bus, one after the other; sums go up and results down, all over one capacity. */
    {"topology 1\nhost h[0-2]\nbus b rate 12GB/s : h[0-2]\nranks h[0-2]\n", 0, 6e9},
    {"topology 1\nhost h[0-2]\nbus b rate 12GB/s : h[0-2]\nranks h[0-2]\n", 1, 3e9},
    /* A cable carries its rate each way. */
    {"topology 1\nhost h[0-1]\nlink h0 h1 rate 1GB/s\nranks h[0-1]\n", 0, 1e9},
    {"topology 1\nhost h[0-1]\nlink h0 h1 rate 1GB/s\nranks h[0-1]\n", 1, 1e9},
    /* A triangle: two edges in; three links for trees of two. */
    {"topology 1\nhost h[0-2]\nlink h0 h[1-2] rate 1GB/s\nlink h1 h2 rate 1GB/s\nranks h[0-2]\n", 0,
        2e9},
    {"topology 1\nhost h[0-2]\nlink h0 h[1-2] rate 1GB/s\nlink h1 h2 rate 1GB/s\nranks h[0-2]\n", 1,
        1.5e9},
    /* A switch that carries 3 GB/s in all: two messages for each byte. */
    {"topology 1\nhost h[0-2]\nswitch s rate 3GB/s\nlink h[0-2] s rate 2GB/s\nranks h[0-2]\n", 0,
        1.5e9},
    /* A switch without a limit: trees of one hop. */
    {"topology 1\nhost h[0-3]\nswitch s\nlink h[0-3] s rate 3GB/s\nranks h[0-3]\n", 0, 3e9},
    {"topology 1\nhost h[0-3]\nswitch s\nlink h[0-3] s rate 3GB/s\nranks h[0-3]\n", 1, 2e9},
    /* Two ranks share the memory of each host; one of each host crosses. */
    {"topology 1\nkind k memory 5GB/s\nhost h[0-1] kind k\nlink h0 h1 rate 1GB/s\nranks 2 per "
     "host\n",
        0, 1e9},
    /* Two servers of two GPUs: what crosses the network crosses it once each way. */
    {"topology 1\nhost h[0-1]\ndevice h[0-1].g[0-1]\nswitch s\nlink h[0-1].g0 .g1 rate 25GB/s\n"
     "link h0 .g[0-1] rate 12GB/s\nlink h1 .g[0-1] rate 12GB/s\nlink h[0-1] s rate 10GB/s\n"
     "ranks h[0-1].g[0-1]\n",
        0, 10e9},
    {"topology 1\nhost h[0-1]\ndevice h[0-1].g[0-1]\nswitch s\nlink h[0-1].g0 .g1 rate 25GB/s\n"
     "link h0 .g[0-1] rate 12GB/s\nlink h1 .g[0-1] rate 12GB/s\nlink h[0-1] s rate 10GB/s\n"
     "ranks h[0-1].g[0-1]\n",
        1, 10e9},
    {"topology 1\nhost h0\nranks h0\n", 1, 0},
};
enum { KNOWN = sizeof known / sizeof *known };

START_TEST(known_rates_are_found)
{
    tutti_topology *t;
    tutti_forest *f;
    tutti_trees_report report;
    const tutti_trees_options options = {.root = -1, .allreduce = known[_i].allreduce};
    ck_assert_ok(tutti_topology_read(known[_i].text, "known", &t));
    ck_assert_ok(tutti_trees_of(t, &options, &f, &report));
    ck_assert_double_eq_tol(report.rate, known[_i].rate, 1e-6 * known[_i].rate + 1e-9);
    ck_assert_double_eq_tol(report.bound, known[_i].rate, 1e-6 * known[_i].rate + 1e-9);
    ck_assert_ok(tutti_forest_check(f));
    ck_assert_int_eq(f->P, t->ranks);
    tutti_forest_free(f);
    tutti_topology_free(t);
}
END_TEST

/* A DGX-2: as many trees as GPUs, of one hop. */
START_TEST(switches_have_trees_of_one_hop)
{
    tutti_topology *t;
    tutti_forest *f;
    tutti_trees_report report;
    tutti_trees_options options = {.root = -1, .allreduce = 1};
    ck_assert_ok(tutti_topology_open("dgx-2", &t));
    ck_assert_ok(tutti_trees_of(t, &options, &f, &report));
    ck_assert_int_eq(f->trees, 16);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(tutti_tree_depth(f, i), 1);
        ck_assert_int_eq(f->tree[i].parent[i], -1);
        ck_assert_double_eq_tol(f->tree[i].weight, report.rate / 16, 1);
    }
    tutti_forest_free(f);
    options = (tutti_trees_options){.root = 3};
    ck_assert_ok(tutti_trees_of(t, &options, &f, &report));
    ck_assert_double_eq_tol(report.rate, 150e9, 1);
    for (int i = 0; i < f->trees; i++) ck_assert_int_eq(f->tree[i].parent[3], -1);
    tutti_forest_free(f);
    tutti_topology_free(t);
}
END_TEST

/* Rings never carry more than trees; of a whole DGX-1V they carry as much, of 4 GPUs without a ring nothing. */
START_TEST(rings_are_no_better)
{
    int fewer = 0;
    for (unsigned gpus = 0; gpus < 256; gpus++) {
        if (__builtin_popcount(gpus) < 3 || __builtin_popcount(gpus) > 6) continue;
        tutti_topology *t = allocate("dgx-1v", gpus);
        tutti_tree_network *n;
        ck_assert_ok(tutti_tree_network_of_cables(t, &n));
        if (tutti_tree_network_reaches_all(n, 0)) {
            tutti_forest *rings;
            double cut;
            ck_assert_ok(tutti_best_rings(n, 0, &rings));
            double rate = tutti_forest_rate(rings);
            if (rings->trees) check_forest(n, rings, rate);
            tutti_forest_free(rings);
            ck_assert_ok(tutti_pack_cut(n, 0, &cut));
            ck_assert_double_le(rate, cut * (1 + 1e-9));
            fewer += rate < cut * (1 - 1e-9);
        }
        tutti_tree_network_free(n);
        tutti_topology_free(t);
    }
    ck_assert_int_gt(fewer, 40);
    tutti_topology *t = allocate("dgx-1v", 255);
    tutti_tree_network *n;
    tutti_forest *rings;
    ck_assert_ok(tutti_tree_network_of_cables(t, &n));
    ck_assert_ok(tutti_best_rings(n, 5, &rings));
    check_forest(n, rings, 150e9);
    for (int i = 0; i < rings->trees; i++) {
        ck_assert_int_eq(tutti_tree_depth(rings, i), 7);
        ck_assert_int_eq(rings->tree[i].parent[5], -1);
    }
    tutti_forest_free(rings);
    tutti_tree_network_free(n);
    tutti_topology_free(t);
}
END_TEST

/* Seconds of a collective of float32 along a forest, where nothing but links takes time. */
static double price(
    tutti_topology *t, tutti_coll_kind kind, const tutti_forest *f, int64_t count, int64_t segment)
{
    const tutti_sched *ranks[8];
    tutti_sched_price p;
    for (int i = 0; i < t->points; i++) t->point[i].kind = -1;
    const int root = tutti_tree_root(f->tree[0].parent);
    for (int r = 0; r < t->ranks; r++) {
        const tutti_sched_shape shape = {.kind = kind,
            .rank = r,
            .P = t->ranks,
            .root = root,
            .count = count,
            .segment = segment,
            .in_place = 1,
            .forest = f};
        ck_assert_ok(tutti_sched_forest(&shape, (tutti_sched **)&ranks[r]));
    }
    ck_assert_ok(tutti_sched_price_of(ranks, t->ranks, 4, 4, t, &p));
    for (int r = 0; r < t->ranks; r++) tutti_sched_free((tutti_sched *)ranks[r]);
    return p.time_s;
}

/* Long vectors along all trees at once take little more than their bytes over the rate: trees that meet on a link in
 * opposite directions, one with sums and one with results, do not wait for each other. */
START_TEST(trees_do_not_wait_for_each_other)
{
    enum { COUNT = 1 << 24, SEGMENT = 1 << 15 };
    static const unsigned gpus[] = {0xff, 0x7f, 0x3e, 0x0f, 0xe9};
    tutti_topology *t = allocate("dgx-1v", gpus[_i]);
    for (int allreduce = 0; allreduce < 2; allreduce++) {
        const tutti_trees_options options = {.root = -1, .allreduce = allreduce};
        tutti_forest *f;
        tutti_trees_report report;
        ck_assert_ok(tutti_trees_of(t, &options, &f, &report));
        double least_s = 4.0 * COUNT / report.rate;
        double time_s = price(t, allreduce ? TUTTI_ALLREDUCE : TUTTI_BROADCAST, f, COUNT, SEGMENT);
        ck_assert_double_ge(time_s, 0.999 * least_s);
        ck_assert_double_le(time_s, 1.15 * least_s);
        tutti_forest_free(f);
    }
    tutti_topology_free(t);
}
END_TEST

/* A chain of cables, and a slower network of a switch, which carries twice what its tree does: the first rank sends to
 * two. */
static const char two_networks[] = "topology 1\nhost h[0-3]\nswitch s\n"
                                   "link h[0-2] h[1-3] rate 100MB/s latency 10us\n"
                                   "link h[0-3] s rate 30MB/s latency 5us\nranks h[0-3]\n";

/* Blink's hybrid transfer, S b / (B + b) of S bytes over the network with rate b: by the weights, both networks end at
 * once, and no other division is faster. */
START_TEST(two_networks_end_at_once)
{
    enum { COUNT = 1 << 22, SEGMENT = 15360, SHARES = 23 /* of 5 MB/s */ };
    const double rate = 115e6, bound_s = 4.0 * COUNT / rate;
    double best_s = HUGE_VAL, own_s = 0;
    tutti_topology *t;
    ck_assert_ok(tutti_topology_read(two_networks, "two networks", &t));
    for (int share = 1; share < SHARES; share++) {
        tutti_forest *f;
        ck_assert_ok(tutti_forest_new(4, 2, &f));
        memcpy(f->tree[0].parent, (int[]){-1, 0, 1, 2}, 4 * sizeof(int));
        memcpy(f->tree[1].parent, (int[]){-1, 3, 0, 0}, 4 * sizeof(int));
        f->tree[0].weight = rate * share / SHARES;
        f->tree[1].weight = rate - f->tree[0].weight;
        double s = price(t, TUTTI_BROADCAST, f, COUNT, SEGMENT);
        if (share == 20) own_s = s;
        if (s < best_s) best_s = s;
        tutti_forest_free(f);
    }
    ck_assert_double_le(own_s, 1.02 * bound_s);
    ck_assert_double_le(own_s, best_s);
    tutti_topology_free(t);
}
END_TEST

/* Nothing limits ranks of a host whose memory has no rate. */
START_TEST(without_limits_there_are_no_trees)
{
    static const char text[] = "topology 1\nhost h0\nranks 4 per host\n";
    const tutti_trees_options options = {.allreduce = 1};
    tutti_forest *f = NULL;
    tutti_trees_report report;
    tutti_topology *t;
    ck_assert_ok(tutti_topology_read(text, "one host", &t));
    ck_assert(!tutti_trees_are_limited(t));
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_trees_of(t, &options, &f, &report), TUTTI_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "all 4 ranks are on h0"));
    ck_assert_ptr_null(f);
    tutti_topology_free(t);
}
END_TEST

/* Whatever connects them. */
START_TEST(too_many_ranks_are_refused)
{
    static const char *const names[] = {"mesh:1x257,1GB/s", "star:257", "fat-tree:12"};
    const tutti_trees_options options = {.root = 0};
    tutti_forest *f = NULL;
    tutti_trees_report report;
    tutti_topology *t;
    ck_assert_ok(tutti_topology_open(names[_i], &t));
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_trees_of(t, &options, &f, &report), TUTTI_ERR_USAGE);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "for 256 ranks at most, here are "));
    ck_assert_ptr_null(f);
    tutti_topology_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees");
    seed = testing_seed(45);
    TCase *tcase = testing_case(suite, "trees");
    tcase_add_loop_test(tcase, allocations_reach_the_cut, 0, 2);
    tcase_add_test(tcase, random_networks_are_packed);
    tcase_add_test(tcase, units_are_found);
    tcase_add_test(tcase, cheapest_trees_are_cheapest);
    tcase_add_test(tcase, random_networks_are_filled);
    tcase_add_loop_test(tcase, known_rates_are_found, 0, KNOWN);
    tcase_add_test(tcase, switches_have_trees_of_one_hop);
    tcase_add_test(tcase, rings_are_no_better);
    tcase_add_test(tcase, two_networks_end_at_once);
    tcase_add_test(tcase, without_limits_there_are_no_trees);
    tcase_add_loop_test(tcase, too_many_ranks_are_refused, 0, 3);
    tcase_add_loop_test(tcase, trees_do_not_wait_for_each_other, 0, 5);
    return testing_run(suite);
}
