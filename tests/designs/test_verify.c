/* verify itself, with all ranks on one thread: what differs is named, with all ranks, and nothing else is. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/verify/verify.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <stdio.h>

enum { MOST_RANKS = 5, LANES = 2, COUNT = 8 };

static const tutti_coll_args sum = {
    .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_F32, .op = TUTTI_SUM, .count = COUNT};

static tutti_fingerprint print_of(
    const char *name, int64_t sequence, int lane, int64_t number, tutti_coll_args args)
{
    const tutti_entry entry = {
        .name = name, .sequence = sequence, .index = sequence, .lane = lane, .args = args};
    tutti_fingerprint f;
    tutti_fingerprint_make(&entry, number, &(tutti_members){.size = 2}, &f);
    return f;
}

typedef struct end {
    tutti_transport *transport;
    tutti_control *control;
    tutti_shutdown *shutdown;
    tutti_verify *verify;
    char sentence[TUTTI_CONTROL_TEXT];
} end;

typedef struct group {
    tutti_loop_world *world;
    int ranks;
    end end[MOST_RANKS];
} group;

static void open_group_with(group *g, int ranks, tutti_verify_options options)
{
    *g = (group){.ranks = ranks};
    ck_assert_ok(tutti_loop_world_new(ranks, NULL, &g->world));
    for (int r = 0; r < ranks; r++) {
        end *e = &g->end[r];
        ck_assert_ok(tutti_transport_loop(g->world, r, LANES + 1, &e->transport));
        ck_assert_ok(tutti_control_open(e->transport, LANES, &e->control));
        ck_assert_ok(tutti_shutdown_open(e->control, LANES, &e->shutdown));
        ck_assert_ok(tutti_verify_open(&options, e->control, LANES, e->shutdown, &e->verify));
    }
}

static void open_group(group *g, int ranks, tutti_verify_mode mode)
{
    open_group_with(g, ranks, (tutti_verify_options){.mode = mode, .at_once = 1});
}

static void close_group(group *g)
{
    for (int r = 0; r < g->ranks; r++) {
        end *e = &g->end[r];
        tutti_control_stop(e->control);
        e->transport->ops->close(e->transport);
        tutti_verify_close(e->verify);
        tutti_shutdown_close(e->shutdown);
        tutti_control_free(e->control);
    }
    tutti_loop_world_free(g->world);
}

static void pass_all(group *g)
{
    for (int turn = 0; turn < 20; turn++)
        for (int r = 0; r < g->ranks; r++) {
            end *e = &g->end[r];
            const char *sentence;
            int moved = 0;
            ck_assert_ok(tutti_control_poll(e->control, &moved));
            ck_assert_ok(tutti_verify_pass(e->verify, &sentence));
            if (sentence) snprintf(e->sentence, sizeof e->sentence, "%s", sentence);
        }
}

static int admit(group *g, int rank, tutti_fingerprint f)
{
    int may_start;
    ck_assert_ok(tutti_verify_admit(g->end[rank].verify, &f, &may_start));
    return may_start;
}

/* One rank runs far ahead of the others, beyond the initial room. */
START_TEST(ranks_that_agree_are_left_alone)
{
    enum { FAR = 1000 };
    group g;
    open_group(&g, 3, TUTTI_VERIFY_ON);
    for (int r = 0; r < 3; r++) {
        for (int64_t n = 0; n < FAR; n++)
            ck_assert(admit(&g, r, print_of("w", n, (int)(n % LANES), n / LANES, sum)));
        pass_all(&g);
    }
    for (int r = 0; r < 3; r++) {
        ck_assert_str_eq(g.end[r].sentence, "");
        ck_assert(!tutti_verify_curious(g.end[r].verify));
    }
    close_group(&g);
}
END_TEST

/* Either mode names the difference that comes first in the program. */
START_TEST(a_difference_is_named_with_all_ranks)
{
    static const char expected[] = "the ranks' collectives differ (number 1 on lane 1): ranks 0, "
                                   "1: #3 'b', allreduce of 8 F32 "
                                   "(sum); rank 2: #3 'c', allreduce of 8 F32 (sum). Every rank "
                                   "must start the same collectives "
                                   "in the same order";
    group g;
    open_group(&g, 3, _i ? TUTTI_VERIFY_FULL : TUTTI_VERIFY_ON);
    for (int turn = 0; turn < 3; turn++) { /* full takes two rounds for three ranks */
        for (int r = 0; r < 3; r++) admit(&g, r, print_of("a", 1, 1, 0, sum));
        pass_all(&g);
    }
    for (int r = 0; r < 3; r++) ck_assert(admit(&g, r, print_of("a", 1, 1, 0, sum)));
    for (int turn = 0; turn < 3; turn++) {
        for (int r = 0; r < 3; r++) {
            int may_start = admit(&g, r, print_of(r == 2 ? "c" : "b", 3, 1, 1, sum));
            if (_i) ck_assert(!may_start);
        }
        pass_all(&g);
    }
    int told = 0;
    for (int r = 0; r < 3; r++) {
        if (!*g.end[r].sentence) continue;
        ck_assert_str_eq(g.end[r].sentence, expected);
        ck_assert(!admit(&g, r, print_of("d", 4, 0, 0, sum)));
        told++;
    }
    ck_assert_int_gt(told, 0);
    close_group(&g);
}
END_TEST

/* One extra collective on a lane shifts the sequence numbers of later ones on other lanes: if the shift is
 * seen there first, verify waits for the cause. */
