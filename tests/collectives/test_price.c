/* collectives/sched/price: the prices of schedules are the formulas, and those of SimGrid. */
#include "collectives/links/topology_text.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/hierarchical.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/rsag.h"
#include "collectives/sched/scatter_ring.h"
#include "tests/collectives/schedules.h"
#include "tests/support/testing.h"

/* The depth of a binomial tree over P ranks. */
static int most_bits_below(int P)
{
    int most = 0;
    for (int v = 0; v < P; v++)
        if (__builtin_popcount((unsigned)v) > most) most = __builtin_popcount((unsigned)v);
    return most;
}

START_TEST(prices_are_the_formulas)
{
    const double S = 4 * 840;
    int log2P = 0;
    for (int P = 2; P <= 8; P++) {
        while (1 << log2P < P) log2P++;
        schedules a = schedules_build(&schedule_rows[0], P, 0, 840, 0, 1);
        tutti_sched_price price = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, 2 * (P - 1));
        ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        double time_s = 2 * (P - 1) * (1e-6 + 1e-9 * S / P) + (P - 1) * 1e-10 * S / P;
        ck_assert_double_eq_tol(price.time_s, time_s, 1e-12);
        schedules_free(&a);

        int power = !(P & (P - 1));
        a = schedules_build(&schedule_rows[3], P, 0, 840, 0, 1);
        price = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, power ? log2P : log2P - 1 + 2);
        schedules_free(&a);

        a = schedules_build(&schedule_rows[4], P, 0, 840, 0, 1);
        price = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, power ? 2 * log2P : 2 * (log2P - 1) + 2);
        if (power) ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        schedules_free(&a);

        a = schedules_build(&schedule_rows[6], P, P - 1, 840, 0, 1);
        price = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, most_bits_below(P));
        schedules_free(&a);
    }
}
END_TEST

/* With 2 S / P bytes of a wider accumulator: it, and the other ranks' blocks. */
START_TEST(prices_of_direct_are_the_formulas)
{
    const double S = 2 * 840;
    for (int P = 2; P <= 8; P++) {
        tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = P, .count = 840, .in_place = 1, .wide = 0};
        schedules a = schedules_of_shape(&schedule_rows[SCHEDULE_ROWS - 1], &shape, NULL);
        shape.wide = 1;
        schedules b = schedules_of_shape(&schedule_rows[SCHEDULE_ROWS - 1], &shape, NULL);
        tutti_sched_price price = schedules_price_on_star(&a, 2, 4, 1, 1e-9, 1e-10);
        tutti_sched_price wide = schedules_price_on_star(&b, 2, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, 2);
        ck_assert_int_eq(wide.steps, 2);
        ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        ck_assert_int_eq(wide.sent_bytes, price.sent_bytes);
        ck_assert_double_eq_tol((double)price.reduced_bytes, S * (P - 1) / P, 1e-6);
        ck_assert_int_eq(wide.reduced_bytes, price.reduced_bytes);
        ck_assert_double_eq_tol((double)price.scratch_bytes, S * (P - 1) / P, 1e-6);
        ck_assert_double_eq_tol((double)wide.scratch_bytes, S * (P - 1) / P + 2 * S / P, 1e-6);
        /* Blocks travel beside each other, twice; the last ones that arrive are combined, and in the accumulator
         * rounded, before the second time. */
        double travel_s = 2 * (1e-6 + (P - 1) * 1e-9 * S / P), block_s = 1e-10 * S / P;
        ck_assert_double_eq_tol(price.time_s, travel_s + (P - 1) * block_s, 1e-12);
        ck_assert_double_ge(wide.time_s, price.time_s + block_s - 1e-12);
        schedules_free(&a);
        schedules_free(&b);
    }
}
END_TEST

/* P - 1 parts of S bytes pass through the root's link. */
START_TEST(prices_of_parts_are_the_formulas)
{
    const double S = 4 * 840;
    for (int i = 0; i < SCHEDULE_ROWS; i++) {
        for (int P = 2; P <= 8; P++) {
            schedules a = schedules_build(&schedule_rows[i], P, P / 2, 840, 0, 0);
            tutti_sched_price price = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 0);
            if (schedule_rows[i].kind == TUTTI_GATHER || schedule_rows[i].kind == TUTTI_SCATTER)
                ck_assert_double_eq_tol(price.time_s, 1e-6 + (P - 1) * 1e-9 * S, 1e-12);
            if (schedule_rows[i].kind == TUTTI_ALLTOALL) {
                ck_assert_int_eq(price.steps, 1);
                ck_assert_int_eq(price.sent_bytes, (P - 1) * S);
                ck_assert_int_eq(price.scratch_bytes, 0);
            }
            if (schedule_rows[i].kind == TUTTI_SCAN)
                ck_assert_int_le(1 << (price.steps - 1), P - 1);
            schedules_free(&a);
        }
    }
}
END_TEST

