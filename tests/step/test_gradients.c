/* Gradients of whole nets on the inline runner: against finite differences, and across micro-batches
 * and ranks; and the weights that training begins with. */
#include "dag/base/rng.h"
#include "tests/step/nets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double norm(const float *x, int64_t count)
{
    double sum = 0;
    for (int64_t e = 0; e < count; e++) sum += (double)x[e] * x[e];
    return sqrt(sum);
}

/* (loss(w + h u) - loss(w - h u)) / 2h for a direction u of length 1. */
static double slope(trial *t, const data *d, float *w, const float *u, int64_t count, double h)
{
    float *old = malloc((size_t)count * sizeof *old);
    ck_assert_ptr_nonnull(old);
    memcpy(old, w, (size_t)count * sizeof *old);
    double loss[2];
    for (int side = 0; side < 2; side++) {
        for (int64_t e = 0; e < count; e++) w[e] = (float)(old[e] + (side ? h : -h) * u[e]);
        loss[side] = mean_loss(t, d);
    }
    memcpy(w, old, (size_t)count * sizeof *old);
    free(old);
    return (loss[1] - loss[0]) / (2 * h);
}

/* A ReLU or maximum that flips within h changes the slope by up to a few percent of the gradient's
 * length. A flip within both values of h is rare; a systematic error shows for both. */
static void check_slope(trial *t, const data *d, const char *name, float *w, const float *u,
    int64_t count, double want, double length)
{
    double wide = slope(t, d, w, u, count, 5e-4), narrow = slope(t, d, w, u, count, 2e-4);
    double error = fmin(fabs(wide - want), fabs(narrow - want));
    ck_assert_msg(error < 5e-2 * length + 2e-3, "%s: slopes %g and %g, by the gradient %g of %g",
        name, wide, narrow, want, length);
}

/* One parameter, along its gradient and along random signs. Gradients here have lengths of 0.05 to 3. */
static void check_parameter(trial *t, const data *d, const char *name, uint64_t seed)
{
    char gradient_name[80];
    snprintf(gradient_name, sizeof gradient_name, "d.%s", name);
    int64_t count;
    mean_loss(t, d);
    float *w = trial_tensor(t, name, &count), *g = trial_tensor(t, gradient_name, &count);
    float *u = malloc(2 * (size_t)count * sizeof *u), *v = u + count;
    ck_assert_ptr_nonnull(u);
    double length = norm(g, count), along = 0;
    for (int64_t e = 0; e < count; e++) {
        u[e] = (float)(g[e] / length);
        v[e] = (float)((tutti_rng_below(seed, tutti_rng_stream(name), (uint64_t)e, 2) ? 1 : -1) /
                       sqrt((double)count));
        along += (double)v[e] * g[e];
    }
    check_slope(t, d, name, w, u, count, length, length);
    check_slope(t, d, name, w, v, count, along, length);
    free(u);
}

static void check_parameters_of(trial_net_fn *build, tutti_step_options options)
{
    data *d = make_data();
    uint64_t seed = testing_seed(11);
    trial t;
    options.momentum = 0.9f;
    options.seed = seed;
    trial_open(&t, build, &options, 0);
    for (int i = 0; i < t.step->parameters; i++)
        check_parameter(
            &t, d, tutti_graph_get_tensor(t.step->graph, t.step->parameter[i])->name, seed);
    trial_close(&t);
    free(d);
}

static void check_all_parameters(trial_net_fn *build, int micro_batches)
{
    check_parameters_of(
        build, (tutti_step_options){.batch = BATCH, .micro_batches = micro_batches});
}

START_TEST(finite_differences)
{
    check_all_parameters(with_norm, 1);
}
END_TEST

START_TEST(finite_differences_in_micro_batches)
{
    check_all_parameters(with_norm, 2);
}
END_TEST

START_TEST(finite_differences_of_branches)
{
    check_all_parameters(with_branches, 1);
    check_all_parameters(with_branches, 3);
}
END_TEST

