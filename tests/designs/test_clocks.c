/* clocks: the offset of a clock that is hours ahead and fast is found to within the stated error, however
 * late messages come. Ranks on one thread, over the loop transport. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/thread/clocks.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <math.h>

enum { RANKS = 3, LANE = 0 };
static const double ahead_s = 7200, drift = 4e-4;

typedef struct end {
    tutti_transport *transport;
    tutti_control *control;
    tutti_clocks *clocks;
} end;

static double strange_clock(double t_s)
{
    return t_s * (1 + drift) + ahead_s;
}

/* Rank 0's answer, with a strange time in place of its own. */
static void tell_strange_time(void *ctx, const tutti_control_message *message)
{
    const tutti_control_message answer = {
        .kind = TUTTI_CONTROL_TIME, .value = {(int64_t)(1e9 * strange_clock(tutti_clock_s()))}};
    ck_assert_ok(tutti_control_send(((end *)ctx)->control, message->from, &answer));
}

static void open_all(tutti_loop_world *world, end e[RANKS])
{
    for (int r = 0; r < RANKS; r++) {
        ck_assert_ok(tutti_transport_loop(world, r, LANE + 1, &e[r].transport));
        ck_assert_ok(tutti_control_open(e[r].transport, LANE, &e[r].control));
        ck_assert_ok(tutti_clocks_open(e[r].control, &e[r].clocks));
    }
}

static void close_all(end e[RANKS])
{
    for (int r = 0; r < RANKS; r++) {
        tutti_control_stop(e[r].control);
        e[r].transport->ops->close(e[r].transport);
        tutti_control_free(e[r].control);
        tutti_clocks_close(e[r].clocks);
    }
}

/* All ranks except the first take a sample. */
static void sample_all(end e[RANKS], tutti_clock_sample sample[RANKS])
{
    double until_s = tutti_clock_s() + 30;
    tutti_status status;
    int missing = RANKS - 1, moved = 0;
    for (int r = 1; r < RANKS; r++) {
        tutti_clocks_start(e[r].clocks);
        ck_assert(tutti_clocks_busy(e[r].clocks));
    }
    while (missing && tutti_clock_s() < until_s)
        for (int r = missing = 0; r < RANKS; r++) {
            ck_assert_ok(tutti_control_poll(e[r].control, &moved));
            tutti_clocks_pass(e[r].clocks);
            if (r) missing += !tutti_clocks_result(e[r].clocks, &sample[r], &status);
            if (r) ck_assert_ok(status);
        }
    ck_assert_int_eq(missing, 0);
}

START_TEST(the_difference_is_within_its_error)
{
    tutti_loop_world *world;
    end e[RANKS];
    tutti_clock_sample before[RANKS], after[RANKS];
    const tutti_loop_options options = {
        .eager_bytes = 4096, .delay_s = _i ? 2e-4 : 0, .seed = testing_seed(5)};
    ck_assert_ok(tutti_loop_world_new(RANKS, &options, &world));
    open_all(world, e);
    tutti_control_handle(e[0].control, TUTTI_CONTROL_CLOCK, tell_strange_time, &e[0]);
    sample_all(e, before);
    tutti_clock_sleep(0.05);
    sample_all(e, after);
    for (int r = 1; r < RANKS; r++) {
        const tutti_clock_sample *s[] = {&before[r], &after[r]};
        for (int i = 0; i < 2; i++) {
            double truth_s = strange_clock(s[i]->at_s) - s[i]->at_s;
            ck_assert_double_gt(s[i]->error_s, 0);
            ck_assert_double_lt(s[i]->error_s, 0.05);
            ck_assert_double_le(fabs(s[i]->offset_s - truth_s), s[i]->error_s + 1e-6);
        }
        /* And in between. */
        double middle_s = (before[r].at_s + after[r].at_s) / 2;
        double found_s = tutti_clock_convert(&before[r], &after[r], middle_s);
        double error_s = fmax(before[r].error_s, after[r].error_s);
        ck_assert_double_le(fabs(found_s - strange_clock(middle_s)), error_s + 1e-6);
    }
    close_all(e);
    tutti_loop_world_free(world);
}
END_TEST

/* Rank 0 answers with its real clock, which all ranks share here. */
START_TEST(one_clock_has_no_difference)
{
    tutti_loop_world *world;
    end e[RANKS];
    tutti_clock_sample sample[RANKS];
    ck_assert_ok(tutti_loop_world_new(RANKS, NULL, &world));
    open_all(world, e);
    sample_all(e, sample);
    for (int r = 1; r < RANKS; r++)
        ck_assert_double_le(fabs(sample[r].offset_s), sample[r].error_s + 1e-6);
    close_all(e);
    tutti_loop_world_free(world);
    ck_assert(!tutti_clocks_busy(NULL));
    tutti_clocks_close(NULL);
}
END_TEST

START_TEST(a_line_through_two_samples)
{
    tutti_clock_sample a = {.at_s = 100, .offset_s = 10}, b = {.at_s = 200, .offset_s = 10.02};
    ck_assert_double_eq_tol(tutti_clock_convert(&a, &b, 100), 110, 1e-9);
    ck_assert_double_eq_tol(tutti_clock_convert(&a, &b, 150), 160.01, 1e-9);
    ck_assert_double_eq_tol(tutti_clock_convert(&a, &b, 200), 210.02, 1e-9);
    ck_assert_double_eq_tol(tutti_clock_convert(&a, &b, 300), 310.04, 1e-9);
    ck_assert_double_eq_tol(tutti_clock_convert(&a, &a, 300), 310, 1e-9);
}
END_TEST

/* Samples that are close differ by their errors: no clock is that fast. */
START_TEST(a_line_is_not_too_steep)
{
    tutti_clock_sample a = {.at_s = 100, .offset_s = 10, .error_s = 0.1};
    tutti_clock_sample b = {.at_s = 100.1, .offset_s = 10.2, .error_s = 0.05};
    double begin_s = tutti_clock_convert(&a, &b, 100), end_s = tutti_clock_convert(&a, &b, 101);
    ck_assert_double_eq_tol(tutti_clock_convert(&a, &b, 100.1), 110.3, 1e-9);
    ck_assert_double_eq_tol(end_s - begin_s, 1.0005, 1e-9);
    b.offset_s = 9.8, b.error_s = 0.2;
    begin_s = tutti_clock_convert(&a, &b, 100), end_s = tutti_clock_convert(&a, &b, 101);
    ck_assert_double_eq_tol(begin_s, 110, 1e-9);
    ck_assert_double_eq_tol(end_s - begin_s, 0.9995, 1e-9);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("clocks");
    TCase *tcase = testing_case(suite, "clocks");
    tcase_add_loop_test(tcase, the_difference_is_within_its_error, 0, 2);
    tcase_add_test(tcase, one_clock_has_no_difference);
    tcase_add_test(tcase, a_line_through_two_samples);
    tcase_add_test(tcase, a_line_is_not_too_steep);
    return testing_run(suite);
}
