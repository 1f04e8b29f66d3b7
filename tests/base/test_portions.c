/* portions: the parts of a key are all of it, once, as equal as can be; small keys lie where there is least; parts of a
 * server have numbers of their own; with two copies each part is on the next server, too, under a number of its own. */
#include "dag/base/portions.h"
#include "tests/support/testing.h"

enum { MOST = 7, CUT = 64 };

/* Deals a key; returns how many parts it has. */
static int deal(tutti_portions *portions, int64_t count, tutti_portion part[MOST])
{
    int parts = tutti_portions_parts(portions, count);
    for (int p = 0; p < parts; p++)
        tutti_portions_partition(portions, count, 4, parts, p, &part[p]);
    return parts;
}

START_TEST(parts_are_all_of_a_key)
{
    for (int servers = 1; servers <= MOST; servers++) {
        tutti_portions portions;
        ck_assert_ok(tutti_portions_open(servers, CUT, &portions));
        for (int64_t count = 1; count < 4 * CUT; count++) {
            tutti_portion part[MOST];
            int64_t next = 0;
            int parts = deal(&portions, count, part);
            ck_assert_int_eq(parts, count < CUT ? 1 : servers);
            for (int p = 0; p < parts; p++) {
                ck_assert_int_eq(part[p].first, next);
                ck_assert_int_ge(part[p].count, count / parts);
                ck_assert_int_le(part[p].count, count / parts + 1);
                next += part[p].count;
                if (parts > 1) ck_assert_int_eq(part[p].server, p);
            }
            ck_assert_int_eq(next, count);
        }
        tutti_portions_close(&portions);
    }
}
END_TEST

START_TEST(small_keys_lie_where_there_is_least)
{
    static const int counts[] = {10, 3, 3, 3, 3, 20, 1, 1};
    static const int servers[] = {0, 1, 2, 1, 2, 1, 2, 2}; /* server 0 has the first key, and so on */
    static const int slots[] = {0, 0, 0, 1, 1, 2, 2, 3};
    tutti_portions portions;
    ck_assert_ok(tutti_portions_open(3, CUT, &portions));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        tutti_portion part[MOST];
        ck_assert_int_eq(deal(&portions, counts[i], part), 1);
        ck_assert_int_eq(part[0].server, servers[i]);
        ck_assert_int_eq(part[0].slot, slots[i]);
    }
    tutti_portions_close(&portions);
}
END_TEST

START_TEST(parts_of_large_keys_count_where_they_lie)
{
    tutti_portions portions;
    tutti_portion part[MOST];
    ck_assert_ok(tutti_portions_open(2, CUT, &portions));
    ck_assert_int_eq(deal(&portions, 5, part), 1);
    ck_assert_int_eq(deal(&portions, CUT + 1, part), 2); /* 33 and 32 */
    ck_assert_int_eq(part[0].slot, 1);
    ck_assert_int_eq(part[1].slot, 0);
    ck_assert_int_eq(portions.server[0].bytes, (5 + 33) * 4);
    ck_assert_int_eq(portions.server[1].bytes, 32 * 4);
    tutti_portions_close(&portions);
}
END_TEST

START_TEST(copies_lie_on_the_next_server)
{
    enum { KEYS = 20 };
    for (int servers = 2; servers <= MOST; servers++) {
        tutti_portions one, two;
        int has[MOST][4 * KEYS] = {0}; /* which numbers a server has given */
        ck_assert_ok(tutti_portions_open(servers, CUT, &one));
        ck_assert_ok(tutti_portions_open(servers, CUT, &two));
        two.copies = 2;
        for (int key = 0; key < KEYS; key++) {
            tutti_portion alone[MOST], part[MOST];
            int64_t count = key % 3 ? 1 + 7 * key % (CUT - 1) : CUT + key;
            int parts = deal(&two, count, part);
            ck_assert_int_eq(parts, deal(&one, count, alone));
            for (int p = 0; p < parts; p++) {
                ck_assert_int_eq(part[p].server, alone[p].server);
                ck_assert_int_eq(part[p].second, (part[p].server + 1) % servers);
                ck_assert_int_eq(has[part[p].server][part[p].slot]++, 0);
                ck_assert_int_eq(has[part[p].second][part[p].second_slot]++, 0);
            }
        }
        for (int s = 0; s < servers; s++)
            for (int slot = 0; slot < two.server[s].slots; slot++)
                ck_assert_int_eq(has[s][slot], 1);
        tutti_portions_close(&one);
        tutti_portions_close(&two);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("portions");
    TCase *tcase = testing_case(suite, "portions");
    tcase_add_test(tcase, parts_are_all_of_a_key);
    tcase_add_test(tcase, small_keys_lie_where_there_is_least);
    tcase_add_test(tcase, parts_of_large_keys_count_where_they_lie);
    tcase_add_test(tcase, copies_lie_on_the_next_server);
    return testing_run(suite);
}
