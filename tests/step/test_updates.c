/* dag/step: what follows the sum of the gradients. Every update rule trains, and with the same bits in
 * every order; factors of single parameters, what is for weights only, clipping, steps of several
 * batches, averages over steps; gradients of float32 and of bf16. */
#include "dag/base/bf16.h"
#include "dag/step/update_rule.h"
#include "tests/step/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 6,
    CHANNELS = 2,
    CLASSES = 4,
    BATCH = 6,
    BATCHES = 4,
    IMAGE = SIZE * SIZE * CHANNELS
};

static float images[BATCHES * BATCH * IMAGE];
static int32_t labels[BATCHES * BATCH];

static void make_data(void)
{
    trial_images(5, 0, BATCHES * BATCH * IMAGE, images);
    trial_labels(5, 0, BATCHES * BATCH, CLASSES, labels);
}

static tutti_value add_layers(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 5, .R = 3, .pad = 1, .bias = 1});
    x = tutti_net_norm(net, "bn", x, 1);
    return tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN);
}

static void plain(tutti_net *net)
{
    tutti_net_output(net, add_layers(net));
}

static tutti_step_options options_of(const tutti_update_rule *rule)
{
    return (tutti_step_options){.batch = BATCH,
        .micro_batches = 2,
        .rule = rule,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8f,
        .trust = 0.02f,
        .seed = 3};
}

static float rate_of(const tutti_update_rule *rule)
{
    return rule->rate > 0 ? 0.01f : 0.05f;
}

static double loss_of(trial *t)
{
    trial_run(t, t->step->eval, images, labels, 0, 0);
    return trial_metric(t, 0);
}

static void train(trial *t, int steps, float rate)
{
    for (int step = 0; step < steps; step++)
        trial_run(t, t->step->train, images, labels, rate, step);
}

/* Loop tests: i / 2 is the rule, i % 2 the type in which gradients are summed over ranks. */
static const tutti_update_rule *rule_at(int i)
{
    return tutti_update_rules[i / 2];
}

static tutti_dtype wire_at(int i)
{
    return i % 2 ? TUTTI_BF16 : TUTTI_F32;
}

START_TEST(every_rule_trains)
{
    const tutti_update_rule *rule = rule_at(_i);
    tutti_step_options options = options_of(rule);
    options.wire = wire_at(_i);
    uint64_t want = 0;
    ck_assert_ptr_eq(tutti_update_rule_find(rule->name), rule);
    for (uint64_t order = 0; order < 4; order++) {
        trial t;
        trial_open(&t, plain, &options, order);
        double before = loss_of(&t);
        train(&t, 20, rate_of(rule));
        double after = loss_of(&t);
        ck_assert_msg(after < 0.8 * before, "%s: loss %g, then %g", rule->name, before, after);
        uint64_t hash = trial_hash(&t);
        if (order == 0) want = hash;
        ck_assert_msg(hash == want, "%s: order %llu gives other weights", rule->name,
            (unsigned long long)order);
        trial_close(&t);
    }
}
END_TEST

/* No two rules are the same. */
START_TEST(rules_differ)
{
    uint64_t hash[16];
    int rules = 0;
    for (; tutti_update_rules[rules]; rules++) {
        tutti_step_options options = options_of(tutti_update_rules[rules]);
        trial t;
        trial_open(&t, plain, &options, 0);
        train(&t, 2, 0.01f);
        int64_t count;
        const float *w = trial_tensor(&t, "fc.weight", &count);
        hash[rules] = 14695981039346656037ull;
        for (int64_t e = 0; e < count; e++) {
            uint32_t bits;
            memcpy(&bits, &w[e], sizeof bits);
            hash[rules] = (hash[rules] ^ bits) * 1099511628211ull;
        }
        for (int i = 0; i < rules; i++) ck_assert_uint_ne(hash[i], hash[rules]);
        trial_close(&t);
    }
    ck_assert_int_eq(rules, 4);
    ck_assert_ptr_null(tutti_update_rule_find("none"));
}
END_TEST

