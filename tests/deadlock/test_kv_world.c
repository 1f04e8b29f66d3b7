/* kv world: the explorer on real servers and clients of designs/kv: random schedules of random
 * cases, every schedule of small ones, and the rings that it must find.
 *
 * TUTTI_EXPLORE_SCHEDULES=n: a tenth as many random schedules of these. TUTTI_TEST_SEED replays a
 * seed. TUTTI_TEST_FEWER: not every schedule, but some thousands. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/deadlock/case.h"
#include "tests/deadlock/kv_check.h"
#include "tests/deadlock/kv_explore.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEDULES = 2000 }; /* in `make check` */

static int64_t wanted(void)
{
    const char *text = getenv("TUTTI_EXPLORE_SCHEDULES");
    return text ? strtoll(text, NULL, 0) / 10 : SCHEDULES;
}

/* Of cases whose keys have so many copies, or more. */
static void explore_random_cases(const char *title, int copies, int64_t most)
{
    enum { EACH = 4 };
    unsigned long seed = testing_seed(1);
    double began_s = tutti_clock_s();
    explore_result all = {0};
    if (getenv("TUTTI_TEST_SEED")) most = EACH;
    for (uint64_t s = seed; all.schedules < most && !all.first_bad; s++) {
        kv_case c;
        tutti_verdict verdict;
        kv_draw(s, &c);
        if (c.copies < copies) continue;
        kv_check(&c, &verdict);
        ck_assert_msg(!verdict.clause, "seed %lu: %s", (unsigned long)s, verdict.text);
        for (uint64_t i = 0; i < EACH; i++) {
            uint64_t how = i ? wire_mix(s, i) : s;
            ck_assert_ok(kv_explore_random(&c, how, &all));
        }
        ck_assert_msg(!all.first_bad, "%s; case %lu", all.what, (unsigned long)s);
    }
    explore_print(title, &all, began_s);
}

START_TEST(random_schedules_end_right)
{
    explore_random_cases("random", 1, wanted());
}
END_TEST

START_TEST(random_schedules_with_two_copies_end_right)
{
    explore_random_cases("random, two copies", 2, wanted() / 2);
}
END_TEST

/* The same cases, but both servers of a key die. Who has lost both ends, then everybody does, and what has come until
 * then is right. */
START_TEST(random_schedules_that_lose_keys_end)
{
    unsigned long seed = testing_seed(1);
    double began_s = tutti_clock_s();
    explore_result all = {0};
    int64_t most = getenv("TUTTI_TEST_SEED") ? 1 : wanted() / 4;
    for (uint64_t s = seed; all.schedules < most; s++) {
        kv_case c;
        int server, other, dead = (int)(s % 2);
        kv_draw(s, &c);
        if (c.copies == 1) continue;
        for (int i = 0; i < 2; i++) {
            int r = c.workers + (dead + i) % c.servers;
            c.calls[r] = 1;
            c.call[r][0] = (kv_call){.kind = KV_DIE, .after = -1};
        }
        ck_assert(kv_case_loses_keys(&c, &server, &other));
        ck_assert_ok(kv_explore_random(&c, s, &all));
        ck_assert_msg(!all.hangs && !all.wrong && !all.mismatches, "%s; case %lu", all.what,
            (unsigned long)s);
    }
    explore_print("keys lost", &all, began_s);
    ck_assert(most == 1 || (all.right && all.errors > all.schedules / 4));
}
END_TEST

/* What the random schedules are of. */
START_TEST(cases_have_all_that_happens)
{
    enum { CASES = 1000 };
    int types[3] = {0}, mortal = 0, returning = 0, meeting = 0, groups = 0, servers = 0, cut = 0,
        waiting = 0, copies = 0, crashes[3] = {0};
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        kv_case c;
        int returns = 0, meets = 0, afters = 0, large = 0, dead = 0;
        kv_draw(seed, &c);
        for (int r = 0; r < c.workers; r++) {
            returns += kv_case_calls(&c, r, KV_RETURN, 0);
            meets += kv_case_calls(&c, r, KV_MEET, 0);
            for (int i = 0; i < c.calls[r]; i++) afters += c.call[r][i].after >= 0;
        }
        for (int k = 0; k < c.keys; k++) large += c.count[k] >= 65536;
        for (int s = 0; s < c.servers; s++) dead += kv_case_crashes(&c, s);
        copies += c.copies > 1;
        crashes[dead]++;
        types[c.rule.type]++;
        mortal += kv_case_is_mortal(&c);
        returning += returns > 0;
        meeting += meets > 0;
        waiting += afters > 0;
        groups += kv_case_client_size(&c) > 1;
        servers += c.servers > 1;
        cut += large && c.servers > 1;
    }
    for (int t = 0; t < 3; t++) ck_assert_int_gt(types[t], CASES / 10);
    ck_assert_int_gt(copies, CASES / 10);
    ck_assert_int_gt(crashes[1], CASES / 20);
    ck_assert_int_gt(crashes[2], CASES / 100);
    ck_assert_int_gt(mortal, CASES / 10);
    ck_assert_int_gt(returning, CASES / 20);
    ck_assert_int_gt(meeting, CASES / 10);
    ck_assert_int_gt(waiting, CASES / 10);
    ck_assert_int_gt(groups, CASES / 10);
    ck_assert_int_gt(servers, CASES / 4);
    ck_assert_int_gt(cut, CASES / 10);
}
END_TEST

