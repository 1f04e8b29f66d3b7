/* Layers assigned to stages: the best of all cuts, found by trying them all; costs of a net; what cannot be assigned.
 * */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/net/layer.h"
#include "dag/step/partition.h"
#include "dag/strategies/rows.h"
#include "tests/step/drawn.h"
#include "tests/support/testing.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };

/* per_byte 0: the link is not known. */
static double cost_of(
    const tutti_layer_cost cost[], double per_byte, int layers, int begin, int end)
{
    double work = 0, bytes = 0, sums = 0;
    for (int l = begin; l < end; l++) work += cost[l].work;
    for (int l = begin; l < end; l++) sums += cost[l].sums;
    if (begin > 0) bytes += cost[begin - 1].sends;
    if (end < layers) bytes += cost[end - 1].sends;
    double sent = (per_byte > 0 ? per_byte : TUTTI_WORK_PER_BYTE_SENT) * bytes;
    return (work > sent ? work : sent) + per_byte * sums;
}

typedef struct evaluated {
    double worst, sent;
} evaluated;

/* DBL_MAX if a stage has no parameters, or no layers. */
static evaluated evaluate_output(
    const tutti_layer_cost cost[], double per_byte, int layers, int stages, const int end[])
{
    evaluated j = {0};
    for (int q = 0; q < stages; q++) {
        int begin = q ? end[q - 1] : 0, parameters = 0;
        for (int l = begin; l < end[q]; l++) parameters |= cost[l].parameters;
        if (!parameters) return (evaluated){DBL_MAX, DBL_MAX};
        double c = cost_of(cost, per_byte, layers, begin, end[q]);
        if (c > j.worst) j.worst = c;
        if (q) j.sent += cost[begin - 1].sends;
    }
    return j;
}

/* Tries all ends of stages q and later. */
static void try_all(const tutti_layer_cost cost[], double per_byte, int layers, int stages, int q,
    int end[], evaluated *best)
{
    if (q == stages - 1) {
        end[q] = layers;
        evaluated j = evaluate_output(cost, per_byte, layers, stages, end);
        if (j.worst < best->worst || (j.worst == best->worst && j.sent < best->sent)) *best = j;
        return;
    }
    for (end[q] = q ? end[q - 1] + 1 : 1; end[q] < layers; end[q]++)
        try_all(cost, per_byte, layers, stages, q + 1, end, best);
}

START_TEST(no_cut_is_better)
{
    static const double speeds[] = {0, 80, TUTTI_WORK_PER_BYTE_SENT, 8000};
    const uint64_t seed = testing_seed(300) + (uint64_t)_i, stream = tutti_rng_stream("costs");
    tutti_layer_cost cost[MOST];
    for (int round = 0; round < 40; round++) {
        const uint64_t at = (uint64_t)(round * 8 * MOST);
        const double per_byte = speeds[round % 4];
        int layers = 3 + (int)tutti_rng_below(seed, stream, at, MOST - 2), end[5], other[5];
        int stages = 1 + (int)tutti_rng_below(seed, stream, at + 1, 5);
        for (int l = 0; l < layers; l++) {
            const uint64_t of = at + 2 + 4 * (uint64_t)l;
            cost[l] = (tutti_layer_cost){.work = (double)tutti_rng_below(seed, stream, of, 100000),
                .sends = (double)tutti_rng_below(seed, stream, of + 1, 40),
                .parameters = tutti_rng_below(seed, stream, of + 2, 3) > 0};
            if (cost[l].parameters)
                cost[l].sums = (double)tutti_rng_below(seed, stream, of + 3, 60);
        }
        evaluated best = {DBL_MAX, DBL_MAX};
        try_all(cost, per_byte, layers, stages, 0, other, &best);
        tutti_log_set_level(TUTTI_LOG_NONE);
        tutti_status status = tutti_partition(layers, cost, per_byte, stages, end);
        tutti_log_set_level(TUTTI_LOG_WARN);
        ck_assert_int_eq(status, best.worst == DBL_MAX ? TUTTI_ERR_INVAL : TUTTI_OK);
        if (status) continue;
        evaluated found = evaluate_output(cost, per_byte, layers, stages, end);
        ck_assert_double_eq_tol(found.worst, best.worst, 1e-6);
        ck_assert_double_eq_tol(found.sent, best.sent, 1e-6);
        ck_assert_int_eq(end[stages - 1], layers);
    }
}
END_TEST

/* Twice the channels are about four times the work, and twice the bytes. */
START_TEST(costs_follow_the_layers)
{
    tutti_net *net;
    tutti_layer_cost cost[4];
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 16, 16, 32);
    x = tutti_net_conv(net, "narrow", x, &(tutti_conv_layer){.K = 32, .R = 3, .pad = 1});
    x = tutti_net_conv(net, "wide", x, &(tutti_conv_layer){.K = 64, .R = 3, .pad = 1});
    tutti_net_output(net, tutti_net_dense(net, "fc", x, 10, TUTTI_INIT_UNIFORM_FAN_IN));
    const tutti_step_options options = {
        .batch = 8, .placement = {.replicas = 4}, .wire = TUTTI_BF16};
    ck_assert_ok(tutti_net_costs(net, &options, cost));
    ck_assert_double_eq(cost[0].work, 0);
    ck_assert(
        !cost[0].parameters && cost[1].parameters && cost[2].parameters && cost[3].parameters);
    ck_assert_double_eq(cost[1].sends, 16 * 16 * 32 * 4.0);
    ck_assert_double_eq(cost[2].sends, 16 * 16 * 64 * 4.0);
    ck_assert_double_eq(cost[3].sends, 0);
    ck_assert_double_eq(cost[0].sums, 0);
    ck_assert_double_eq(cost[1].sums, 2 * 0.75 * (32 * 32 * 9) * 2 / 8);
    ck_assert_double_eq(cost[2].sums, 2 * 0.75 * (64 * 32 * 9) * 2 / 8);
    ck_assert_double_eq(cost[3].sums, 2 * 0.75 * (16 * 16 * 64 * 10 + 10) * 2 / 8);
    ck_assert_double_gt(cost[2].work, 2 * cost[1].work); /* its input's gradient, too */
    ck_assert_double_gt(cost[1].work, 2 * 2 * 16 * 16 * 32 * 32 * 9.0);
    tutti_net_free(net);
}
END_TEST