START_TEST(rules_refuse_bad_options)
{
    static const float not_a_number = 0.0f / 0.0f;
    for (int i = 0; tutti_update_rules[i]; i++) {
        const tutti_update_rule *rule = tutti_update_rules[i];
        tutti_step_options good = options_of(rule), bad = good;
        ck_assert_ok(rule->check(&good));
        bad.weight_decay = not_a_number;
        ck_assert_int_eq(rule->check(&bad), TUTTI_ERR_INVAL);
    }
    tutti_step_options bad = options_of(&tutti_update_adam);
    bad.beta1 = 1;
    ck_assert_int_eq(tutti_update_adam.check(&bad), TUTTI_ERR_INVAL);
    bad = options_of(&tutti_update_adamw);
    bad.beta2 = -0.1;
    ck_assert_int_eq(tutti_update_adamw.check(&bad), TUTTI_ERR_INVAL);
    bad = options_of(&tutti_update_adam);
    bad.epsilon = 0;
    ck_assert_int_eq(tutti_update_adam.check(&bad), TUTTI_ERR_INVAL);
    bad = options_of(&tutti_update_lars);
    bad.trust = 0;
    ck_assert_int_eq(tutti_update_lars.check(&bad), TUTTI_ERR_INVAL);
}
END_TEST

/* ---- factors ---- */

/* Trains one step and copies a tensor. */
static float *after_a_step(
    trial_net_fn *build, const tutti_step_options *options, const char *name, int64_t *count)
{
    trial t;
    trial_open(&t, build, options, 0);
    train(&t, 1, 0.1f);
    const float *w = trial_tensor(&t, name, count);
    float *copy = malloc((size_t)*count * sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, w, (size_t)*count * sizeof *copy);
    trial_close(&t);
    return copy;
}

/* Whether a tensor is the same after a step of both. */
static int same(trial_net_fn *a, const tutti_step_options *with_a, trial_net_fn *b,
    const tutti_step_options *with_b, const char *name)
{
    int64_t count, other;
    float *x = after_a_step(a, with_a, name, &count), *y = after_a_step(b, with_b, name, &other);
    ck_assert_int_eq(count, other);
    int equal = !memcmp(x, y, (size_t)count * sizeof *x);
    free(x);
    free(y);
    return equal;
}

static void scaled(tutti_net *net)
{
    tutti_value y = add_layers(net);
    tutti_net_scale(net, y, "weight", 0.5, 1);
    tutti_net_scale(net, y, "bias", 0, 1);
    tutti_net_scale(net, y - 1, "scaleshift", 1, 0);
    tutti_net_output(net, y);
}

/* Half the rate for the weights of the last layer, none for its biases, no decay for the scales. */
START_TEST(factors_multiply_rate_and_decay)
{
    for (int i = 0; tutti_update_rules[i]; i++) {
        tutti_step_options options = options_of(tutti_update_rules[i]), none = options;
        options.weight_decay = 0.5f;
        none.weight_decay = 0;
        ck_assert(same(plain, &options, scaled, &options, "conv.weight"));
        ck_assert(!same(plain, &options, scaled, &options, "fc.weight"));
        ck_assert(!same(plain, &options, plain, &none, "bn.scaleshift"));
        ck_assert(same(plain, &none, scaled, &options, "bn.scaleshift"));
        int64_t count;
        float *bias = after_a_step(scaled, &options, "fc.bias", &count);
        for (int64_t e = 0; e < count; e++) ck_assert_float_eq(bias[e], 0);
        free(bias);
    }
}
END_TEST

static void no_such_parameter(tutti_net *net)
{
    tutti_net_scale(net, add_layers(net), "scaleshift", 1, 1);
}

static void no_such_value(tutti_net *net)
{
    tutti_net_scale(net, add_layers(net) + 1, "weight", 1, 1);
}

static void negative_rate(tutti_net *net)
{
    tutti_net_scale(net, add_layers(net), "weight", -1, 1);
}

static void infinite_decay(tutti_net *net)
{
    tutti_net_scale(net, add_layers(net), "weight", 1, 1.0 / 0.0);
}

START_TEST(bad_factors_are_refused)
{
    trial_net_fn *const bad[] = {no_such_parameter, no_such_value, negative_rate, infinite_decay};
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    bad[_i](net);
    ck_assert_int_eq(tutti_net_status(net), TUTTI_ERR_INVAL);
    tutti_net_free(net);
}
END_TEST

START_TEST(decay_may_be_for_weights_only)
{
    tutti_step_options none = options_of(&tutti_update_sgd), all = none, weights = none;
    none.weight_decay = 0;
    all.weight_decay = weights.weight_decay = 0.5f;
    weights.weights_only = 1;
    ck_assert(same(plain, &none, plain, &weights, "bn.scaleshift"));
    ck_assert(!same(plain, &all, plain, &weights, "bn.scaleshift"));
    ck_assert(same(plain, &all, plain, &weights, "conv.weight"));
    ck_assert(same(plain, &all, plain, &weights, "fc.weight"));
}
END_TEST

/* ---- clipping ---- */

