/* collectives/sched/match refuses pairs of schedules that are wrong, written by hand. */
#include "collectives/sched/match.h"
#include "tests/collectives/schedules.h"
#include "tests/support/testing.h"

typedef void (*hand)(tutti_sched_draft *draft, int rank);

static tutti_status match_pair(hand write, int wide)
{
    schedules a = {.P = 2};
    for (int r = 0; r < 2; r++) {
        const tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .rank = r, .P = 2, .count = 2, .in_place = 1, .wide = wide};
        tutti_sched_draft *draft;
        tutti_sched *sched;
        ck_assert_ok(tutti_sched_begin(&shape, &draft));
        write(draft, r);
        ck_assert_ok(tutti_sched_end(draft, &sched));
        a.ranks[r] = sched;
    }
    tutti_status status = tutti_sched_match(a.ranks, 2);
    schedules_free(&a);
    return status;
}

static void exchange(tutti_sched_draft *d, int rank, int64_t n)
{
    tutti_sched_recv(d, !rank, tutti_scratch(0), n);
    tutti_sched_send(d, !rank, tutti_out(0), n);
}

static void good(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void other_order_of_operands(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, 0);
}

static void added_twice(tutti_sched_draft *d, int rank)
{
    good(d, rank);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void nothing_added(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
}

static void one_element_short(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 1);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 1, rank);
}

static void shifted(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(1), 1, rank);
    tutti_sched_reduce(d, tutti_out(1), tutti_scratch(0), 1, rank);
}

static void unwritten(tutti_sched_draft *d, int rank)
{
    good(d, rank);
    tutti_sched_copy(d, tutti_out(0), tutti_scratch(2), 1);
}

static void never_received(tutti_sched_draft *d, int rank)
{
    good(d, rank);
    if (!rank) tutti_sched_send(d, 1, tutti_out(0), 1);
}

static void sizes_differ(tutti_sched_draft *d, int rank)
{
    tutti_sched_recv(d, !rank, tutti_scratch(0), 2 - rank);
    tutti_sched_send(d, !rank, tutti_out(0), 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void circle(tutti_sched_draft *d, int rank)
{
    tutti_sched_recv(d, !rank, tutti_out(0), 2);
    tutti_sched_send(d, !rank, tutti_out(0), 2);
}

START_TEST(match_refuses_what_is_wrong)
{
    static const hand wrong[] = {other_order_of_operands, added_twice, nothing_added,
        one_element_short, shifted, unwritten, never_received, sizes_differ, circle};
    ck_assert_ok(match_pair(good, 0));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(
            match_pair(wrong[i], 0) == TUTTI_ERR_MISMATCH, "wrong schedule %d passed", (int)i);
}
END_TEST

/* Rank 0 before rank 1, in accumulators. */
static void good_wide(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_copy(d, tutti_wide(0), rank ? tutti_scratch(0) : tutti_out(0), 2);
    tutti_sched_reduce(d, tutti_wide(0), rank ? tutti_out(0) : tutti_scratch(0), 2, 0);
    tutti_sched_copy(d, tutti_out(0), tutti_wide(0), 2);
}

/* One addition rounds once, whichever way. */
static void wide_on_one_rank(tutti_sched_draft *d, int rank)
{
    (rank ? good_wide : good)(d, rank);
}

static void sent_wide(tutti_sched_draft *d, int rank)
{
    tutti_sched_copy(d, tutti_wide(0), tutti_out(0), 2);
    tutti_sched_recv(d, !rank, tutti_scratch(0), 2);
    tutti_sched_send(d, !rank, tutti_wide(0), 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void combined_from_wide(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_copy(d, tutti_wide(0), tutti_scratch(0), 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_wide(0), 2, rank);
}

START_TEST(match_refuses_what_no_accumulator_does)
{
    static const hand wrong[] = {sent_wide, combined_from_wide};
    ck_assert_ok(match_pair(good_wide, 1));
    ck_assert_ok(match_pair(wide_on_one_rank, 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(
            match_pair(wrong[i], 1) == TUTTI_ERR_MISMATCH, "wrong schedule %d passed", (int)i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("match");
    TCase *tcase = testing_case(suite, "match");
    tcase_add_test(tcase, match_refuses_what_is_wrong);
    tcase_add_test(tcase, match_refuses_what_no_accumulator_does);
    return testing_run(suite);
}
