/* Evaluation of whole nets: what counts, what is left out, several views, another size. */
#include "tests/step/nets.h"

#include <stdlib.h>
#include <string.h>

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
    data *d = make_data();
    const int types = 1 + testing_computes_bf16("auxiliary_outputs_are_for_training");
    for (int half = 0; half < types; half++) {
        const tutti_step_options options = {.batch = BATCH,
            .micro_batches = 2,
            .accumulate = 2,
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
    free(d);
}
END_TEST

/* Rows with label -1 do not count, neither in the metrics nor in the gradient. */
START_TEST(padded_rows_do_not_count)
{
    data *d = make_data();
    for (int i = BATCH - 2; i < BATCH; i++) d->labels[i] = -1;
    tutti_step_options options = {.batch = BATCH, .micro_batches = 2, .seed = 5};
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
    data *d = make_data();
    tutti_step_options options = {.batch = BATCH, .micro_batches = 2, .seed = 5};
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

/* With norms, of which one is added, and dropout. */
static void of_side(tutti_net *net, int64_t side)
{
    tutti_value x = tutti_net_input(net, side, side, 3);
    x = tutti_net_conv(net, "conv", x,
        &(tutti_conv_layer){.K = 8, .R = 3, .stride = 2, .pad = 1, .init = TUTTI_INIT_HE_FAN_IN});
    x = tutti_net_norm(net, "norm", x, 1);
    tutti_value y = tutti_net_conv(net, "more", x, &(tutti_conv_layer){.K = 8, .R = 3, .pad = 1});
    y = tutti_net_norm(net, "added", y, 0);
    x = tutti_net_add(net, "sum", y, x, 1);
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
    tutti_step_options options = {
        .batch = 5, .micro_batches = 2, .momentum = 0.9f, .average_decay = 0.5, .seed = 9};
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
    options.adds_norms = 1;
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

int main(void)
{
    Suite *suite = suite_create("step evaluation");
    TCase *tcase = testing_case(suite, "evaluation");
    tcase_add_test(tcase, auxiliary_outputs_are_for_training);
    tcase_add_test(tcase, padded_rows_do_not_count);
    tcase_add_test(tcase, two_views_are_averaged);
    tcase_add_test(tcase, another_size_is_evaluated);
    return testing_run(suite);
}