START_TEST(pipelining_pays)
{
    schedules a = schedules_build(&schedule_rows[0], 4, 0, 1 << 20, 0, 1),
              b = schedules_build(&schedule_rows[0], 4, 0, 1 << 20, 1 << 14, 1);
    tutti_sched_price whole = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 1e-9);
    tutti_sched_price pipelined = schedules_price_on_star(&b, 4, 4, 1, 1e-9, 1e-9);
    ck_assert_double_lt(pipelined.time_s, 0.75 * whole.time_s);
    ck_assert_int_eq(pipelined.sent_bytes, whole.sent_bytes);
    schedules_free(&a);
    schedules_free(&b);
}
END_TEST

/* Of two vectors as one object, all but the first segments are combined while others travel. */
START_TEST(local_sums_are_hidden)
{
    static const tutti_sched_builder builders[] = {
        tutti_sched_ring_allreduce, tutti_sched_direct_allreduce, tutti_sched_doubling_allreduce};
    enum { N = 1 << 20, SEGMENT = 1 << 14, BUILDERS = sizeof builders / sizeof *builders };
    for (int b = 0; b < BUILDERS; b++) {
        const schedule_row row = {"", TUTTI_ALLREDUCE, builders[b]};
        tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = 2, .count = N, .segment = SEGMENT, .in_place = 1};
        schedules a = schedules_of_shape(&row, &shape, NULL);
        shape.extras = 1;
        schedules g = schedules_of_shape(&row, &shape, NULL);
        tutti_sched_price one = schedules_price_on_star(&a, 4, 4, 1, 1e-9, 2e-10);
        tutti_sched_price two = schedules_price_on_star(&g, 4, 4, 1, 1e-9, 2e-10);
        double sum_s = 2e-10 * 4 * N;
        ck_assert_msg(two.time_s < one.time_s + 0.6 * sum_s, "builder %d: %g s, %g s, sum %g s", b,
            one.time_s, two.time_s, sum_s);
        ck_assert_int_eq(two.sent_bytes, one.sent_bytes);
        ck_assert_int_eq(two.steps, one.steps);
        ck_assert_int_eq(two.scratch_bytes, one.scratch_bytes);
        schedules_free(&a);
        schedules_free(&g);
    }
}
END_TEST

/* Eight ranks on two machines at one switch: every rank's part crosses once each way; in a ring, nearly twice. */
START_TEST(hierarchies_pay)
{
    static const tutti_sched_builder builders[] = {
        tutti_sched_ring_allreduce, tutti_sched_hierarchical_allreduce};
    static const int host[] = {0, 0, 0, 0, 1, 1, 1, 1};
    tutti_topology *t;
    tutti_sched_price p[2];
    ck_assert_ok(tutti_topology_open("two-level:2x4,1Gbit/s", &t));
    for (int b = 0; b < 2; b++) {
        const schedule_row row = {"", TUTTI_ALLREDUCE, builders[b]};
        const tutti_sched_shape shape = {.kind = TUTTI_ALLREDUCE,
            .P = 8,
            .count = 1 << 22,
            .segment = 15360,
            .in_place = 1,
            .host = host};
        schedules a = schedules_of_shape(&row, &shape, NULL);
        ck_assert_ok(tutti_sched_price_of(a.ranks, 8, 4, 4, t, &p[b]));
        schedules_free(&a);
    }
    ck_assert_double_lt(p[1].time_s, 0.8 * p[0].time_s);
    ck_assert_double_ge(p[1].time_s, 4.0 * (1 << 22) / 125e6);
    tutti_topology_free(t);
}
END_TEST

/* A segment takes a latency and its bytes for each hop, and the next follows it: (P - 1) hops, then the other
 * segments. A chain grows by a hop a rank, not by its bytes; a k-nomial tree has the fewest levels; chains under
 * others are between. */
START_TEST(prices_of_trees_are_the_formulas)
{
    enum { N = 1 << 22, SEGMENT = 15360 }; /* 16 MiB */
    double three_s = 0;
    for (int P = 2; P <= 16; P++) {
        const schedule_row chain = {"", TUTTI_BROADCAST, tutti_sched_chain};
        schedules a = schedules_build(&chain, P, 1, N, SEGMENT, 1);
        double time_s = schedules_price_on_star(&a, 4, 4, 50, 8e-9, 0).time_s;
        double first_s = (P - 1) * (50e-6 + 8e-9 * 4 * SEGMENT), rest_s = 8e-9 * 4 * (N - SEGMENT);
        ck_assert_double_eq_tol(time_s, first_s + rest_s, 1e-6);
        if (P == 3) three_s = time_s;
        if (P == 8) ck_assert_double_lt(time_s, 1.05 * three_s);
        schedules_free(&a);
        const schedule_row reduce = {"", TUTTI_REDUCE, tutti_sched_chain};
        a = schedules_build(&reduce, P, P / 2, N, SEGMENT, 1);
        ck_assert_double_eq_tol(
            schedules_price_on_star(&a, 4, 4, 50, 8e-9, 0).time_s, time_s, 1e-6);
        schedules_free(&a);
    }
    const schedule_row nomial = {"", TUTTI_BROADCAST, tutti_sched_nomial};
    const schedule_row chains = {"", TUTTI_REDUCE, tutti_sched_chain_binomial};
    const schedule_row ring = {"", TUTTI_BROADCAST, tutti_sched_scatter_ring_broadcast};
    tutti_sched_shape shape = {.kind = TUTTI_BROADCAST, .P = 16, .count = 1, .radix = 4};
    schedules a = schedules_of_shape(&nomial, &shape, NULL);
    tutti_sched_price p = schedules_price_on_star(&a, 4, 4, 50, 8e-9, 0);
    ck_assert_int_eq(p.steps, 2);
    schedules_free(&a);
    shape.kind = TUTTI_REDUCE;
    a = schedules_of_shape(&chains, &shape, NULL);
    ck_assert_int_eq(schedules_price_on_star(&a, 4, 4, 50, 8e-9, 0).steps, 2 + 3);
    schedules_free(&a);
    a = schedules_build(&ring, 16, 5, N, SEGMENT, 1);
    p = schedules_price_on_star(&a, 4, 4, 50, 8e-9, 0);
    ck_assert_int_eq(p.sent_bytes, 2 * (int64_t)4 * N / 16 * 15);
    schedules_free(&a);
}
END_TEST

