/* apps/plan: equations that can be reckoned by hand, the best number of groups, and what layouts are expected to send,
 * which simulated ranks do. */
#include "apps/plan/candidates.h"
#include "collectives/links/topology_text.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_near(double x, double wanted, double share)
{
    return fabs(x - wanted) <= share * fabs(wanted);
}

/* A convolution of 3x3 with 64 input and 128 output channels on 14x14 pixels, and a dense layer of 4096 x 1000. */
static const tutti_plan_shape conv = {3 * 3 * 64 * 128, 14 * 14 * 64, 14 * 14 * 128, 14 * 14, 0};
static const tutti_plan_shape dense = {4096 * 1000, 4096, 1000, 1, 0};

START_TEST(equations)
{
    /* 1.5 pixels images operations a byte, where links do both; half of it where they do one */
    ck_assert(is_near(tutti_plan_data_balance(&conv, 8, 1), 1.5 * 14 * 14 * 8, 1e-12));
    ck_assert(is_near(tutti_plan_data_balance(&conv, 8, 0), 0.75 * 14 * 14 * 8, 1e-12));
    ck_assert(is_near(tutti_plan_data_bytes(&dense, 1), 4.0 * 4096 * 1000, 1e-12));
    ck_assert(is_near(tutti_plan_data_bytes(&dense, 0.5), 6.0 * 4096 * 1000, 1e-12));
    ck_assert(is_near(tutti_plan_model_bytes(&dense, 256), 8.0 * 4096 * 256, 1e-12));
    /* Outputs (2 - overlap) > 2 images, of dense layers */
    ck_assert(tutti_plan_prefers_model(&dense, 499, 1));
    ck_assert(!tutti_plan_prefers_model(&dense, 501, 1));
    ck_assert(tutti_plan_prefers_model(&dense, 999, 0));
    ck_assert(!tutti_plan_prefers_model(&conv, 64, 1));
    /* Of 16 ranks in 4 groups: a quarter of the values, a quarter of the gradients */
    ck_assert(is_near(tutti_plan_hybrid_bytes(&dense, 256, 16, 4, 1),
        (8.0 * 4096 * 256 + 4.0 * 4096 * 1000) / 4, 1e-12));
    /* sqrt(2 MB N / (outputs (2 - overlap))) */
    ck_assert(is_near(tutti_plan_groups_free(&dense, 250, 64, 1), sqrt(32), 1e-12));
    ck_assert(is_near(tutti_plan_groups_free(&dense, 250, 64, 0), sqrt(16), 1e-12));
    ck_assert_int_eq(tutti_plan_groups(&dense, 250, 64, 0), 4);
    ck_assert_int_eq(tutti_plan_groups(&dense, 1, 64, 1), 1);
    ck_assert_int_eq(tutti_plan_groups(&conv, 64, 64, 1), 32); /* of 37.3 */
    ck_assert_int_eq(tutti_plan_groups(&conv, 256, 64, 1), 64);
    /* Tutti's: 2 (G - 1) N (C + K) numbers, and 2 (R' - 1) / R' of a block's gradients, R' = R / G */
    ck_assert(is_near(tutti_plan_values_bytes(&dense, 8, 4), 4.0 * 2 * 3 * 8 * 5096, 1e-12));
    ck_assert(tutti_plan_values_bytes(&dense, 8, 1) == 0);
    const tutti_plan_shape first = {4096 * 1000, 4096, 1000, 1, 1};
    ck_assert(is_near(tutti_plan_values_bytes(&first, 8, 4), 4.0 * 3 * 8 * (4096 + 2000), 1e-12));
    ck_assert(is_near(tutti_plan_sums_bytes(&dense, 8, 4), 4.0 * 2 / 2 * 4096 * 250, 1e-12));
    ck_assert(tutti_plan_sums_bytes(&dense, 8, 8) == 0);
}
END_TEST

/* G*, and the best split, of layers that are drawn, are what trying all divisors finds. */
START_TEST(groups_are_the_best)
{
    enum { LAYERS = 200 };
    static const int ranks[] = {2, 6, 16, 60, 128, 360};
    int between = 0;
    for (int i = 0; i < LAYERS; i++) {
        double u[5];
        for (int k = 0; k < 5; k++)
            u[k] = 0.5 * (1 + erf(tutti_rng_normal(7, (uint64_t)i, (uint64_t)k) / sqrt(2)));
        const double outputs = floor(60 * exp(6 * u[0])), inputs = floor(4 + exp(9 * u[1]));
        const tutti_plan_shape s = {
            .weights = inputs * outputs, .inputs = inputs, .outputs = outputs, .pixels = 1};
        const int N = ranks[i % 6];
        const double batch = floor(1 + exp(8 * u[2])), overlap = u[3];
        double least = INFINITY, fewest = INFINITY;
        int best = 0, split = 0;
        for (int g = 1; g <= N; g++) {
            if (N % g) continue;
            const double bytes = tutti_plan_hybrid_bytes(&s, batch, N, g, overlap);
            const double sent = fmod(outputs, g) ? INFINITY
                                                 : tutti_plan_values_bytes(&s, batch, g) +
                                                       tutti_plan_sums_bytes(&s, N, g);
            if (bytes < least) best = g;
            least = fmin(least, bytes);
            if (sent < fewest) split = g;
            fewest = fmin(fewest, sent);
        }
        ck_assert_int_eq(tutti_plan_groups(&s, batch, N, overlap), best);
        ck_assert_int_eq(tutti_plan_blocks(&s, batch, N), split);
        between += best > 1 && best < N;
    }
    ck_assert_int_ge(between, LAYERS / 5);
}
END_TEST

