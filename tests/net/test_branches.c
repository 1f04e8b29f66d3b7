/* Layers with several inputs and several values: a net of branches, in training and evaluation, against the same net in
 * double precision. */
#include "tests/step/trial.h"

#include <math.h>
#include <stdio.h>

enum { SIDE = 3, PIXELS = SIDE * SIDE, CHANNELS = 3, BATCH = 5, CLASSES = 4 };
enum { A = 2, B = 4, JOINED = B + CHANNELS + A, FEATURES = 12 };
#define LIMIT 0.25

/* Two branches and the images side by side; three parts of that; one part goes on twice, once through a ReLU, and
 * one through a ReLU with a limit. */
static void build(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIDE, SIDE, CHANNELS), part[3];
    tutti_value a = tutti_net_conv(net, "a", x, &(tutti_conv_layer){.K = A, .R = 1, .bias = 1});
    tutti_value b = tutti_net_conv(net, "b", x, &(tutti_conv_layer){.K = B, .R = 1});
    tutti_value y = tutti_net_concat(net, "join", 3, (tutti_value[]){b, x, a});
    tutti_net_split(net, "assign", y, 3, (const int64_t[]){2, 3, 4}, part);
    tutti_value r = tutti_net_relu(net, "relu", part[1]);
    tutti_value l = tutti_net_clipped_relu(net, "clipped", part[0], LIMIT);
    y = tutti_net_concat(net, "again", 4, (tutti_value[]){part[2], r, l, part[1]});
    y = tutti_net_global_avg_pool(net, "pool", y);
    tutti_net_output(net, tutti_net_dense(net, "fc", y, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* The parameters, in the net's order. */
typedef struct weights {
    double a[A][CHANNELS], a_bias[A], b[B][CHANNELS], fc[CLASSES][FEATURES], fc_bias[CLASSES];
} weights;

static const struct {
    const char *name;
    int count;
} parameters[] = {{"a.weight", A *CHANNELS}, {"a.bias", A}, {"b.weight", B *CHANNELS},
    {"fc.weight", CLASSES *FEATURES}, {"fc.bias", CLASSES}};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

/* What one pixel adds to the features. */
static void see(const weights *w, const float *x, double features[FEATURES])
{
    double y[JOINED] = {0};
    for (int c = 0; c < CHANNELS; c++) {
        for (int k = 0; k < B; k++) y[k] += w->b[k][c] * (double)x[c];
        y[B + c] = (double)x[c];
        for (int k = 0; k < A; k++) y[B + CHANNELS + k] += w->a[k][c] * (double)x[c];
    }
    for (int k = 0; k < A; k++) y[B + CHANNELS + k] += w->a_bias[k];
    for (int c = 0; c < 4; c++) features[c] += y[5 + c] / PIXELS;
    for (int c = 0; c < 3; c++) features[4 + c] += fmax(y[2 + c], 0) / PIXELS;
    for (int c = 0; c < 2; c++) features[7 + c] += fmin(fmax(y[c], 0), LIMIT) / PIXELS;
    for (int c = 0; c < 3; c++) features[9 + c] += y[2 + c] / PIXELS;
}

static double mean_loss(const weights *w, const float *images, const int32_t *labels)
{
    double loss = 0;
    for (int n = 0; n < BATCH; n++) {
        double features[FEATURES] = {0}, logit[CLASSES], total = 0;
        for (int p = 0; p < PIXELS; p++) see(w, images + (n * PIXELS + p) * CHANNELS, features);
        for (int k = 0; k < CLASSES; k++) {
            logit[k] = w->fc_bias[k];
            for (int f = 0; f < FEATURES; f++) logit[k] += w->fc[k][f] * features[f];
            total += exp(logit[k]);
        }
        loss += log(total) - logit[labels[n]];
    }
    return loss / BATCH;
}

static weights read_weights(const trial *t)
{
    weights w;
    double *to = (double *)&w;
    for (int p = 0; p < PARAMETERS; p++) {
        int64_t count;
        const float *from = trial_tensor(t, parameters[p].name, &count);
        ck_assert_int_eq(count, parameters[p].count);
        for (int64_t e = 0; e < count; e++) *to++ = (double)from[e];
    }
    ck_assert_ptr_eq(to, (double *)(&w + 1));
    return w;
}

/* Every element of every gradient, against differences in double precision. */
static void check_gradients(const trial *t, weights *w, const float *images, const int32_t *labels)
{
    static const double h = 1e-5;
    double *at = (double *)w;
    for (int p = 0; p < PARAMETERS; p++) {
        char name[32];
        int64_t count;
        snprintf(name, sizeof name, "d.%s", parameters[p].name);
        const float *gradient = trial_tensor(t, name, &count);
        for (int64_t e = 0; e < count; e++, at++) {
            double old = *at;
            *at = old + h;
            double above = mean_loss(w, images, labels);
            *at = old - h;
            double slope = (above - mean_loss(w, images, labels)) / (2 * h);
            *at = old;
            ck_assert_msg(fabs((double)gradient[e] - slope) < 1e-6, "%s[%lld] is %.9g, not %.9g",
                name, (long long)e, (double)gradient[e], slope);
        }
    }
}

START_TEST(equals_double_precision)
{
    for (int micro_batches = 1; micro_batches <= 3; micro_batches++) {
        float images[BATCH * PIXELS * CHANNELS];
        int32_t labels[BATCH];
        const tutti_step_options options = {
            .batch = BATCH, .micro_batches = micro_batches, .seed = 12};
        trial t;
        trial_images(5, 0, BATCH * PIXELS * CHANNELS, images);
        trial_labels(5, 0, BATCH, CLASSES, labels);
        trial_open(&t, build, &options, 3);
        weights w = read_weights(&t);
        double loss = mean_loss(&w, images, labels);
        trial_run(&t, t.step->train, images, labels, 0, 1);
        ck_assert_double_eq_tol(trial_metric(&t, 0) / BATCH, loss, 1e-6);
        check_gradients(&t, &w, images, labels);
        trial_run(&t, t.step->eval, images, labels, 0, 0);
        ck_assert_double_eq_tol(trial_metric(&t, 0) / BATCH, loss, 1e-6);
        trial_close(&t);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("branches");
    TCase *tcase = testing_case(suite, "branches");
    tcase_add_test(tcase, equals_double_precision);
    return testing_run(suite);
}
