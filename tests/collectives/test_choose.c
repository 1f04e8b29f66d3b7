/* collectives/choose: which algorithm is taken. */
#include "collectives/choose.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/tree.h"
#include "tests/collectives/schedules.h"
#include "tests/support/testing.h"

#include <string.h>

START_TEST(sizes_beyond_32_bits_are_planned_in_elements)
{
    int64_t count = ((int64_t)5 << 31) + 3, sum = 0;
    const tutti_algorithm *automatic = tutti_algorithm_find(NULL);
    const tutti_choice_key key = {.kind = TUTTI_ALLREDUCE, .P = 3, .count = count, .element = 8};
    tutti_choice choice = tutti_coll_choose(automatic, &key);
    schedules a = schedules_build(&schedule_rows[0], 3, 0, count, choice.segment, 1);
    for (int i = 0; i < a.ranks[0]->n; i++)
        if (a.ranks[0]->step[i].kind == TUTTI_STEP_REDUCE) sum += a.ranks[0]->step[i].count;
    int64_t offset, own, other;
    tutti_coll_block(count, 3, 0, &offset, &own);
    tutti_coll_block(count, 3, 2, &offset, &other);
    ck_assert_int_eq(sum, own + other);
    ck_assert_int_lt(a.ranks[0]->n, 30000); /* of 8192 segments */
    schedules_free(&a);
}
END_TEST

/* What auto takes for an allreduce of elements of 4 bytes. */
static void choose(int P, int near, int64_t count, int wide, const char *name)
{
    const tutti_choice_key key = {
        .kind = TUTTI_ALLREDUCE, .P = P, .near = near, .count = count, .element = 4, .wide = wide};
    tutti_choice choice = tutti_coll_choose(tutti_algorithm_find("auto"), &key);
    ck_assert_str_eq(choice.algorithm->name, name);
    ck_assert_int_eq(choice.wide, !strcmp(name, "direct"));
}

START_TEST(choice_is_as_documented)
{
    const tutti_algorithm *automatic = tutti_algorithm_find("auto");
    static const struct {
        int P, near;
        int64_t count;
        const char *name;
    } wanted[] = {
        {2, 0, 65536, "recursive-doubling"},
        {2, 0, 65537, "ring"},
        {9, 0, 1024, "recursive-doubling"},
        {4, 0, 1025, "rsag"},
        {4, 0, 32768, "rsag"},
        {4, 0, 32769, "ring"},
        {3, 0, 1025, "ring"},
        {2, 1, 1000, "recursive-doubling"},
        {3, 1, 1001, "rsag"},
        {2, 1, 2000, "rsag"},
        {2, 1, 2001, "recursive-doubling"},
        {2, 1, 16383, "recursive-doubling"},
        {2, 1, 16384, "ring"},
        {4, 1, 16384, "rsag"},
        {3, 1, 16384, "ring"},
        {4, 1, 65536, "ring"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        choose(wanted[i].P, wanted[i].near, wanted[i].count, 0, wanted[i].name);
    choose(2, 0, 65537, 1, "ring");
    choose(3, 0, 1024, 1, "recursive-doubling");
    choose(3, 0, 1025, 1, "direct");
    choose(64, 1, 1024, 1, "recursive-doubling");
    choose(4, 1, 1025, 1, "direct");
    choose(4, 0, 1 << 20, 1, "direct");
    tutti_choice_key key = {.kind = TUTTI_BROADCAST, .P = 4, .count = 1 << 20, .element = 4};
    ck_assert(tutti_coll_choose(automatic, &key).build == tutti_sched_tree_broadcast);
    key.kind = TUTTI_REDUCE_SCATTER;
    ck_assert(tutti_coll_choose(automatic, &key).build == tutti_sched_ring_reduce_scatter);
    key.wide = 1;
    ck_assert(tutti_coll_choose(automatic, &key).build == tutti_sched_direct_reduce_scatter);
    ck_assert_int_eq(tutti_coll_choose(automatic, &key).wide, 1);
    ck_assert_int_eq(tutti_coll_choose(tutti_algorithm_find("ring"), &key).wide, 0);
    ck_assert_ptr_null(tutti_algorithm_find("bubble"));
    ck_assert_ptr_null(tutti_algorithm_find("ring:4"));
    ck_assert_ptr_null(tutti_algorithm_find("k-nomial:1"));
    ck_assert_ptr_null(tutti_algorithm_find("k-nomial:"));
    ck_assert_ptr_null(tutti_algorithm_find("k-nomial:4x"));
    ck_assert_ptr_eq(tutti_algorithm_find("k-nomial:8"), tutti_algorithm_find("k-nomial"));
    ck_assert_int_eq(tutti_algorithm_radix("k-nomial"), 4);
    ck_assert_int_eq(tutti_algorithm_radix("k-nomial:8"), 8);
    ck_assert_int_eq(tutti_algorithm_radix("chain-chain:1"), 1);
    ck_assert_int_eq(tutti_algorithm_radix("ring"), 0);
    key = (tutti_choice_key){.kind = TUTTI_REDUCE, .P = 4, .count = 9, .element = 4, .radix = 8};
    ck_assert_int_eq(tutti_coll_choose(tutti_algorithm_find("k-nomial:8"), &key).radix, 8);
    ck_assert(
        tutti_coll_choose(tutti_algorithm_find("k-nomial:8"), &key).build == tutti_sched_nomial);
    key.ordered = 1; /* trees do not combine ranks in their order */
    ck_assert(tutti_coll_choose(tutti_algorithm_find("k-nomial:8"), &key).build ==
              tutti_sched_tree_reduce);
    ck_assert_ptr_eq(tutti_algorithm_find(NULL), automatic);
    ck_assert_int_eq(tutti_algorithm_is_library("mpi"), 1);
    ck_assert_int_eq(tutti_algorithm_is_library("ring"), 0);
    char text[512], small[8];
    ck_assert_str_eq(tutti_algorithm_names(text, sizeof text),
        "auto, ring, recursive-doubling, tree, rsag, direct, pipelined-chain, k-nomial, "
        "chain-binomial, chain-chain, scatter-ring, hierarchical, mpi");
    ck_assert_str_eq(tutti_algorithm_names(small, sizeof small), "auto, r");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choose");
    TCase *tcase = testing_case(suite, "choose");
    tcase_add_test(tcase, sizes_beyond_32_bits_are_planned_in_elements);
    tcase_add_test(tcase, choice_is_as_documented);
    return testing_run(suite);
}