/* The length of all gradients of a trial together. */
static double length_of_gradients(const trial *t)
{
    double squares = 0;
    for (int i = 0; i < t->step->parameters; i++) {
        char name[80];
        int64_t count;
        snprintf(name, sizeof name, "d.%s",
            tutti_graph_get_tensor(t->step->graph, t->step->parameter[i])->name);
        const float *g = trial_tensor(t, name, &count);
        for (int64_t e = 0; e < count; e++) squares += (double)g[e] * (double)g[e];
    }
    return sqrt(squares);
}

START_TEST(gradients_are_clipped)
{
    tutti_step_options options = options_of(&tutti_update_sgd);
    trial t;
    trial_open(&t, plain, &options, 0);
    train(&t, 1, 0.05f);
    double length = length_of_gradients(&t);
    uint64_t free_hash = trial_hash(&t);
    trial_close(&t);
    ck_assert_double_gt(length, 0.1);
    options.clip_norm = 2 * length; /* is not reached: the bits stay */
    trial_open(&t, plain, &options, 0);
    train(&t, 1, 0.05f);
    ck_assert_uint_eq(trial_hash(&t), free_hash);
    trial_close(&t);
    uint64_t want = 0;
    options.clip_norm = length / 3;
    for (uint64_t order = 0; order < 4; order++) {
        trial_open(&t, plain, &options, order);
        train(&t, 1, 0.05f);
        ck_assert_double_eq_tol(length_of_gradients(&t), length / 3, 1e-5 * length);
        if (order == 0) want = trial_hash(&t);
        ck_assert_uint_eq(trial_hash(&t), want);
        ck_assert_uint_ne(trial_hash(&t), free_hash);
        trial_close(&t);
    }
    tutti_step *step;
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    plain(net);
    options.clip_norm = -1;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_net_free(net);
}
END_TEST

/* One step of momentum 0 without decay, with gradients of bf16: what is clipped is their sum as it
 * was rounded, and the clipped gradient is not rounded again. */
static void check_clipped_bf16(double most, int reached)
{
    tutti_step_options options = options_of(&tutti_update_sgd);
    trial before, after;
    options.wire = TUTTI_BF16;
    options.momentum = 0;
    options.weight_decay = 0;
    options.clip_norm = most;
    trial_open(&before, plain, &options, 0);
    trial_open(&after, plain, &options, 0);
    train(&after, 1, 0.5f);
    double squares = 0, factor = 1;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) factor = fmin(1, most / sqrt(squares));
        for (int i = 0; i < after.step->parameters; i++) {
            const tutti_graph *graph = after.step->graph;
            const char *parameter = tutti_graph_get_tensor(graph, after.step->parameter[i])->name;
            char name[80];
            int64_t count;
            snprintf(name, sizeof name, "d.%s", parameter);
            ck_assert_int_eq(
                tutti_graph_get_tensor(graph, tutti_graph_find(graph, name))->dtype, TUTTI_BF16);
            const uint16_t *g = (const void *)trial_tensor(&after, name, &count);
            const float *w = trial_tensor(&before, parameter, &count);
            const float *now = trial_tensor(&after, parameter, &count);
            for (int64_t e = 0; e < count; e++) {
                double gradient = (double)tutti_bf16_widen(g[e]);
                squares += pass ? 0 : gradient * gradient;
                if (!pass) continue;
                double want = (double)w[e] - 0.5 * factor * gradient;
                ck_assert_double_eq_tol((double)now[e], want, 1e-7 + 1e-6 * fabs(want));
            }
        }
    }
    ck_assert_int_eq(factor < 1, reached);
    trial_close(&before);
    trial_close(&after);
}

START_TEST(gradients_of_bf16_are_clipped)
{
    check_clipped_bf16(0.3, 1);
    check_clipped_bf16(1e6, 0);
}
END_TEST

