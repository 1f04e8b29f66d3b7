/* Whole nets have the same bits in every order and on every runner, in pieces, and from bytes. */
#include "dag/base/rng.h"
#include "dag/kernels/act.h"
#include "dag/kernels/norm.h"
#include "dag/step/update_rule.h"
#include "tests/step/nets.h"

#include <stdlib.h>
#include <string.h>

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
    return t.precision == TUTTI_F32 || testing_computes_bf16("values");
}

static uint64_t train(
    const data *d, types with, const tutti_update_rule *rule, uint64_t order_seed, double *loss)
{
    tutti_step_options options = {.batch = BATCH,
        .micro_batches = 3,
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
    const types with = types_of(_i);
    if (!can_compute(with)) return;
    data *d = make_data();
    uint64_t seed = testing_seed(100);
    double want_loss, loss;
    uint64_t want = train(d, with, NULL, 0, &want_loss);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_msg(train(d, with, NULL, seed + i, &loss) == want,
            "order %llu gives other weights", (unsigned long long)(seed + i));
        ck_assert_msg(!memcmp(&loss, &want_loss, sizeof loss), "order %llu: loss %.17g, not %.17g",
            (unsigned long long)(seed + i), loss, want_loss);
    }
    free(d);
}
END_TEST

/* ---- norms that additions compute ---- */

static int count_op(const trial *t, const tutti_op *op)
{
    int count = 0;
    for (int n = 0; n < tutti_graph_nodes(t->step->graph); n++)
        count += tutti_graph_get_node(t->step->graph, n)->op == op;
    return count;
}

/* Three steps of one batch or two, and an evaluation. */
static uint64_t train_residuals(tutti_step_options options, int adds_norms, const data *d,
    trial_net_fn *build, uint64_t order_seed, double loss[2])
{
    options.adds_norms = adds_norms;
    trial t;
    trial_open(&t, build, &options, order_seed);
    const int passes = options.micro_batches * (options.accumulate > 1 ? 2 : 1);
    const int joined = build == with_residuals ? 3 : 1;
    ck_assert_int_eq(count_op(&t, &tutti_op_norm_add), adds_norms ? joined * passes : 0);
    ck_assert_int_eq(count_op(&t, &tutti_op_norm_add_bwd), adds_norms ? joined * passes : 0);
    for (int step = 0; step < 3; step++) {
        if (options.accumulate > 1)
            trial_run(&t, t.step->gather_first, d->images + options.batch * IMAGE,
                d->labels + options.batch, 0.05f, step);
        trial_run(&t, t.step->train, d->images, d->labels, 0.05f, step);
        loss[0] = trial_metric(&t, 0);
    }
    trial_run(&t, options.average_decay > 0 ? t.step->eval_average : t.step->eval, d->images,
        d->labels, 0, 0);
    loss[1] = trial_metric(&t, 0);
    ck_assert_int_eq(
        tutti_graph_find(t.step->graph, build == with_residuals ? "bn7@0" : "bn2@0") < 0,
        adds_norms);
    const uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(norms_that_additions_compute_have_the_same_bits)
{
    static trial_net_fn *const nets[] = {with_residuals, with_norm};
    static const tutti_step_options ways[] = {{.batch = BATCH, .micro_batches = 1},
        {.batch = BATCH, .micro_batches = 3},
        {.batch = BATCH, .micro_batches = 3, .slots = 2, .emission = TUTTI_EMISSION_1F1B},
        {.batch = BATCH, .micro_batches = 2, .accumulate = 2, .average_decay = 0.9}};
    const types with = types_of(_i);
    if (!can_compute(with)) return;
    data *d = make_data();
    const uint64_t seed = testing_seed(20261127);
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        tutti_step_options options = ways[i / 2];
        double loss[3][2];
        options.wire = with.wire;
        options.precision = with.precision;
        options.momentum = 0.9f;
        const uint64_t want = train_residuals(options, 0, d, nets[i % 2], 0, loss[0]);
        ck_assert(train_residuals(options, 1, d, nets[i % 2], 0, loss[1]) == want);
        ck_assert(train_residuals(options, 1, d, nets[i % 2], seed, loss[2]) == want);
        ck_assert(
            !memcmp(loss[0], loss[1], sizeof *loss) && !memcmp(loss[0], loss[2], sizeof *loss));
    }
    free(d);
}
END_TEST

/* A rule whose op has no row for bf16 gets the same numbers, widened. */
START_TEST(gradients_are_widened_for_a_rule)
{
    data *d = make_data();
    tutti_update_rule plain = tutti_update_sgd;
    double loss;
    plain.takes_bf16 = 0;
    uint64_t want = train(d, wire_bf16, NULL, 0, &loss);
    ck_assert(train(d, wire_bf16, &plain, 0, &loss) == want);
    ck_assert(train(d, wire_bf16, &plain, testing_seed(7), &loss) == want);
    ck_assert(train(d, f32, &plain, 0, &loss) != want);
    free(d);
}
END_TEST

enum { PIPELINED = 5 };

/* PIPELINED steps submitted at once. Twelve micro-batches make nodes with thirteen accesses, more than
 * StarPU has room for in a task. */