START_TEST(finite_differences_of_windows)
{
    check_all_parameters(with_windows, 1);
    check_all_parameters(with_windows, 2);
}
END_TEST

START_TEST(finite_differences_of_auxiliary_outputs)
{
    check_all_parameters(with_auxiliaries, 1);
    check_all_parameters(with_auxiliaries, 3);
}
END_TEST

/* With an output, and with several. */
START_TEST(finite_differences_of_mixed_images)
{
    tutti_step_options options = {
        .batch = 8, .micro_batches = 3, .mixup = 0.7, .label_smoothing = 0.1f};
    check_parameters_of(with_norm, options);
    options.micro_batches = 1;
    check_parameters_of(with_auxiliaries, options);
    options.cutmix = 1;
    options.micro_batches = 3;
    check_parameters_of(with_norm, options);
}
END_TEST

/* The gradient of 2*BATCH images, computed by `ranks` ranks with `micro_batches` micro-batches. */
static int64_t gradient_of(
    const data *d, int ranks, int micro_batches, double mixup, int cutmix, double *sum)
{
    memset(sum, 0, MOST_PARAMETERS * sizeof *sum);
    int64_t batch = 2 * BATCH / ranks, total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        tutti_step_options options = {.batch = batch,
            .micro_batches = micro_batches,
            .placement = {.replicas = ranks, .rank = rank},
            .mixup = mixup,
            .cutmix = cutmix,
            .seed = 5};
        trial t;
        trial_open(&t, without_norm, &options, 0);
        ck_assert_int_le(tutti_net_parameters(t.net), MOST_PARAMETERS);
        trial_run(
            &t, t.step->train, d->images + rank * batch * IMAGE, d->labels + rank * batch, 0, 3);
        total = add_gradients(&t, sum);
        trial_close(&t);
    }
    return total;
}

static double squared_distance(int64_t count, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t e = 0; e < count; e++) sum += (x[e] - y[e]) * (x[e] - y[e]);
    return sum;
}

START_TEST(micro_batches_and_ranks_give_the_same_gradients)
{
    static const struct {
        int ranks, micro_batches;
        double mixup;
        int cutmix;
    } shards[] = {{1, 2, 0, 0}, {1, 3, 0, 0}, {1, 14, 0, 0}, {2, 1, 0, 0}, {2, 3, 0, 0},
        {7, 2, 0, 0}, {1, 3, 1, 0}, {1, 7, 1, 0}, {7, 1, 1, 0}, {1, 3, 1, 1}, {7, 1, 1, 1}};
    data *d = make_data();
    double *whole = calloc(4 * MOST_PARAMETERS, sizeof *whole), *mixed = whole + MOST_PARAMETERS,
           *cut = mixed + MOST_PARAMETERS, *is_sharded = cut + MOST_PARAMETERS;
    ck_assert_ptr_nonnull(whole);
    int64_t total = gradient_of(d, 1, 1, 0, 0, whole);
    ck_assert_int_eq(gradient_of(d, 1, 1, 1, 0, mixed), total);
    ck_assert_int_eq(gradient_of(d, 1, 1, 1, 1, cut), total);
    ck_assert(squared_distance(total, mixed, whole) > 1e-3);
    ck_assert(squared_distance(total, cut, whole) > 1e-3);
    ck_assert(squared_distance(total, cut, mixed) > 1e-3);
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        const double *want = shards[i].cutmix ? cut : shards[i].mixup > 0 ? mixed : whole;
        memset(is_sharded, 0, MOST_PARAMETERS * sizeof *is_sharded);
        double length = squared_distance(total, want, is_sharded);
        ck_assert_int_eq(gradient_of(d, shards[i].ranks, shards[i].micro_batches, shards[i].mixup,
                             shards[i].cutmix, is_sharded),
            total);
        double distance = squared_distance(total, want, is_sharded);
        ck_assert_msg(distance < 1e-12 * length, "%d ranks, %d micro-batches: %g of %g",
            shards[i].ranks, shards[i].micro_batches, sqrt(distance), sqrt(length));
    }
    free(whole);
    free(d);
}
END_TEST