static deadlock_case *parse(const char *head, const char *rest)
{
    char text[1024];
    deadlock_case *c;
    snprintf(text, sizeof text, "diagnosis x\n%s\n%s", head, rest);
    ck_assert_ok(deadlock_case_parse("x_ok.case", text, &c));
    return c;
}

/* Of every schedule, so many. */
static int64_t most_of(int64_t most)
{
    enum { SOME = 3000 };
    return testing_fewer() ? SOME : most;
}

static void explore_every(const deadlock_case *c, int64_t most, explore_result *result)
{
    const explore_options options = {.most = most_of(most), .exhaustive = 1};
    ck_assert_ok(kv_explore(&c->kv, &options, result));
}

static const char *const types[] = {"sync", "async", "bounded:1"};

START_TEST(every_schedule_of_a_small_case_ends_right)
{
    static const char *const programs[] = {
        "push a\npull a\n",
        "rank 0: push a\nrank 0: pull a\nrank 0: push b\nrank 0: pull b\n"
        "rank 1: push b\nrank 1: pull b\nrank 1: push a\nrank 1: pull a\n",
        "push a\npull a\nrank 1: leave\nrank 0: push a after a\nrank 0: pull a\n",
        "push a\npull a\npush b after a\npull b\nmeet\n",
        "rank 0: push a\nrank 0: pull a\nrank 1: push a\nrank 1: push b\n",
    };
    enum { MOST = 100000 };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char head[128], title[64];
        explore_result result;
        double began_s = tutti_clock_s();
        snprintf(head, sizeof head, "ranks 3\nverdict ok\nserve 1 %s\nkey a 3\nkey b 4", types[_i]);
        deadlock_case *c = parse(head, programs[i]);
        explore_every(c, MOST, &result);
        snprintf(title, sizeof title, "%s, program %zu", types[_i], i);
        explore_print(title, &result, began_s);
        ck_assert_msg(!result.first_bad, "%s", result.what);
        ck_assert(result.right && (testing_fewer() || !result.cut));
        free(c);
    }
}
END_TEST

/* Only three floats tell the order in which they were added. */
START_TEST(every_schedule_of_three_clients_adds_in_their_order)
{
    explore_result result;
    double began_s = tutti_clock_s();
    deadlock_case *c = parse("ranks 4\nverdict ok\nserve 1 sync\nkey a 4", "push a\npull a\n");
    explore_every(c, INT64_MAX, &result);
    explore_print("three clients", &result, began_s);
    ck_assert_msg(!result.first_bad, "%s", result.what);
    free(c);
}
END_TEST

START_TEST(every_schedule_with_a_death_ends_right)
{
    static const char *const programs[] = {
        "push a\npull a\nrank 1: die\n",
        "push a\nrank 1: die\nrank 1: return\nrank 0: pull a\nrank 1: push a\nrank 1: pull a\n",
    };
    enum { MOST = 100000 };
    for (size_t i = 0; i < 2 * (sizeof programs / sizeof *programs); i++) {
        char head[128];
        explore_result result;
        double began_s = tutti_clock_s();
        snprintf(head, sizeof head, "ranks 3\nverdict ok\nserve 1 %s\nkey a 3", types[1 + i % 2]);
        deadlock_case *c = parse(head, programs[i / 2]);
        explore_every(c, MOST, &result);
        explore_print(types[1 + i % 2], &result, began_s);
        ck_assert_msg(!result.first_bad, "%s", result.what);
        ck_assert(testing_fewer() || !result.cut);
        free(c);
    }
}
END_TEST