static uint64_t hash_after(const tutti_update_rule *rule, double most, uint64_t order)
{
    tutti_step_options options = options_of(rule);
    trial t;
    options.wire = TUTTI_BF16;
    options.clip_norm = most;
    trial_open(&t, plain, &options, order);
    train(&t, 3, rate_of(rule));
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

/* A length that is not reached leaves the bits as they are; SGD, too, which takes bf16 but where
 * gradients are clipped. */
START_TEST(clipping_bf16_keeps_what_is_short)
{
    const tutti_update_rule *rule = tutti_update_rules[_i];
    uint64_t want = hash_after(rule, 0, 0), clipped = hash_after(rule, 0.1, 0);
    ck_assert_uint_ne(clipped, want);
    for (uint64_t order = 0; order < 3; order++) {
        ck_assert_uint_eq(hash_after(rule, 1e6, order), want);
        ck_assert_uint_eq(hash_after(rule, 0.1, order), clipped);
    }
}
END_TEST

/* ---- several batches in a step ---- */

/* Trains steps of `accumulate` batches each, of all images. */
static void train_gathered(trial *t, int steps, float rate)
{
    int batches = t->step->accumulate;
    int64_t images_each = t->options.batch;
    for (int64_t number = 0; number < (int64_t)steps * batches; number++) {
        int batch = (int)(number % batches);
        trial_run(t, tutti_step_section(t->step, batch), images + batch * images_each * IMAGE,
            labels + batch * images_each, rate, number);
    }
}

static uint64_t gathered_hash(
    const tutti_update_rule *rule, tutti_dtype wire, int batches, uint64_t order)
{
    tutti_step_options options = options_of(rule);
    options.wire = wire;
    options.batch = BATCHES * BATCH / batches;
    options.micro_batches = 12 / batches;
    options.accumulate = batches;
    options.clip_norm = 0.5;
    trial t;
    trial_open(&t, plain, &options, order);
    train_gathered(&t, 3, rate_of(rule));
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

/* Batches of a step are further micro-batches, to the last bit of weights and states: what they
 * gather is float32, which is rounded once, whatever the type on the wire. */
START_TEST(batches_are_summed_as_micro_batches)
{
    static const int batches[] = {2, 3, 4, 12};
    const tutti_update_rule *rule = rule_at(_i);
    uint64_t want = gathered_hash(rule, wire_at(_i), 1, 0);
    for (int i = 0; i < 4; i++)
        for (uint64_t order = 0; order < 3; order++)
            ck_assert_msg(gathered_hash(rule, wire_at(_i), batches[i], order) == want,
                "%s: a step of %d batches gives other weights", rule->name, batches[i]);
}
END_TEST

/* Only the last batch of a step has marks. */
START_TEST(only_the_last_batch_has_marks)
{
    tutti_step_options options = options_of(NULL);
    tutti_step *step;
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    plain(net);
    for (options.accumulate = 1; options.accumulate <= 3; options.accumulate++) {
        ck_assert_ok(tutti_step_build(net, &options, &step));
        int marks = 0;
        for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
            const tutti_node *node = tutti_graph_get_node(step->graph, n);
            if (node->kind != TUTTI_NODE_MARK) continue;
            ck_assert_int_eq(node->section, step->train);
            marks++;
        }
        ck_assert_int_eq(marks, step->parameters + 1);
        ck_assert_int_eq(tutti_step_section(step, options.accumulate - 1), step->train);
        ck_assert_int_eq(step->gather_first >= 0, options.accumulate > 1);
        ck_assert_int_eq(step->gather_more >= 0, options.accumulate > 2);
        tutti_step_free(step);
    }
    options.accumulate = -1;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_net_free(net);
}
END_TEST

static void with_dropout(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_dropout(net, "first", x, 0.2f);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 5, .R = 3, .pad = 1, .bias = 1});
    x = tutti_net_dropout(net, "drop", tutti_net_norm(net, "bn", x, 1), 0.5f);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* Dropout's value, which in evaluation is its input, is a value of its own in every batch of a step:
 * the gradient of two batches is the mean of theirs, to the last bit. */
START_TEST(batches_with_dropout_are_summed)
{
    tutti_step_options options = options_of(NULL);
    options.micro_batches = 1;
    double loss[2];
    trial both, each[2];
    for (int batch = 0; batch < 2; batch++) {
        trial_open(&each[batch], with_dropout, &options, 0);
        trial_run(&each[batch], each[batch].step->train, images + batch * BATCH * IMAGE,
            labels + batch * BATCH, 0, batch);
    }
    options.accumulate = 2;
    trial_open(&both, with_dropout, &options, 1);
    train_gathered(&both, 1, 0);
    for (int p = 0; p < both.step->parameters; p++) {
        char name[64];
        int64_t count;
        snprintf(name, sizeof name, "d.%s",
            tutti_graph_get_tensor(both.step->graph, both.step->parameter[p])->name);
        const float *sum = trial_tensor(&both, name, &count);
        const float *a = trial_tensor(&each[0], name, &count);
        const float *b = trial_tensor(&each[1], name, &count);
        for (int64_t e = 0; e < count; e++) {
            float want = a[e] / 2 + b[e] / 2;
            ck_assert_msg(sum[e] == want, "%s[%lld] is %.9g, not %.9g", name, (long long)e,
                (double)sum[e], (double)want);
        }
    }
    trial_run(&both, both.step->eval, images, labels, 0, 0);
    loss[0] = trial_metric(&both, 0);
    trial_run(&both, both.step->eval_again, images, labels, 0, 0);
    loss[1] = trial_metric(&both, 0);
    ck_assert_double_eq(loss[0], loss[1]); /* nothing is dropped */
    for (int batch = 0; batch < 2; batch++) trial_close(&each[batch]);
    trial_close(&both);
}
END_TEST

