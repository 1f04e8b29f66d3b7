/* Whole nets in bf16: gradients that travel in it, values that are computed in it. */
#include "dag/base/bf16.h"
#include "tests/step/nets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_wire(trial *t, const data *d, tutti_dtype wire, int micro_batches)
{
    const tutti_step_options options = {.batch = BATCH,
        .micro_batches = micro_batches,
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
    data *d = make_data();
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
    free(d);
}
END_TEST

static void open_half(trial *t, trial_net_fn *build, tutti_dtype precision, int micro_batches)
{
    const tutti_step_options options = {.batch = BATCH,
        .micro_batches = micro_batches,
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
    const int computes = testing_computes_bf16("values_of_bf16");
    data *d = make_data();
    for (int i = 0; i < 8 && computes; i++) {
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
    free(d);
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
    if (!testing_computes_bf16("averages_are_evaluated")) return;
    data *d = make_data();
    const tutti_step_options options = {.batch = BATCH,
        .micro_batches = 2,
        .precision = TUTTI_BF16,
        .average_decay = 0.9,
        .seed = 2};
    trial t;
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
    free(d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step bf16");
    TCase *tcase = testing_case(suite, "bf16");
    tcase_add_test(tcase, bf16_gradients_are_rounded_once);
    tcase_add_test(tcase, values_of_bf16);
    tcase_add_test(tcase, averages_are_evaluated_in_bf16);
    return testing_run(suite);
}
