/* Gradients of whole nets on the inline runner: against finite differences, across micro-batches and
 * ranks, in every order. */
#include "dag/base/bf16.h"
#include "dag/base/rng.h"
#include "dag/net/update_rule.h"
#include "tests/net/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 8, CHANNELS = 3, CLASSES = 5, BATCH = 7, IMAGE = SIZE * SIZE * CHANNELS };
static const double SIDE_WEIGHT = 0.3;

/* Every kind of layer; a value with three consumers; adds without ReLU, whose gradients are shared
 * tensors. */
static void with_norm(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1});
    x = tutti_net_norm(net, "bn1", x, 1);
    tutti_value y = tutti_net_conv(
        net, "conv2", x, &(tutti_conv_layer){.K = 6, .R = 3, .stride = 2, .pad = 1, .bias = 1});
    y = tutti_net_norm(net, "bn2", y, 0);
    tutti_value s = tutti_net_shortcut(net, "short", x, 6, 2);
    tutti_value a = tutti_net_add(net, "add1", y, s, 1);
    tutti_value b =
        tutti_net_conv(net, "conv3", a, &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1, .bias = 1});
    b = tutti_net_add(net, "add2", a, b, 0);
    b = tutti_net_add(net, "add3", b, a, 0);
    b = tutti_net_avg_pool(net, "avg", b, 3, 1, 1);
    b = tutti_net_max_pool(net, "max", b, 2, 2, 0);
    b = tutti_net_dropout(net, "drop", b, 0.3f);
    b = tutti_net_dense(net, "fc1", b, 9, TUTTI_INIT_HE_FAN_IN);
    b = tutti_net_relu(net, "relu", b);
    tutti_net_output(net, tutti_net_dense(net, "fc2", b, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* Without batch normalisation the gradient of a batch is the sum over its images, however they are
 * distributed. */
static void without_norm(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1, .bias = 1});
    tutti_value y = tutti_net_conv(net, "conv2", x, &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1});
    y = tutti_net_add(net, "add", x, y, 1);
    y = tutti_net_dropout(net, "drop", y, 0.4f);
    y = tutti_net_global_avg_pool(net, "pool", y);
    tutti_net_output(net, tutti_net_dense(net, "fc", y, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* A block as in GoogLeNet, of four branches; a part of a value with three consumers; an add without
 * ReLU, which leaves one tensor as the gradient of two parts; images among what is joined, which
 * have no gradient. */
static void with_branches(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS), part[3];
    tutti_value a = tutti_net_conv(net, "a", x, &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1});
    tutti_value b = tutti_net_conv(net, "b", x, &(tutti_conv_layer){.K = 3, .R = 1, .bias = 1});
    b = tutti_net_conv(net, "b2", b, &(tutti_conv_layer){.K = 5, .R = 5, .pad = 2});
    tutti_value p = tutti_net_max_pool(net, "p", x, 3, 1, 1);
    tutti_value y = tutti_net_concat(net, "join", 4, (tutti_value[]){a, x, b, p});
    y = tutti_net_norm(net, "bn", y, 1);
    tutti_net_split(net, "deal", y, 3, (const int64_t[]){6, 3, 6}, part);
    tutti_value c = tutti_net_add(net, "c", part[0], part[2], 0);
    tutti_value d = tutti_net_conv(net, "d", part[1], &(tutti_conv_layer){.K = 2, .R = 1});
    tutti_value e =
        tutti_net_conv(net, "e", part[1], &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1});
    c = tutti_net_add(net, "ce", c, e, 0);
    y = tutti_net_concat(net, "again", 3, (tutti_value[]){d, c, part[1]});
    y = tutti_net_global_avg_pool(net, "pool", y);
    tutti_net_output(net, tutti_net_dense(net, "fc", y, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* Windows R x S, groups, a depthwise convolution, windows that stick out, LRN. */
static void with_windows(tutti_net *net)
{
    const tutti_lrn_layer lrn = {.size = 3, .alpha = 0.5f, .beta = 0.75f, .k = 1};
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "flat", x,
        &(tutti_conv_layer){.K = 6, .R = 1, .S = 7, .stride_s = 1, .pad_s = 3, .bias = 1});
    x = tutti_net_conv(
        net, "tall", x, &(tutti_conv_layer){.K = 8, .R = 5, .pad = 2, .S = 1, .groups = 2});
    x = tutti_net_lrn(net, "lrn", x, &lrn);
    x = tutti_net_pool(net, "max", x, &(tutti_pool_layer){.R = 3, .stride = 2, .ceiling = 1});
    x = tutti_net_conv(
        net, "depth", x, &(tutti_conv_layer){.K = 8, .R = 3, .pad = 1, .groups = 8, .bias = 1});
    x = tutti_net_norm(net, "bn", x, 1);
    x = tutti_net_pool(net, "counted", x,
        &(tutti_pool_layer){.R = 3, .pad = 1, .average = 1, .counts_padding = 1});
    x = tutti_net_pool(
        net, "avg", x, &(tutti_pool_layer){.R = 3, .stride = 2, .average = 1, .ceiling = 1});
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* Two classifiers in the middle, trained with shares of their losses; one has layers of its own. */
static void with_auxiliaries(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1, .bias = 1});
    tutti_value side = tutti_net_avg_pool(net, "side.pool", x, 4, 4, 0);
    side = tutti_net_conv(net, "side.conv", side, &(tutti_conv_layer){.K = 4, .R = 1});
    side = tutti_net_norm(net, "side.bn", side, 1);
    tutti_net_auxiliary(
        net, tutti_net_dense(net, "side", side, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN), SIDE_WEIGHT);
    x = tutti_net_relu(net, "relu", x);
    tutti_net_auxiliary(
        net, tutti_net_dense(net, "again", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN), 2 * SIDE_WEIGHT);
    x = tutti_net_global_avg_pool(net, "pool", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* The same function with or without a value that is dealt to three and joined again. */
static void in_pieces(tutti_net *net, int pieces)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS), part[3];
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 19, .R = 3, .pad = 1});
    x = tutti_net_norm(net, "bn", x, 1);
    if (pieces) {
        tutti_net_split(net, "split", x, 3, (const int64_t[]){1, 17, 1}, part);
        x = tutti_net_concat(net, "concat", 3, part);
    }
    x = tutti_net_dropout(net, "drop", x, 0.3f);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static void in_one_piece(tutti_net *net)
{
    in_pieces(net, 0);
}