static uint64_t train_pipelined(const tutti_runner *runner, const data *d, types with,
    int micro_batches, int workers, double region_s)
{
    tutti_step_options options = {.batch = 2 * BATCH,
        .micro_batches = micro_batches,
        .wire = with.wire,
        .precision = with.precision,
        .momentum = 0.9f,
        .seed = 4};
    tutti_run_options run = {.workers = workers, .region_s = region_s};
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

/* Regions of one kernel, short ones, and as large as they may be. */
START_TEST(starpu_gives_the_same_bits)
{
    static const int micro_batches[] = {1, 2, 12};
    static const double region_s[] = {-1, 10e-6, 1e9};
    const types with = types_of(_i);
    if (!can_compute(with)) return;
    data *d = make_data();
    const tutti_runner *starpu = tutti_runner_find("starpu"),
                       *inline_runner = tutti_runner_find("inline");
    for (int i = 0; i < 3; i++) {
        uint64_t want = train_pipelined(inline_runner, d, with, micro_batches[i], 1, 0);
        for (int run = 0; run < 6; run++) {
            const int workers = 1 + run % 2;
            const double longest_s = region_s[run / 2];
            ck_assert_msg(
                train_pipelined(starpu, d, with, micro_batches[i], workers, longest_s) == want,
                "%d micro-batches on %d workers, regions of %g s: other weights", micro_batches[i],
                workers, longest_s);
        }
    }
    free(d);
}
END_TEST

/* The same function with or without a value that is assigned to three and joined again. */
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

static uint64_t train_on(
    const tutti_runner *runner, trial_net_fn *build, const data *d, double *loss)
{
    tutti_step_options options = {.batch = BATCH, .micro_batches = 2, .momentum = 0.9f, .seed = 6};
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

START_TEST(splitting_and_joining_changes_no_bit)
{
    data *d = make_data();
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
    free(d);
}
END_TEST

/* Three steps and an evaluation with images as bytes, or as the floats that they stand for. */
static uint64_t train_on_pixels(
    const uint8_t *pixels, const int32_t *labels, int bytes, tutti_dtype precision, double *loss)
{
    tutti_step_options options = {.batch = BATCH,
        .micro_batches = 2,
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

/* ---- norms with a ReLU that has a limit ---- */

static tutti_value append_limited(tutti_net *net, const char *name, tutti_value x, int layers)
{
    const tutti_norm_layer limited = {.relu = 1, .limit = 0.7f};
    if (!layers) return tutti_net_batch_norm(net, name, x, &limited);
    return tutti_net_clipped_relu(net, "clip", tutti_net_norm(net, name, x, 0), limited.limit);
}

static void append_limits(tutti_net *net, int layers)
{
    const tutti_conv_layer same = {.K = 19, .R = 3, .pad = 1};
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = append_limited(net, "bn1", tutti_net_conv(net, "conv1", x, &same), layers);
    x = tutti_net_norm(net, "bn2", tutti_net_conv(net, "conv2", x, &same), 1);
    x = tutti_net_global_avg_pool(net, "pool", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static void with_limits(tutti_net *net)
{
    append_limits(net, 0);
}

static void with_limits_of_layers(tutti_net *net)
{
    append_limits(net, 1);
}

static uint64_t train_limits(
    trial_net_fn *build, tutti_dtype precision, const data *d, double *loss)
{
    const tutti_step_options options = {
        .batch = BATCH, .micro_batches = 2, .precision = precision, .momentum = 0.9f};
    trial t;
    trial_open(&t, build, &options, 0);
    const int layers = build == with_limits_of_layers;
    ck_assert_int_eq(count_op(&t, &tutti_op_relu) > 0, layers);
    ck_assert_int_eq(count_op(&t, &tutti_op_relu_bwd) > 0, layers);
    for (int step = 0; step < 3; step++)
        trial_run(&t, t.step->train, d->images, d->labels, 0.05f, step);
    trial_run(&t, t.step->eval, d->images, d->labels, 0, 0);
    *loss = trial_metric(&t, 0);
    const uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(norms_with_a_limit_have_the_bits_of_two_layers)
{
    const tutti_dtype precision = types_of(2 * _i).precision;
    double together, apart;
    if (!can_compute(types_of(2 * _i))) return;
    data *d = make_data();
    ck_assert(train_limits(with_limits, precision, d, &together) ==
              train_limits(with_limits_of_layers, precision, d, &apart));
    ck_assert_mem_eq(&together, &apart, sizeof apart);
    free(d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step bits");
    TCase *tcase = testing_case(suite, "bits");
    tcase_add_loop_test(tcase, every_order_gives_the_same_bits, 0, TYPES);
    tcase_add_loop_test(tcase, norms_that_additions_compute_have_the_same_bits, 0, TYPES);
    tcase_add_loop_test(tcase, norms_with_a_limit_have_the_bits_of_two_layers, 0, 2);
    tcase_add_test(tcase, gradients_are_widened_for_a_rule);
    tcase_add_loop_test(tcase, starpu_gives_the_same_bits, 0, TYPES);
    tcase_add_test(tcase, splitting_and_joining_changes_no_bit);
    tcase_add_loop_test(tcase, bytes_give_the_bits_of_floats, 0, 2);
    return testing_run(suite);
}