/* As two blocks would: norms that are the last of their branch start at 0, the others do not. */
static void with_blocks(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1});
    x = tutti_net_norm(net, "bn1", x, 1);
    tutti_value y = tutti_net_conv(net, "conv2", x, &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1});
    y = tutti_net_batch_norm(net, "bn2", y, &(tutti_norm_layer){.last = 1, .eps = 1e-3f});
    x = tutti_net_add(net, "add", y, x, 1);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static void with_blocks_at_zero(tutti_net *net)
{
    with_blocks(net);
    tutti_net_start_blocks_at_zero(net);
}

START_TEST(blocks_start_at_zero)
{
    static trial_net_fn *const nets[] = {with_blocks, with_blocks_at_zero};
    const tutti_step_options options = {
        .batch = BATCH, .micro_batches = 1, .average_decay = 0.9, .seed = 4};
    for (int zero = 0; zero < 2; zero++) {
        trial t;
        int64_t count;
        trial_open(&t, nets[zero], &options, 0);
        const float *first = trial_tensor(&t, "bn1.scaleshift", &count);
        const float *last = trial_tensor(&t, "bn2.scaleshift", &count);
        const float *average = trial_tensor(&t, "average.bn2.scaleshift", &count);
        ck_assert_int_eq(count, 8);
        for (int e = 0; e < 8; e++) {
            ck_assert_float_eq(first[e], e < 4);
            ck_assert_float_eq(last[e], e < 4 && !zero);
            ck_assert_float_eq(average[e], last[e]);
        }
        trial_close(&t);
    }
    check_all_parameters(with_blocks, 1);
}
END_TEST

START_TEST(initial_values_follow_seed_and_name)
{
    static const tutti_step_options options = {.batch = 2, .micro_batches = 1, .seed = 9};
    trial t;
    trial_open(&t, with_norm, &options, 0);
    int64_t count;
    float *w = trial_tensor(&t, "conv2.weight", &count);
    const uint64_t stream = tutti_rng_stream("conv2.weight");
    for (int64_t e = 0; e < count; e++)
        ck_assert_float_eq(
            w[e], (float)(sqrt(2.0 / (6 * 9)) * tutti_rng_normal(9, stream, (uint64_t)e)));
    w = trial_tensor(&t, "fc2.weight", &count);
    for (int64_t e = 0; e < count; e++) ck_assert_float_le(fabsf(w[e]), 1 / 3.0f);
    w = trial_tensor(&t, "bn1.scaleshift", &count);
    ck_assert_int_eq(count, 8);
    for (int64_t e = 0; e < count; e++) ck_assert_float_eq(w[e], e < 4);
    w = trial_tensor(&t, "bn1.running", &count);
    for (int64_t e = 0; e < count; e++) ck_assert_float_eq(w[e], e >= 4);
    w = trial_tensor(&t, "fc1.bias", &count);
    for (int64_t e = 0; e < count; e++) ck_assert_float_eq(w[e], 0);
    trial_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step gradients");
    TCase *tcase = testing_case(suite, "gradients");
    tcase_add_test(tcase, finite_differences);
    tcase_add_test(tcase, finite_differences_in_micro_batches);
    tcase_add_test(tcase, finite_differences_of_branches);
    tcase_add_test(tcase, finite_differences_of_windows);
    tcase_add_test(tcase, finite_differences_of_auxiliary_outputs);
    tcase_add_test(tcase, finite_differences_of_mixed_images);
    tcase_add_test(tcase, micro_batches_and_ranks_give_the_same_gradients);
    tcase_add_test(tcase, blocks_start_at_zero);
    tcase_add_test(tcase, initial_values_follow_seed_and_name);
    return testing_run(suite);
}