static void in_three_pieces(tutti_net *net)
{
    in_pieces(net, 1);
}

typedef struct data {
    float images[2 * BATCH * IMAGE];
    int32_t labels[2 * BATCH];
} data;

static const data *make_data(void)
{
    data *d = malloc(sizeof *d);
    ck_assert_ptr_nonnull(d);
    trial_images(3, 0, 2 * BATCH * IMAGE, d->images);
    trial_labels(3, 0, 2 * BATCH, CLASSES, d->labels);
    return d;
}

/* The sum of the losses of the classifiers of with_auxiliaries, weighted; 0 of other nets. */
static double auxiliary_loss(const trial *t)
{
    static const char *const names[] = {"side", "again"};
    double total = 0;
    for (int i = 0; i < 2 * t->options.micro_batches; i++) {
        char name[32];
        int64_t count;
        snprintf(name, sizeof name, "%s.metrics@%d", names[i % 2], i / 2);
        if (tutti_graph_find(t->step->graph, name) < 0) return 0;
        const double *metrics = (const void *)trial_tensor(t, name, &count);
        ck_assert_double_eq(metrics[2], (double)t->step->micro_batch[i / 2].count);
        total += (1 + i % 2) * SIDE_WEIGHT * metrics[0];
    }
    return total;
}

static double mean_loss(trial *t, const data *d)
{
    trial_run(t, t->step->train, d->images, d->labels, 0, 1);
    return (trial_metric(t, 0) + auxiliary_loss(t)) / (double)t->options.batch;
}

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
    const data *d = make_data();
    uint64_t seed = testing_seed(11);
    trial t;
    options.replicas = 1;
    options.momentum = 0.9f;
    options.seed = seed;
    trial_open(&t, build, &options, 0);
    for (int i = 0; i < t.step->parameters; i++)
        check_parameter(
            &t, d, tutti_graph_get_tensor(t.step->graph, t.step->parameter[i])->name, seed);
    trial_close(&t);
    free((void *)d);
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
}
END_TEST

/* How many nodes of a section belong to layers whose names begin with this. */
static int count_nodes(const tutti_graph *graph, int section, const char *prefix)
{
    int count = 0;
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        count += node->section == section && !strncmp(node->name, prefix, strlen(prefix));
    }
    return count;
}

/* The layers of auxiliary outputs alone are not evaluated; in bf16 their logits are float32; steps of
 * several batches and several views go the same way. */