/* Three layers, backward 3, 2, 1 s from the last to the first, forward 1 s each. */
START_TEST(bubbles)
{
    static const double forward[] = {1, 1, 1}, backward[] = {1, 2, 3};
    double exposed[3], end[3];
    static const double none[3] = {0}, hidden[] = {0, 2, 2}, queued[] = {1, 4, 2},
                        last[] = {0, 0, 9};
    ck_assert(tutti_plan_bubble(3, forward, backward, none, exposed, end) == 9);
    ck_assert(exposed[0] == 0 && exposed[1] == 0 && exposed[2] == 0);
    /* Those of layers 2 and 1 end at 5 and 7; layer 1 goes forward from 7 on */
    ck_assert(tutti_plan_bubble(3, forward, backward, hidden, exposed, end) == 9);
    ck_assert(end[2] == 5 && end[1] == 7);
    /* At 5, 9 and 10: layer 0 waits from 6 on, for the others, too */
    ck_assert(tutti_plan_bubble(3, forward, backward, queued, exposed, end) == 13);
    ck_assert(exposed[0] == 4 && exposed[1] == 0 && exposed[2] == 0);
    /* At 12: layer 2 would go forward from 8 on */
    ck_assert(tutti_plan_bubble(3, forward, backward, last, exposed, end) == 13);
    ck_assert(exposed[0] == 0 && exposed[1] == 0 && exposed[2] == 4);
}
END_TEST

/* ---- layouts ---- */

enum { RANKS = 4, BATCH = 64, STEPS = 2 };

static void open_model(tutti_sim_model *m)
{
    const tutti_step_options recipe = {.momentum = 0.9f, .adds_norms = 1};
    ck_assert_ok(tutti_sim_model_open(tutti_model_find("mlp"), &recipe, "cpu", m));
}

/* Bytes that all simulated ranks send in a step, and what it takes. */
static double simulate(tutti_sim_model *m, const tutti_plan_layout *c, double *step_s)
{
    tutti_topology *t;
    tutti_sim_program program;
    tutti_sim_result r;
    ck_assert_ok(tutti_topology_open("star:4,1Gbit/s", &t));
    tutti_sim_options o = {.topology = t,
        .ranks = RANKS,
        .workers = 1,
        .steps = STEPS,
        .exchange = {.design = tutti_design_find("funneled"), .algorithm = "auto"}};
    m->recipe.batch = c->batch;
    m->recipe.strategy = c->strategy;
    tutti_sim_model_exchange(m, &c->layout, &o.exchange);
    ck_assert_ok(tutti_sim_model_program(m, &c->layout, RANKS, 1, &program));
    ck_assert_ok(tutti_sim_run(&o, &program, NULL, &r));
    tutti_topology_free(t);
    *step_s = r.total_s / STEPS;
    return r.sent_bytes / STEPS;
}

/* Every layout of four ranks: whole and divided layers, stages, sync and sharded. */
START_TEST(layouts_send_what_they_say)
{
    const tutti_plan_rank rank = {.workers = 1, .rate = 125e6, .latency_s = 50e-6};
    tutti_sim_model m;
    tutti_plan_layers rows;
    tutti_plan_layouts all;
    int replicas = 0, stages = 0, best = -1;
    double least_s = INFINITY;
    open_model(&m);
    ck_assert_ok(tutti_plan_layers_open(&m, BATCH, RANKS, rank.workers, rank.rate, &rows));
    ck_assert_ok(tutti_plan_layouts_list(&m, &rows, BATCH, RANKS, &rank, &all));
    for (int i = 0; i < all.count; i++) {
        const tutti_plan_layout *c = &all.layout[i];
        char text[TUTTI_PLAN_OPTIONS];
        double step_s;
        const double sent = simulate(&m, c, &step_s);
        tutti_plan_layout_print(c, text);
        ck_assert(!i || all.layout[i - 1].expected_s <= c->expected_s);
        ck_assert_msg(is_near(sent, c->total, 0.01), "%s: %g bytes, not %g", text, sent, c->total);
        *(c->layout.placement.stages > 1 ? &stages : &replicas) += 1;
        ck_assert_msg(
            step_s > c->kernels_s, "%s: %g s, but kernels take %g", text, step_s, c->kernels_s);
        if (step_s < least_s) best = i;
        least_s = fmin(least_s, step_s);
    }
    ck_assert_int_lt(best, 8);     /* so many are simulated */
    ck_assert_int_eq(replicas, 6); /* split 1, 2, 4 */
    ck_assert_int_ge(stages, 8);
    tutti_plan_layouts_free(&all);
    tutti_plan_layers_close(&rows);
    tutti_sim_model_close(&m);
}
END_TEST

/* Without sums, a step takes what the kernels take on all workers of a rank. */
START_TEST(workers_share_kernels)
{
    for (int workers = 1; workers <= 4; workers++) {
        tutti_sim_model m;
        tutti_plan_layers rows;
        double kernels_s = 0;
        open_model(&m);
        ck_assert_ok(tutti_plan_layers_open(&m, BATCH, RANKS, workers, 0, &rows));
        for (int l = 0; l < rows.count; l++)
            kernels_s += rows.layer[l].forward_s + rows.layer[l].backward_s;
        ck_assert_msg(is_near(workers * rows.step_s, kernels_s, 1e-9), "%d workers: %g s of %g",
            workers, rows.step_s, kernels_s);
        tutti_plan_layers_close(&rows);
        tutti_sim_model_close(&m);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tcase = testing_case(suite, "plan");
    tcase_add_test(tcase, equations);
    tcase_add_test(tcase, groups_are_the_best);
    tcase_add_test(tcase, bubbles);
    tcase_add_test(tcase, workers_share_kernels);
    tcase_add_test(tcase, layouts_send_what_they_say);
    return testing_run(suite);
}