/* ---- averages ---- */

/* Averages are those of a loop over the weights, of running statistics, too; and the weights are what they
 * are without averages. */
START_TEST(weights_are_averaged)
{
    static const char *const names[] = {"conv.weight", "fc.bias", "bn.scaleshift", "bn.running"};
    enum { NAMES = 4, STEPS = 5, MOST = 1024 };
    static double want[NAMES][MOST];
    tutti_step_options options = options_of(&tutti_update_sgd);
    trial t, without;
    trial_open(&without, plain, &options, 0);
    options.average_decay = 0.75;
    trial_open(&t, plain, &options, _i);
    for (int step = -1; step < STEPS; step++) {
        if (step >= 0) trial_run(&t, t.step->train, images, labels, 0.05f, step);
        for (int n = 0; n < NAMES; n++) {
            int64_t count;
            const float *w = trial_tensor(&t, names[n], &count);
            ck_assert_int_le(count, MOST);
            for (int64_t e = 0; e < count; e++)
                want[n][e] = step < 0 ? (double)w[e] : 0.75 * want[n][e] + 0.25 * (double)w[e];
        }
    }
    train(&without, STEPS, 0.05f);
    for (int n = 0; n < NAMES; n++) {
        char name[64];
        int64_t count;
        snprintf(name, sizeof name, "average.%s", names[n]);
        const float *average = trial_tensor(&t, name, &count);
        for (int64_t e = 0; e < count; e++)
            ck_assert_double_eq_tol((double)average[e], want[n][e], 1e-6);
        const float *w = trial_tensor(&t, names[n], &count);
        const float *v = trial_tensor(&without, names[n], &count);
        ck_assert(!memcmp(w, v, (size_t)count * sizeof *w));
    }
    trial_close(&without);
    trial_close(&t);
}
END_TEST

/* The sections for averages give what a net with these weights would. */
START_TEST(averages_are_evaluated)
{
    tutti_step_options options = options_of(&tutti_update_sgd);
    options.average_decay = 0.9;
    trial t;
    trial_open(&t, plain, &options, 0);
    double loss = loss_of(&t);
    trial_run(&t, t.step->eval_average, images, labels, 0, 0);
    ck_assert_double_eq(trial_metric(&t, 0), loss); /* they begin as the weights */
    train(&t, 4, 0.05f);
    loss = loss_of(&t);
    trial_run(&t, t.step->eval_average, images, labels, 0, 0);
    double averaged = trial_metric(&t, 0);
    ck_assert_double_ne(averaged, loss);
    trial_run(&t, t.step->eval_average_again, images, labels, 0, 0);
    ck_assert_double_eq_tol(trial_metric(&t, 0), averaged, 1e-5);
    for (int i = 0; i < t.step->states; i++) {
        const char *name = tutti_graph_get_tensor(t.step->graph, t.step->state[i])->name;
        if (strncmp(name, "average.", 8)) continue;
        int64_t count;
        const float *average = trial_tensor(&t, name, &count);
        memcpy(trial_tensor(&t, name + 8, &count), average, (size_t)count * sizeof *average);
    }
    ck_assert_double_eq(loss_of(&t), averaged);
    trial_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updates");
    TCase *tcase = testing_case(suite, "updates");
    int rules = 0;
    while (tutti_update_rules[rules]) rules++;
    make_data();
    tcase_add_loop_test(tcase, every_rule_trains, 0, 2 * rules);
    tcase_add_test(tcase, rules_differ);
    tcase_add_test(tcase, rules_refuse_bad_options);
    tcase_add_test(tcase, factors_multiply_rate_and_decay);
    tcase_add_loop_test(tcase, bad_factors_are_refused, 0, 4);
    tcase_add_test(tcase, decay_may_be_for_weights_only);
    tcase_add_test(tcase, gradients_are_clipped);
    tcase_add_test(tcase, gradients_of_bf16_are_clipped);
    tcase_add_loop_test(tcase, clipping_bf16_keeps_what_is_short, 0, rules);
    tcase_add_loop_test(tcase, batches_are_summed_as_micro_batches, 0, 2 * rules);
    tcase_add_test(tcase, batches_with_dropout_are_summed);
    tcase_add_test(tcase, only_the_last_batch_has_marks);
    tcase_add_loop_test(tcase, weights_are_averaged, 0, 3);
    tcase_add_test(tcase, averages_are_evaluated);
    return testing_run(suite);
}