START_TEST(the_cause_of_a_shift_is_named)
{
    group g;
    const char *told = "";
    open_group_with(&g, 3, (tutti_verify_options){.mode = TUTTI_VERIFY_ON});
    for (int r = 0; r < 3; r++) admit(&g, r, print_of("w", r == 2 ? 2 : 1, 0, 0, sum));
    for (int turn = 0; turn < 10; turn++) {
        tutti_clock_sleep(5e-3);
        pass_all(&g);
    }
    for (int r = 0; r < 3; r++) ck_assert_str_eq(g.end[r].sentence, "");
    for (int r = 0; r < 3; r++) admit(&g, r, print_of(r == 2 ? "extra" : "x", 0, 1, 0, sum));
    for (double end_s = tutti_clock_s() + 20; !*told && tutti_clock_s() < end_s;) {
        tutti_clock_sleep(1e-3);
        pass_all(&g);
        for (int r = 0; r < 3; r++) told = *g.end[r].sentence ? g.end[r].sentence : told;
    }
    ck_assert_msg(
        strstr(told, "(number 0 on lane 1)") && strstr(told, "rank 2: #0 'extra'"), "%s", told);
    close_group(&g);
}
END_TEST

/* If the cause does not come, the shift is reported. */
START_TEST(a_shift_without_a_cause_is_told)
{
    group g;
    open_group(&g, 2, TUTTI_VERIFY_ON);
    for (int r = 0; r < 2; r++) admit(&g, r, print_of("w", r, 0, 0, sum));
    pass_all(&g);
    ck_assert_ptr_nonnull(
        strstr(g.end[0].sentence, "On another lane a rank has started a collective too few"));
    close_group(&g);
}
END_TEST

/* A rank that has not reached the collective does not delay the others' answer. */
START_TEST(ranks_that_are_late_are_told_apart)
{
    group g;
    open_group(&g, 4, TUTTI_VERIFY_ON);
    admit(&g, 0, print_of("a", 0, 0, 0, sum));
    admit(&g, 1, print_of("b", 0, 0, 0, sum));
    pass_all(&g);
    ck_assert_str_eq(g.end[1].sentence,
        "the ranks' collectives differ (number 0 on lane 0): rank 0: #0 'a', allreduce of 8 F32 "
        "(sum); rank 1: #0 'b', allreduce of 8 F32 (sum); ranks 2, 3 not there yet. Every rank "
        "must "
        "start the same collectives in the same order");
    close_group(&g);
}
END_TEST

/* A rank that has long passed the place is not taken for late. */
START_TEST(ranks_that_have_forgotten_are_told_apart)
{
    group g;
    open_group_with(
        &g, 3, (tutti_verify_options){.mode = TUTTI_VERIFY_ON, .at_once = 1, .history = 1});
    admit(&g, 0, print_of("a", 0, 0, 0, sum));
    admit(&g, 1, print_of("b", 0, 0, 0, sum));
    for (int n = 0; n < 2; n++) admit(&g, 2, print_of("a", n, 0, n, sum));
    pass_all(&g);
    ck_assert_str_eq(g.end[1].sentence,
        "the ranks' collectives differ (number 0 on lane 0): rank 0: #0 'a', allreduce of 8 F32 "
        "(sum); rank 1: #0 'b', allreduce of 8 F32 (sum); rank 2 started it too long ago to say "
        "what it was. Every rank must start the same collectives in the same order");
    close_group(&g);
}
END_TEST

static void leave(const end *e, int failed)
{
    ck_assert_ok(tutti_verify_flush(e->verify));
    ck_assert_ok(tutti_shutdown_send(e->shutdown, failed ? NULL : tutti_verify_started(e->verify)));
}

/* Whether the others have left, with equal counts unless `failed`. */
static int have_left(const end *e, int failed)
{
    return tutti_shutdown_has_all(e->shutdown, failed ? NULL : tutti_verify_started(e->verify));
}

START_TEST(a_rank_that_leaves_early_is_named)
{
    group g;
    open_group(&g, 2, _i ? TUTTI_VERIFY_FULL : TUTTI_VERIFY_ON);
    for (int turn = 0; turn < 2; turn++) {
        for (int r = 0; r < 2; r++) admit(&g, r, print_of("a", 0, 1, 0, sum));
        pass_all(&g);
    }
    leave(&g.end[1], 0);
    pass_all(&g);
    char ranks[16];
    ck_assert(!have_left(&g.end[1], 0));
    ck_assert_str_eq(tutti_shutdown_missing(g.end[1].shutdown, ranks, sizeof ranks), "0");
    ck_assert_str_eq(g.end[0].sentence, "");
    admit(&g, 0, print_of("b", 1, 1, 1, sum));
    pass_all(&g);
    ck_assert_str_eq(g.end[0].sentence,
        "rank 1 has ended after 1 collectives on lane 1, but rank 0 starts one more: #1 'b', "
        "allreduce of 8 F32 (sum). Every rank must start the same number of collectives: does rank "
        "1 make "
        "fewer "
        "steps?");
    leave(&g.end[0], 1);
    pass_all(&g);
    ck_assert(have_left(&g.end[0], 1));
    ck_assert(!have_left(&g.end[0], 0));
    ck_assert(have_left(&g.end[1], 0)); /* a rank that failed does not count */
    close_group(&g);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("verify");
    TCase *tcase = testing_case(suite, "verify");
    tcase_add_test(tcase, ranks_that_agree_are_left_alone);
    tcase_add_loop_test(tcase, a_difference_is_named_with_all_ranks, 0, 2);
    tcase_add_test(tcase, ranks_that_are_late_are_told_apart);
    tcase_add_test(tcase, ranks_that_have_forgotten_are_told_apart);
    tcase_add_test(tcase, the_cause_of_a_shift_is_named);
    tcase_add_test(tcase, a_shift_without_a_cause_is_told);
    tcase_add_loop_test(tcase, a_rank_that_leaves_early_is_named, 0, 2);
    return testing_run(suite);
}