START_TEST(auxiliary_outputs_are_for_training)
{
    const data *d = make_data();
    for (int half = 0; half <= !tutti_kernel_fault(TUTTI_BF16); half++) {
        const tutti_step_options options = {.batch = BATCH,
            .micro_batches = 2,
            .accumulate = 2,
            .replicas = 1,
            .precision = half ? TUTTI_BF16 : TUTTI_F32,
            .average_decay = 0.5,
            .seed = 4};
        trial t;
        trial_open(&t, with_auxiliaries, &options, 0);
        const tutti_graph *graph = t.step->graph;
        const int sections[] = {t.step->eval, t.step->eval_again, t.step->eval_average};
        ck_assert_int_gt(count_nodes(graph, t.step->train, "side"), 0);
        ck_assert_int_gt(count_nodes(graph, t.step->gather_first, "again.softmax_xent"), 0);
        /* in bf16 the section of averages also copies all weights, and back */
        for (int i = 0; i < 3 - half; i++) {
            ck_assert_int_gt(count_nodes(graph, sections[i], "fc."), 0);
            ck_assert_int_eq(count_nodes(graph, sections[i], "side"), 0);
            ck_assert_int_eq(count_nodes(graph, sections[i], "again."), 0);
        }
        const tutti_tensor *logits =
            tutti_graph_get_tensor(graph, tutti_graph_find(graph, "side@0"));
        ck_assert_int_eq(logits->dtype, TUTTI_F32);
        trial_run(&t, t.step->gather_first, d->images, d->labels, 0.1f, 0);
        trial_run(&t, t.step->train, d->images, d->labels, 0.1f, 1);
        trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
        ck_assert_double_eq(trial_metric(&t, 2), BATCH);
        trial_close(&t);
    }
    free((void *)d);
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
        .batch = BATCH, .micro_batches = 1, .replicas = 1, .average_decay = 0.9, .seed = 4};
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