/* SimGrid 3.32 ran these schedules over its SMPI on a star of 1 Gbit/s and 50 us (model CM02 without
 * crosstraffic): 1 MiB of float32 on 16 ranks. There, segments for one rank travel beside each other: in a ring
 * and in halves, whose blocks have few, the first ones arrive later than here. */
START_TEST(prices_are_those_of_simgrid)
{
    static const struct {
        tutti_sched_builder build;
        double smpi_ms, within;
    } wanted[] = {{tutti_sched_ring_allreduce, 17.41, 0.07},
        {tutti_sched_doubling_allreduce, 33.76, 0.01}, {tutti_sched_rsag_allreduce, 25.76, 0.04},
        {tutti_sched_direct_allreduce, 15.90, 0.01}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const schedule_row row = {"", TUTTI_ALLREDUCE, wanted[i].build};
        schedules a = schedules_build(&row, 16, 0, 1 << 18, 15360, 1);
        tutti_sched_price price = schedules_price_on_star(&a, 4, 4, 50, 8e-9, 0);
        double apart = 1e3 * price.time_s / wanted[i].smpi_ms - 1;
        ck_assert_double_eq_tol(apart, 0, wanted[i].within);
        schedules_free(&a);
    }
}
END_TEST

/* A rank's own time: a moment for each message it sends and receives, one after the other; long messages ask
 * first. */
START_TEST(ranks_take_their_time)
{
    const tutti_point_kind kind = {
        .name = "node", .send_s = 1e-6, .recv_s = 2e-6, .copy = 1e9, .eager = 3000};
    const schedule_row scatter = {"", TUTTI_SCATTER, tutti_sched_direct_scatter};
    tutti_topology *star;
    tutti_sched_price price;
    ck_assert_ok(tutti_topology_star(3, 1e9, 10000000, &kind, &star));
    schedules a = schedules_build(&scatter, 3, 0, 1000, 0, 0);
    /* The root copies its part (1 us), then sends at 2 us and 3 us. The first message is alone on the root's cable
     * from 12 to 13 us, when it ends; the second takes its place, and its receiver is ready at 16 us. */
    ck_assert_ok(tutti_sched_price_of(a.ranks, 3, 1, 1, star, &price));
    ck_assert_double_eq_tol(price.time_s, 16e-6, 1e-12);
    ck_assert_double_eq_tol(price.share, 2000 / (1e9 * 16e-6), 1e-9);
    schedules_free(&a);
    /* 4 us to copy, sent at 5 and 6 us, 20 us to ask, 10 us on the way. From 35 to 36 us the first is alone, then
     * both share until it ends at 42 us; the second has 1000 bytes left, until 43 us. */
    a = schedules_build(&scatter, 3, 0, 4000, 0, 0);
    ck_assert_ok(tutti_sched_price_of(a.ranks, 3, 1, 1, star, &price));
    ck_assert_double_eq_tol(price.time_s, 45e-6, 1e-12);
    ck_assert_int_eq(tutti_sched_price_of(a.ranks, 4, 1, 1, star, &price), TUTTI_ERR_INVAL);
    schedules_free(&a);
    tutti_topology_free(star);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("price");
    TCase *tcase = testing_case(suite, "price");
    tcase_add_test(tcase, prices_are_the_formulas);
    tcase_add_test(tcase, prices_of_direct_are_the_formulas);
    tcase_add_test(tcase, prices_of_parts_are_the_formulas);
    tcase_add_test(tcase, pipelining_pays);
    tcase_add_test(tcase, local_sums_are_hidden);
    tcase_add_test(tcase, hierarchies_pay);
    tcase_add_test(tcase, prices_of_trees_are_the_formulas);
    tcase_add_test(tcase, prices_are_those_of_simgrid);
    tcase_add_test(tcase, ranks_take_their_time);
    return testing_run(suite);
}
