/* apps/trees/fewest: the fewest trees that carry 95 % of what all do. */
#include "apps/trees/fewest.h"
#include "collectives/trees/network.h"
#include "collectives/trees/weigh.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

static unsigned long seed;

static int draw(uint64_t *at, int below)
{
    return (int)tutti_rng_below(seed, 3, (*at)++, (uint64_t)below);
}

/* A random network of all pairs; each edge has a capacity of its own. */
static tutti_tree_network *draw_network(uint64_t *at, int P)
{
    tutti_tree_network *n;
    ck_assert_ok(tutti_tree_network_new(P, P * P, &n));
    for (int c = 0; c < P * P; c++) {
        n->capacity[c] = 1 + draw(at, 4);
        if (c / P != c % P) ck_assert_ok(tutti_tree_network_add(n, c / P, c % P, &c, 1));
    }
    return n;
}

static tutti_forest *pack(const tutti_tree_network *n)
{
    tutti_forest *f;
    double bound;
    ck_assert_ok(tutti_weigh_trees(n, 0, 0.1, &f, &bound));
    ck_assert_ok(tutti_weigh_again(n, 0, 1e-7, f, &bound));
    return f;
}

static void check_share(const tutti_tree_network *n, const tutti_forest *f, double least)
{
    double full;
    ck_assert_ok(tutti_forest_check(f));
    ck_assert_double_ge(tutti_forest_rate(f), least * (1 - 1e-6));
    ck_assert_ok(tutti_weigh_load(n, f, &full));
    ck_assert_double_le(full, 1 + 1e-9);
}

/* The integer program has all trees to choose from: it needs no more than those that are left out one by one. */
START_TEST(the_fewest_carry_their_share)
{
    uint64_t at = 0;
    int fewer = 0;
    if (tutti_fewest_lacks()) testing_left_out("the fewest trees", tutti_fewest_lacks());
    for (int c = 0; c < 20; c++) {
        tutti_tree_network *n = draw_network(&at, 3 + draw(&at, 2));
        tutti_forest *greedy = pack(n), *f = pack(n);
        double least = 0.95 * tutti_forest_rate(f);
        ck_assert_ok(tutti_weigh_fewest(n, 0.95, greedy));
        ck_assert_ok(tutti_fewest(n, 0.95, f));
        check_share(n, greedy, least);
        check_share(n, f, least);
        ck_assert_int_le(f->trees, greedy->trees);
        fewer += f->trees < greedy->trees;
        tutti_forest_free(greedy);
        tutti_forest_free(f);
        tutti_tree_network_free(n);
    }
    if (!tutti_fewest_lacks()) ck_assert_int_gt(fewer, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fewest");
    TCase *tcase = testing_case(suite, "fewest");
    seed = testing_seed(45);
    tcase_add_test(tcase, the_fewest_carry_their_share);
    return testing_run(suite);
}