/* What has no kernels takes no time; the wide layer has 64 times the work of the narrow one. */
START_TEST(layers_are_timed)
{
    tutti_net *net;
    double seconds[4];
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 16, 16, 8);
    x = tutti_net_conv(net, "narrow", x, &(tutti_conv_layer){.K = 8, .R = 3, .pad = 1});
    x = tutti_net_conv(net, "wide", x, &(tutti_conv_layer){.K = 512, .R = 3, .pad = 1});
    tutti_net_output(net, tutti_net_dense(net, "fc", x, 10, TUTTI_INIT_UNIFORM_FAN_IN));
    ck_assert_ok(tutti_net_times(net, TUTTI_F32, 4, seconds));
    ck_assert_double_eq(seconds[0], 0);
    ck_assert_double_gt(seconds[1], 0);
    ck_assert_double_gt(seconds[2], 2 * seconds[1]);
    ck_assert_double_gt(seconds[3], 0);
    ck_assert_double_lt(seconds[1] + seconds[2] + seconds[3], 60);
    tutti_net_free(net);
}
END_TEST

/* A value that is read again crosses every cut until then. */
START_TEST(skips_cross_all_cuts)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 4, 4, 2);
    tutti_value a = tutti_net_conv(net, "a", x, &(tutti_conv_layer){.K = 2, .R = 1});
    tutti_value b = tutti_net_conv(net, "b", a, &(tutti_conv_layer){.K = 2, .R = 1});
    tutti_value c = tutti_net_conv(net, "c", b, &(tutti_conv_layer){.K = 2, .R = 1});
    x = tutti_net_add(net, "add", c, a, 0);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, 3, TUTTI_INIT_UNIFORM_FAN_IN));
    tutti_layer_cost cost[6];
    const tutti_step_options alone = {.batch = 8};
    ck_assert_ok(tutti_net_costs(net, &alone, cost));
    const double one = 4 * 4 * 2 * 4, want[] = {one, one, 2 * one, 2 * one, one, 0};
    for (int l = 0; l < 6; l++) {
        ck_assert_double_eq(cost[l].sends, want[l]);
        ck_assert_double_eq(cost[l].sums, 0);
    }
    tutti_net_free(net);
}
END_TEST

/* Only the ranks with the same block of a divided layer sum it; batches are summed before ranks are. */
START_TEST(sums_follow_what_is_exchanged)
{
    tutti_net *net;
    tutti_layer_cost cost[3];
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 4, 4, 32);
    x = tutti_net_dense(net, "wide", x, 512, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, 10, TUTTI_INIT_UNIFORM_FAN_IN));
    tutti_step_options options = {
        .batch = 8, .accumulate = 2, .placement = {.replicas = 4, .blocks = 2}};
    const double wide = 512 * 512 + 512, fc = 512 * 10 + 10;
    ck_assert_ok(tutti_net_costs(net, &options, cost));
    ck_assert_double_eq(cost[1].sums, 2 * 0.5 * wide / 2 * 4 / 16);
    ck_assert_double_eq(cost[2].sums, 2 * 0.75 * fc * 4 / 16);
    options.placement.blocks = 4;
    ck_assert_ok(tutti_net_costs(net, &options, cost));
    ck_assert_double_eq(cost[1].sums, 0);
    options.strategy = &tutti_strategy_local;
    ck_assert_ok(tutti_net_costs(net, &options, cost));
    ck_assert_double_eq(cost[2].sums, 0);
    tutti_net_free(net);
}
END_TEST

/* Equal work, but most parameters at the end: the slower the link, the fewer layers has the last stage. */
START_TEST(a_slow_link_moves_the_cut)
{
    tutti_layer_cost cost[8];
    for (int l = 0; l < 8; l++)
        cost[l] = (tutti_layer_cost){.work = 1000, .sums = l < 4 ? 1 : 8, .parameters = 1};
    static const struct {
        double per_byte;
        int end;
    } rows[] = {{0, 4}, {1, 4}, {100, 5}, {10000, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int end[2];
        ck_assert_ok(tutti_partition(8, cost, rows[i].per_byte, 2, end));
        ck_assert_int_eq(end[0], rows[i].end);
    }
    ck_assert_double_eq(tutti_work_per_byte_sent(125e6, 1), TUTTI_WORK_PER_BYTE_SENT);
    ck_assert_double_eq(tutti_work_per_byte_sent(12.5e6, 2), 20 * TUTTI_WORK_PER_BYTE_SENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *tcase = testing_case(suite, "partition");
    tcase_add_loop_test(tcase, no_cut_is_better, 0, 4);
    tcase_add_test(tcase, costs_follow_the_layers);
    tcase_add_test(tcase, layers_are_timed);
    tcase_add_test(tcase, skips_cross_all_cuts);
    tcase_add_test(tcase, sums_follow_what_is_exchanged);
    tcase_add_test(tcase, a_slow_link_moves_the_cut);
    return testing_run(suite);
}
