/* apps/train/replica: how differing ranks are named. Whole runs: replica.sh. */
#include "apps/train/replica.h"
#include "tests/support/testing.h"

START_TEST(descriptions)
{
    static const struct {
        int ranks;
        uint64_t hash[12];
        const char *text;
    } rows[] = {
        {2, {1, 2}, "rank 0 has 0000000000000001, rank 1 has 0000000000000002"},
        {4, {1, 0xabcdef, 1, 1},
            "ranks 0, 2 and 3 have 0000000000000001, rank 1 has 0000000000abcdef"},
        {3, {7, 1, 1}, "rank 0 has 0000000000000007, ranks 1 and 2 have 0000000000000001"},
        {5, {1, 2, 3, 4, 5},
            "rank 0 has 0000000000000001, rank 1 has 0000000000000002, rank 2 has "
            "0000000000000003, and 2 more hashes"},
        {12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
            "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 3 more have 0000000000000001, rank 11 has "
            "0000000000000002"},
    };
    const tutti_replica_ranks of = {0, rows[_i].ranks, 1};
    char text[1024], cut[20];
    ck_assert_str_eq(tutti_replica_describe(&of, rows[_i].hash, text, sizeof text), rows[_i].text);
    tutti_replica_describe(&of, rows[_i].hash, cut, sizeof cut);
    ck_assert_int_eq(strncmp(cut, text, sizeof cut - 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replica");
    tcase_add_loop_test(testing_case(suite, "replica"), descriptions, 0, 5);
    return testing_run(suite);
}