/* Two servers, a key on both, of which rank 1 is asked; a client that pushes ahead of its pulls, or not. */
static const struct {
    int ranks, prepared, large; /* large: not in `make check` */
    const char *program;
} copies[] = {
    {3, 0, 0, "push a\npull a\nrank 1: die\n"},
    {3, 0, 0, "push a\npull a\nrank 2: die\n"},
    {3, 1, 0, "push a\npull a\npush a\npull a\nrank 1: die\n"},
    {3, 1, 0, "push a\npull a\npush a after a\npull a\nrank 1: die\n"},
    {3, 1, 0, "push a\npull a\nmeet\npush a\npull a\nrank 1: die\n"},
    {3, 1, 0, "push a\npull a\npull a\npush a\npull a\nrank 2: die\n"},
    {4, 1, 0, "push a\nrank 0: pull a\nrank 2: die\n"},
    {4, 1, 1, "push a\npull a\nrank 2: die\n"},
};

static deadlock_case *parse_copies(int ranks, const char *calls)
{
    char head[128];
    snprintf(head, sizeof head, "ranks %d\nverdict ok\nserve 2 sync copies 2\nkey a 3", ranks);
    return parse(head, calls);
}

static void explore_copies(const deadlock_case *c, int prepared, explore_result *result)
{
    enum { MOST = 200000 };
    const explore_options options = {.most = most_of(MOST), .exhaustive = 1, .prepared = prepared};
    double began_s = tutti_clock_s();
    ck_assert_ok(kv_explore(&c->kv, &options, result));
    explore_print("two copies", result, began_s);
    ck_assert(testing_fewer() || !result->cut);
}

START_TEST(every_schedule_with_two_copies_ends_right)
{
    explore_result result;
    if (copies[_i].large && wanted() <= SCHEDULES) return;
    deadlock_case *c = parse_copies(copies[_i].ranks, copies[_i].program);
    explore_copies(c, copies[_i].prepared, &result);
    ck_assert_msg(!result.first_bad, "%s", result.what);
    free(c);
}
END_TEST

/* Some schedules are over before the second has died, or before that is noticed. */
START_TEST(every_schedule_that_loses_both_copies_ends)
{
    explore_result result;
    deadlock_case *c = parse_copies(3, "push a\npull a\nrank 1 2: die\n");
    explore_copies(c, 1, &result);
    ck_assert_msg(!result.hangs && !result.wrong && !result.mismatches, "%s", result.what);
    ck_assert(result.right && result.errors);
    free(c);
}
END_TEST

/* A push waits behind a pull, on which another client's push of that key waits, and so on round. */
START_TEST(one_group_hangs_and_two_do_not)
{
    static const char calls[] =
        "key a 3\nkey b 4\n"
        "rank 0 1: push a\nrank 0 1: pull a\nrank 0 1: push b\nrank 0 1: pull b\n"
        "rank 2 3: push b\nrank 2 3: pull b\nrank 2 3: push a\nrank 2 3: pull a\n";
    explore_result result;
    tutti_verdict verdict;
    deadlock_case *c = parse("ranks 5\nverdict ok\nserve 1 sync clients 2 one-group", calls);
    explore_every(c, 1, &result);
    ck_assert_int_eq(result.first_bad, WORLD_HANG);
    ck_assert_msg(
        strstr(result.what,
            "worker 0 has waited 5.0 s in a pull of key 0, which it has pushed 1 times: this "
            "server waits for client 1 (worker 2 and others), which has pushed it 0 times"),
        "%s", result.what);
    kv_check(&c->kv, &verdict);
    ck_assert_int_eq(verdict.clause, TUTTI_CLAUSE_CYCLE);
    free(c);
    c = parse("ranks 5\nverdict ok\nserve 1 sync clients 2", calls);
    explore_every(c, 10000, &result);
    ck_assert_msg(!result.first_bad, "%s", result.what);
    free(c);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("kv world");
    TCase *tcase = testing_case(suite, "kv world");
    tcase_add_test(tcase, random_schedules_end_right);
    tcase_add_test(tcase, cases_have_all_that_happens);
    tcase_add_loop_test(tcase, every_schedule_of_a_small_case_ends_right, 0, 3);
    tcase_add_test(tcase, every_schedule_of_three_clients_adds_in_their_order);
    tcase_add_test(tcase, every_schedule_with_a_death_ends_right);
    tcase_add_test(tcase, one_group_hangs_and_two_do_not);
    tcase = testing_case(suite, "copies");
    tcase_add_test(tcase, random_schedules_with_two_copies_end_right);
    tcase_add_test(tcase, random_schedules_that_lose_keys_end);
    tcase_add_loop_test(
        tcase, every_schedule_with_two_copies_ends_right, 0, (int)(sizeof copies / sizeof *copies));
    tcase_add_test(tcase, every_schedule_that_loses_both_copies_ends);
    return testing_run(suite);
}