static uint64_t train_on(
    const tutti_runner *runner, trial_net_fn *build, const data *d, double *loss)
{
    tutti_step_options options = {
        .batch = BATCH, .micro_batches = 2, .replicas = 1, .momentum = 0.9f, .seed = 6};
    const tutti_run_options run = {.workers = runner == tutti_runner_find("starpu") ? 2 : 1};
    trial t;
    trial_open_on(&t, build, &options, runner, &run);
    for (int step = 0; step < 3; step++)
        trial_run(&t, t.step->train, d->images, d->labels, 0.05f, step);
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    *loss = trial_metric(&t, 0);
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(dealing_and_joining_changes_no_bit)
{
    const data *d = make_data();
    double one, other;
    const tutti_runner *inline_runner = tutti_runner_find("inline"),
                       *starpu = tutti_runner_find("starpu");
    uint64_t want = train_on(inline_runner, in_one_piece, d, &one);
    ck_assert(train_on(inline_runner, in_three_pieces, d, &other) == want);
    ck_assert_mem_eq(&one, &other, sizeof one);
    ck_assert(train_on(starpu, in_three_pieces, d, &other) == want);
    ck_assert_mem_eq(&one, &other, sizeof one);
    ck_assert(train_on(starpu, with_branches, d, &one) ==
              train_on(inline_runner, with_branches, d, &other));
    ck_assert_mem_eq(&one, &other, sizeof one);
    free((void *)d);
}
END_TEST

/* Adds the rank's gradients, all parameters in sequence, to sum; returns the number of elements. */
static int64_t add_gradients(const trial *t, double *sum)
{
    int64_t total = 0;
    for (int i = 0; i < t->step->parameters; i++) {
        char name[80];
        snprintf(name, sizeof name, "d.%s",
            tutti_graph_get_tensor(t->step->graph, t->step->parameter[i])->name);
        int64_t count;
        const float *g = trial_tensor(t, name, &count);
        for (int64_t e = 0; e < count; e++) sum[total + e] += g[e];
        total += count;
    }
    return total;
}

enum { MOST_PARAMETERS = 4096 };

/* The gradient of 2*BATCH images, computed by `ranks` ranks with `micro_batches` micro-batches. */
static int64_t gradient_of(const data *d, int ranks, int micro_batches, double mixup, double *sum)
{
    memset(sum, 0, MOST_PARAMETERS * sizeof *sum);
    int64_t batch = 2 * BATCH / ranks, total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        tutti_step_options options = {.batch = batch,
            .micro_batches = micro_batches,
            .replicas = ranks,
            .replica = rank,
            .mixup = mixup,
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
    } deals[] = {{1, 2, 0}, {1, 3, 0}, {1, 14, 0}, {2, 1, 0}, {2, 3, 0}, {7, 2, 0}, {1, 3, 1},
        {1, 7, 1}, {7, 1, 1}};
    const data *d = make_data();
    double *whole = calloc(3 * MOST_PARAMETERS, sizeof *whole), *mixed = whole + MOST_PARAMETERS,
           *dealt = mixed + MOST_PARAMETERS;
    ck_assert_ptr_nonnull(whole);
    int64_t total = gradient_of(d, 1, 1, 0, whole);
    ck_assert_int_eq(gradient_of(d, 1, 1, 1, mixed), total);
    ck_assert(squared_distance(total, mixed, whole) > 1e-3);
    for (size_t i = 0; i < sizeof deals / sizeof *deals; i++) {
        const double *want = deals[i].mixup > 0 ? mixed : whole;
        memset(dealt, 0, MOST_PARAMETERS * sizeof *dealt);
        double length = squared_distance(total, want, dealt);
        ck_assert_int_eq(
            gradient_of(d, deals[i].ranks, deals[i].micro_batches, deals[i].mixup, dealt), total);
        double distance = squared_distance(total, want, dealt);
        ck_assert_msg(distance < 1e-12 * length, "%d ranks, %d micro-batches: %g of %g",
            deals[i].ranks, deals[i].micro_batches, sqrt(distance), sqrt(length));
    }
    free(whole);
    free((void *)d);
}
END_TEST

static void open_wire(trial *t, const data *d, tutti_dtype wire, int micro_batches)
{
    const tutti_step_options options = {.batch = BATCH,
        .micro_batches = micro_batches,
        .replicas = 1,
        .wire = wire,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .seed = 2};
    trial_open(t, with_norm, &options, 0);
    trial_run(t, t->step->train, d->images, d->labels, 0.05f, 0);
}

/* One parameter of two runs after one step: the gradient of the second is that of the first, which is the sum over
 * micro-batches in float32, rounded; and the second's weight follows from it. */
static void check_rounded(trial *full, trial *half, int parameter)
{
    const char *name =
        tutti_graph_get_tensor(full->step->graph, full->step->parameter[parameter])->name;
    char gradient[128], momentum[128];
    int64_t count, same;
    snprintf(gradient, sizeof gradient, "d.%s", name);
    snprintf(momentum, sizeof momentum, "m.%s", name);
    const tutti_tensor *t =
        tutti_graph_get_tensor(half->step->graph, tutti_graph_find(half->step->graph, gradient));
    ck_assert_int_eq(t->dtype, TUTTI_BF16);
    const float *g = trial_tensor(full, gradient, &count);
    const uint16_t *rounded = (const void *)trial_tensor(half, gradient, &same);
    const float *w = trial_tensor(full, name, &same), *v = trial_tensor(full, momentum, &same);
    const float *half_w = trial_tensor(half, name, &same),
                *half_v = trial_tensor(half, momentum, &same);
    for (int64_t e = 0; e < count; e++) {
        ck_assert_msg(rounded[e] == tutti_bf16_narrow(g[e]), "%s[%lld] is %#x, not %g", gradient,
            (long long)e, rounded[e], (double)g[e]);
        /* the states began as zeros and the weights alike, so the gradients make the difference */
        double error = (double)tutti_bf16_widen(rounded[e]) - (double)g[e];
        ck_assert_double_eq_tol((double)half_v[e] - (double)v[e], error, 1e-6);
        ck_assert_double_eq_tol((double)half_w[e] - (double)w[e], -0.05 * error, 1e-6);
    }
}

/* The states of the norms are equal: their sums stay float32. */
START_TEST(bf16_gradients_are_rounded_once)
{
    const data *d = make_data();
    for (int micro_batches = 1; micro_batches <= 3; micro_batches += 2) {
        trial full, half;
        open_wire(&full, d, TUTTI_F32, micro_batches);
        open_wire(&half, d, TUTTI_BF16, micro_batches);
        for (int p = 0; p < full.step->parameters; p++) check_rounded(&full, &half, p);
        for (int s = 0; s < full.step->states; s++) {
            const tutti_tensor *t = tutti_graph_get_tensor(full.step->graph, full.step->state[s]);
            int64_t count;
            if (!strstr(t->name, ".running")) continue;
            const float *x = trial_tensor(&full, t->name, &count);
            ck_assert(!memcmp(x, trial_tensor(&half, t->name, &count), t->bytes));
        }
        trial_close(&full);
        trial_close(&half);
    }
    free((void *)d);
}
END_TEST

/* ---- types ---- */

typedef struct types {
    tutti_dtype wire, precision;
} types;

enum { TYPES = 4 };
static const types f32, wire_bf16 = {.wire = TUTTI_BF16};

/* The i-th of TYPES pairs. */
static types types_of(int i)
{
    return (types){i & 1 ? TUTTI_BF16 : TUTTI_F32, i & 2 ? TUTTI_BF16 : TUTTI_F32};
}

/* Without its instructions for bf16 a processor may compute nothing in it. */
static int can_compute(types t)
{
    return t.precision == TUTTI_F32 || !tutti_kernel_fault(t.precision);
}

static uint64_t train(
    const data *d, types with, const tutti_update_rule *rule, uint64_t order_seed, double *loss)
{
    tutti_step_options options = {.batch = BATCH,
        .micro_batches = 3,
        .replicas = 1,
        .wire = with.wire,
        .precision = with.precision,
        .rule = rule,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .nesterov = 1,
        .seed = 2};
    trial t;
    trial_open(&t, with_norm, &options, order_seed);
    for (int step = 0; step < 3; step++)
        trial_run(&t, t.step->train, d->images + step % 2 * BATCH * IMAGE,
            d->labels + step % 2 * BATCH, 0.05f, step);
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    *loss = trial_metric(&t, 0);
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(every_order_gives_the_same_bits)
{
    const data *d = make_data();
    uint64_t seed = testing_seed(100);
    double want_loss, loss;
    const types with = types_of(_i);
    if (!can_compute(with)) return;
    uint64_t want = train(d, with, NULL, 0, &want_loss);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_msg(train(d, with, NULL, seed + i, &loss) == want,
            "order %llu gives other weights", (unsigned long long)(seed + i));
        ck_assert_msg(!memcmp(&loss, &want_loss, sizeof loss), "order %llu: loss %.17g, not %.17g",
            (unsigned long long)(seed + i), loss, want_loss);
    }
    free((void *)d);
}
END_TEST

/* A rule whose op has no row for bf16 gets the same numbers, widened. */
START_TEST(gradients_are_widened_for_a_rule)
{
    const data *d = make_data();
    tutti_update_rule plain = tutti_update_sgd;
    double loss;
    plain.takes_bf16 = 0;
    uint64_t want = train(d, wire_bf16, NULL, 0, &loss);
    ck_assert(train(d, wire_bf16, &plain, 0, &loss) == want);
    ck_assert(train(d, wire_bf16, &plain, testing_seed(7), &loss) == want);
    ck_assert(train(d, f32, &plain, 0, &loss) != want);
    free((void *)d);
}
END_TEST

/* ---- values of bf16 ---- */

static void open_half(trial *t, trial_net_fn *build, tutti_dtype precision, int micro_batches)
{
    const tutti_step_options options = {.batch = BATCH,
        .micro_batches = micro_batches,
        .replicas = 1,
        .precision = precision,
        .momentum = 0.9f,
        .seed = 2};
    trial_open(t, build, &options, 0);
}

static int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* What a layer multiplies is a rounded copy; everything else that outlives a step is float32. */
static void check_copies(trial *t)
{
    int copies = 0;
    for (int i = 0; i < tutti_graph_tensors(t->step->graph); i++) {
        const tutti_tensor *copy = tutti_graph_get_tensor(t->step->graph, i);
        if (!begins(copy->name, "bf16.")) continue;
        int64_t count, same;
        const uint16_t *half = (const void *)trial_tensor(t, copy->name, &count);
        const float *w = trial_tensor(t, copy->name + strlen("bf16."), &same);
        ck_assert_int_eq(copy->dtype, TUTTI_BF16);
        ck_assert_int_eq(count, same);
        for (int64_t e = 0; e < count; e++)
            ck_assert_msg(half[e] == tutti_bf16_narrow(w[e]), "%s[%lld] is %#x, of %g", copy->name,
                (long long)e, half[e], (double)w[e]);
        copies++;
    }
    ck_assert_int_gt(copies, 1);
    for (int i = 0; i < t->step->parameters; i++)
        ck_assert_int_eq(
            tutti_graph_get_tensor(t->step->graph, t->step->parameter[i])->dtype, TUTTI_F32);
    for (int i = 0; i < t->step->states; i++)
        ck_assert_int_eq(
            tutti_graph_get_tensor(t->step->graph, t->step->state[i])->dtype, TUTTI_F32);
}

static void check_type(const trial *t, const char *name, tutti_dtype dtype)
{
    int tensor = tutti_graph_find(t->step->graph, name);
    ck_assert_msg(tensor >= 0, "no tensor %s", name);
    ck_assert_msg(tutti_graph_get_tensor(t->step->graph, tensor)->dtype == dtype, "%s is %s", name,
        tutti_dtype_name(tutti_graph_get_tensor(t->step->graph, tensor)->dtype));
}

/* How far the gradients of all parameters are from those in float32, relative to their length. */
static double distance(const trial *full, const trial *half)
{
    double *sum = calloc(2 * MOST_PARAMETERS, sizeof *sum), *other = sum + MOST_PARAMETERS;
    double length = 0, apart = 0;
    ck_assert_ptr_nonnull(sum);
    ck_assert_int_le(tutti_net_parameters(full->net), MOST_PARAMETERS);
    int64_t total = add_gradients(full, sum);
    ck_assert_int_eq(add_gradients(half, other), total);
    for (int64_t e = 0; e < total; e++) {
        length += sum[e] * sum[e];
        apart += (sum[e] - other[e]) * (sum[e] - other[e]);
    }
    free(sum);
    return sqrt(apart / length);
}

/* The gradients in bf16 are those in float32 but for rounding; every operation rounds by at most
 * 2^-8, and a handful follow each other. A wrong operation is off by its whole size. */
START_TEST(values_of_bf16)
{
    static trial_net_fn *const nets[] = {with_norm, without_norm, with_branches, with_windows};
    const data *d = make_data();
    for (int i = 0; i < 8 && !tutti_kernel_fault(TUTTI_BF16); i++) {
        trial full, half;
        open_half(&full, nets[i / 2], TUTTI_F32, 1 + 2 * (i % 2));
        open_half(&half, nets[i / 2], TUTTI_BF16, 1 + 2 * (i % 2));
        ck_assert_int_lt(full.step->refresh, 0);
        check_copies(&half);
        double of_full = mean_loss(&full, d), of_half = mean_loss(&half, d);
        ck_assert_double_eq_tol(of_half, of_full, 0.02 * of_full);
        ck_assert_double_ne(of_half, of_full);
        double far = distance(&full, &half);
        ck_assert_msg(far < 0.08 && far > 1e-5, "net %d: %g apart", i / 2, far);
        trial_run(&half, half.step->train, d->images, d->labels, 0.05f, 2);
        check_copies(&half); /* written by the step */
        if (nets[i / 2] == with_norm) {
            check_type(&half, "conv1@0", TUTTI_BF16);
            check_type(&half, "bn1@0", TUTTI_BF16);
            check_type(&half, "bn1.stats@0", TUTTI_F32);
            check_type(&half, "fc2@0", TUTTI_F32);
            check_type(&half, "d.conv1.weight", TUTTI_F32);
        }
        trial_close(&full);
        trial_close(&half);
    }
    free((void *)d);
}
END_TEST

static double evaluate(trial *t, int section, const data *d)
{
    trial_run(t, section, d->images, d->labels, 0, 0);
    return trial_metric(t, 0);
}

/* Overwrites all weights and running statistics by their averages. */
static void take_averages(trial *t)
{
    int taken = 0;
    for (int i = 0; i < tutti_graph_tensors(t->step->graph); i++) {
        const tutti_tensor *average = tutti_graph_get_tensor(t->step->graph, i);
        if (!begins(average->name, "average.")) continue;
        int64_t count;
        const float *from = trial_tensor(t, average->name, &count);
        memcpy(trial_tensor(t, average->name + strlen("average."), &count), from, average->bytes);
        taken++;
    }
    ck_assert_int_gt(taken, t->step->parameters);
    trial_refresh(t);
}

/* Averages are evaluated as weights would be that are equal to them, and leave these alone. */
START_TEST(averages_are_evaluated_in_bf16)
{
    const data *d = make_data();
    const tutti_step_options options = {.batch = BATCH,
        .micro_batches = 2,
        .replicas = 1,
        .precision = TUTTI_BF16,
        .average_decay = 0.9,
        .seed = 2};
    trial t;
    if (tutti_kernel_fault(TUTTI_BF16)) return;
    trial_open(&t, with_norm, &options, 0);
    for (int step = 0; step < 3; step++)
        trial_run(&t, t.step->train, d->images, d->labels, 0.05f, step);
    double before = evaluate(&t, t.step->eval, d), average = evaluate(&t, t.step->eval_average, d);
    double after = evaluate(&t, t.step->eval, d);
    check_copies(&t);
    take_averages(&t);
    double taken = evaluate(&t, t.step->eval, d);
    ck_assert_mem_eq(&after, &before, sizeof after);
    ck_assert_mem_eq(&taken, &average, sizeof taken);
    ck_assert_double_ne(before, average);
    trial_close(&t);
    free((void *)d);
}
END_TEST

enum { PIPELINED = 5 };

/* PIPELINED steps submitted at once. Twelve micro-batches make nodes with thirteen accesses, more than
 * StarPU has room for in a task. */
static uint64_t train_pipelined(
    const tutti_runner *runner, const data *d, types with, int micro_batches, int workers)
{
    tutti_step_options options = {.batch = 2 * BATCH,
        .micro_batches = micro_batches,
        .replicas = 1,
        .wire = with.wire,
        .precision = with.precision,
        .momentum = 0.9f,
        .seed = 4};
    tutti_run_options run = {.workers = workers};
    static const float rate[PIPELINED] = {0.05f, 0.04f, 0.03f, 0.02f, 0.01f};
    static const int64_t number[PIPELINED] = {0, 1, 2, 3, 4};
    trial t;
    trial_open_on(&t, with_norm, &options, runner, &run);
    for (int step = 0; step < PIPELINED; step++)
        trial_submit(&t, t.step->train, d->images, d->labels, &rate[step], &number[step]);
    trial_wait(&t);
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(starpu_gives_the_same_bits)
{
    const data *d = make_data();
    const tutti_runner *starpu = tutti_runner_find("starpu"),
                       *inline_runner = tutti_runner_find("inline");
    static const int micro_batches[] = {1, 2, 12};
    const types with = types_of(_i);
    if (!can_compute(with)) return;
    for (int i = 0; i < 3; i++) {
        uint64_t want = train_pipelined(inline_runner, d, with, micro_batches[i], 1);
        for (int workers = 1; workers <= 2; workers++)
            ck_assert_msg(train_pipelined(starpu, d, with, micro_batches[i], workers) == want,
                "%d micro-batches on %d workers: other weights", micro_batches[i], workers);
    }
    free((void *)d);
}
END_TEST

/* ---- images as bytes ---- */

/* Three steps and an evaluation with images as bytes, or as the floats that they stand for. */
static uint64_t train_on_pixels(
    const uint8_t *pixels, const int32_t *labels, int bytes, tutti_dtype precision, double *loss)
{
    tutti_step_options options = {.batch = BATCH,
        .micro_batches = 2,
        .replicas = 1,
        .momentum = 0.9f,
        .seed = 2,
        .precision = precision,
        .bytes = bytes,
        .mean = {0.4914f, 0.4822f, 0.4465f},
        .deviation = {0.247f, 0.2435f, 0.2616f}};
    float values[BATCH * IMAGE];
    for (int e = 0; e < BATCH * IMAGE; e++) {
        float v = (float)pixels[e] / 255.0f, shifted = v - options.mean[e % CHANNELS];
        values[e] = shifted / options.deviation[e % CHANNELS];
    }
    const void *images = bytes ? (const void *)pixels : values;
    trial t;
    trial_open(&t, with_norm, &options, 0);
    int fed = t.step->micro_batch[0].images;
    ck_assert_uint_eq(tutti_graph_get_tensor(t.step->graph, fed)->bytes,
        (size_t)t.step->micro_batch[0].count * IMAGE *
            tutti_dtype_bytes(bytes ? TUTTI_U8 : precision));
    for (int step = 0; step < 3; step++) trial_run(&t, t.step->train, images, labels, 0.05f, step);
    trial_run(&t, t.step->eval, images, labels, 0, 0);
    trial_run(&t, t.step->eval_again, images, labels, 0, 0);
    *loss = trial_metric(&t, 0);
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(bytes_give_the_bits_of_floats)
{
    uint8_t pixels[BATCH * IMAGE];
    int32_t labels[BATCH];
    double of_floats, of_bytes;
    for (int e = 0; e < BATCH * IMAGE; e++)
        pixels[e] = (uint8_t)tutti_rng_below(8, tutti_rng_stream("pixels"), (uint64_t)e, 256);
    trial_labels(8, 0, BATCH, CLASSES, labels);
    const types with = types_of(2 * _i);
    if (!can_compute(with)) return;
    uint64_t floats = train_on_pixels(pixels, labels, 0, with.precision, &of_floats);
    ck_assert(train_on_pixels(pixels, labels, 1, with.precision, &of_bytes) == floats);
    ck_assert_mem_eq(&of_bytes, &of_floats, sizeof of_floats);
}
END_TEST

/* Rows with label -1 do not count, neither in the metrics nor in the gradient. */
START_TEST(padded_rows_do_not_count)
{
    data *d = (data *)make_data();
    for (int i = BATCH - 2; i < BATCH; i++) d->labels[i] = -1;
    tutti_step_options options = {.batch = BATCH, .micro_batches = 2, .replicas = 1, .seed = 5};
    trial t;
    trial_open(&t, without_norm, &options, 0);
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    double loss = trial_metric(&t, 0);
    ck_assert_double_eq(trial_metric(&t, 2), BATCH - 2);
    for (int e = (BATCH - 2) * IMAGE; e < BATCH * IMAGE; e++) d->images[e] = 1000;
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    ck_assert_double_eq(trial_metric(&t, 0), loss);
    trial_close(&t);
    free(d);
}
END_TEST

/* eval_again evaluates the mean of its logits and those of the preceding eval. */
START_TEST(two_views_are_averaged)
{
    data *d = (data *)make_data();
    tutti_step_options options = {.batch = BATCH, .micro_batches = 2, .replicas = 1, .seed = 5};
    trial t;
    trial_open(&t, without_norm, &options, 0);
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    double loss = trial_metric(&t, 0), right = trial_metric(&t, 1);
    trial_run(&t, t.step->eval_again, d->images, d->labels, 0, 0);
    ck_assert_double_eq_tol(trial_metric(&t, 0), loss, 1e-5);
    ck_assert_double_eq(trial_metric(&t, 1), right);
    for (int e = 0; e < BATCH * IMAGE; e++) d->images[e] = -d->images[e];
    trial_run(&t, t.step->eval_again, d->images, d->labels, 0, 0);
    double mean = trial_metric(&t, 0);
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    double other = trial_metric(&t, 0);
    ck_assert_double_lt(mean, (loss + other) / 2); /* cross-entropy is convex in the logits */
    ck_assert_double_ne(mean, loss);
    trial_close(&t);
    free(d);
}
END_TEST

/* With a norm and dropout. */
static void of_side(tutti_net *net, int64_t side)
{
    tutti_value x = tutti_net_input(net, side, side, 3);
    x = tutti_net_conv(net, "conv", x,
        &(tutti_conv_layer){.K = 8, .R = 3, .stride = 2, .pad = 1, .init = TUTTI_INIT_HE_FAN_IN});
    x = tutti_net_norm(net, "norm", x, 1);
    x = tutti_net_dropout(net, "drop", x, 0.5f);
    x = tutti_net_global_avg_pool(net, "mean", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_HE_FAN_IN));
}

enum { SMALL = 8, LARGE = 12 };

static void small(tutti_net *net)
{
    of_side(net, SMALL);
}

static void large(tutti_net *net)
{
    of_side(net, LARGE);
}

/* Evaluates large images on a trial of small ones. */
static double evaluate_large(trial *t, int section, const float *images, const int32_t *labels)
{
    for (int s = 0; s < t->step->micro_batches; s++) {
        const tutti_micro_batch *m = &t->step->micro_batch[s];
        const int64_t each = LARGE * LARGE * 3;
        ck_assert_ok(t->runner->feed(t->run, m->evaluated, images + m->first * each,
            (size_t)(m->count * each) * sizeof *images, NULL, NULL));
        ck_assert_ok(t->runner->feed(
            t->run, m->labels, labels + m->first, (size_t)m->count * sizeof *labels, NULL, NULL));
    }
    ck_assert_ok(t->runner->submit(t->run, section));
    trial_wait(t);
    return trial_metric(t, 0);
}

/* Evaluation at another size has the bits of a step of that size with these weights, and training
 * those that it has without. */
START_TEST(another_size_is_evaluated)
{
    tutti_step_options options = {.batch = 5,
        .micro_batches = 2,
        .replicas = 1,
        .momentum = 0.9f,
        .average_decay = 0.5,
        .seed = 9};
    static float images[5 * LARGE * LARGE * 3];
    int32_t labels[5];
    trial plain, other, mixed;
    tutti_net *net;
    trial_images(4, 0, 5 * LARGE * LARGE * 3, images);
    trial_labels(4, 0, 5, CLASSES, labels);
    ck_assert_ok(tutti_net_new(&net));
    large(net);
    trial_open(&plain, small, &options, 0);
    trial_open(&other, large, &options, 0);
    options.evaluated = net;
    trial_open(&mixed, small, &options, 0);
    for (int section = 0; section < 2; section++) {
        trial_run(
            &other, section ? other.step->eval_average : other.step->eval, images, labels, 0, 0);
        double want = trial_metric(&other, 0);
        double got = evaluate_large(
            &mixed, section ? mixed.step->eval_average : mixed.step->eval, images, labels);
        ck_assert_double_eq(got, want);
        trial_run(&plain, plain.step->eval, images, labels, 0, 0);
        ck_assert_double_ne(trial_metric(&plain, 0), want);
    }
    for (int step = 0; step < 2; step++) {
        trial_run(&plain, plain.step->train, images, labels, 0.1f, step);
        trial_run(&mixed, mixed.step->train, images, labels, 0.1f, step);
        evaluate_large(&mixed, mixed.step->eval, images, labels);
    }
    ck_assert_uint_eq(trial_hash(&plain), trial_hash(&mixed));
    tutti_net_free(net);
    trial_close(&plain);
    trial_close(&other);
    trial_close(&mixed);
}
END_TEST

START_TEST(initial_values_follow_seed_and_name)
{
    static const tutti_step_options options = {
        .batch = 2, .micro_batches = 1, .replicas = 1, .seed = 9};
    trial t;
    trial_open(&t, with_norm, &options, 0);
    int64_t count;
    float *w = trial_tensor(&t, "conv2.weight", &count);
    ck_assert_float_eq(w[17],
        (float)(sqrt(2.0 / (6 * 9)) * tutti_rng_normal(9, tutti_rng_stream("conv2.weight"), 17)));
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
    tcase_add_test(tcase, auxiliary_outputs_are_for_training);
    tcase_add_test(tcase, blocks_start_at_zero);
    tcase_add_test(tcase, dealing_and_joining_changes_no_bit);
    tcase_add_test(tcase, micro_batches_and_ranks_give_the_same_gradients);
    tcase_add_test(tcase, bf16_gradients_are_rounded_once);
    tcase_add_test(tcase, gradients_are_widened_for_a_rule);
    tcase_add_loop_test(tcase, every_order_gives_the_same_bits, 0, TYPES);
    tcase_add_loop_test(tcase, starpu_gives_the_same_bits, 0, TYPES);
    tcase_add_test(tcase, values_of_bf16);
    tcase_add_test(tcase, averages_are_evaluated_in_bf16);
    tcase_add_loop_test(tcase, bytes_give_the_bits_of_floats, 0, 2);
    tcase_add_test(tcase, padded_rows_do_not_count);
    tcase_add_test(tcase, two_views_are_averaged);
    tcase_add_test(tcase, another_size_is_evaluated);
    tcase_add_test(tcase, initial_values_follow_seed_and_name);
    return testing_run(suite);
}
