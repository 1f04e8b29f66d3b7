#include "tests/step/nets.h"

#include <stdio.h>
#include <stdlib.h>

static const double SIDE_WEIGHT = 0.3;

void with_norm(tutti_net *net)
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

void with_residuals(tutti_net *net)
{
    const tutti_conv_layer same = {.K = 6, .R = 3, .pad = 1};
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_norm(net, "bn0", tutti_net_conv(net, "conv0", x, &same), 1);
    tutti_value y = tutti_net_norm(net, "bn1", tutti_net_conv(net, "conv1", x, &same), 0);
    tutti_value s = tutti_net_norm(net, "bn2", tutti_net_conv(net, "conv2", x, &same), 0);
    x = tutti_net_add(net, "both", y, s, 1);
    y = tutti_net_norm(net, "bn3", tutti_net_conv(net, "conv3", x, &same), 0);
    x = tutti_net_add(net, "second", x, y, 1);
    y = tutti_net_norm(net, "bn4", tutti_net_conv(net, "conv4", x, &same), 0);
    s = tutti_net_conv(net, "conv5", y, &same);
    x = tutti_net_add(net, "read", y, s, 1);
    y = tutti_net_norm(net, "bn6", tutti_net_conv(net, "conv6", x, &same), 0);
    x = tutti_net_add(net, "plain", y, x, 0);
    y = tutti_net_norm(net, "bn7", tutti_net_conv(net, "conv7", x, &same), 0);
    x = tutti_net_add(net, "last", y, x, 1);
    x = tutti_net_global_avg_pool(net, "pool", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

void without_norm(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1, .bias = 1});
    tutti_value y = tutti_net_conv(net, "conv2", x, &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1});
    y = tutti_net_add(net, "add", x, y, 1);
    y = tutti_net_dropout(net, "drop", y, 0.4f);
    y = tutti_net_global_avg_pool(net, "pool", y);
    tutti_net_output(net, tutti_net_dense(net, "fc", y, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

void with_branches(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS), part[3];
    tutti_value a = tutti_net_conv(net, "a", x, &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1});
    tutti_value b = tutti_net_conv(net, "b", x, &(tutti_conv_layer){.K = 3, .R = 1, .bias = 1});
    b = tutti_net_conv(net, "b2", b, &(tutti_conv_layer){.K = 5, .R = 5, .pad = 2});
    tutti_value p = tutti_net_max_pool(net, "p", x, 3, 1, 1);
    tutti_value y = tutti_net_concat(net, "join", 4, (tutti_value[]){a, x, b, p});
    y = tutti_net_norm(net, "bn", y, 1);
    tutti_net_split(net, "assign", y, 3, (const int64_t[]){6, 3, 6}, part);
    tutti_value c = tutti_net_add(net, "c", part[0], part[2], 0);
    tutti_value d = tutti_net_conv(net, "d", part[1], &(tutti_conv_layer){.K = 2, .R = 1});
    tutti_value e =
        tutti_net_conv(net, "e", part[1], &(tutti_conv_layer){.K = 6, .R = 3, .pad = 1});
    c = tutti_net_add(net, "ce", c, e, 0);
    y = tutti_net_concat(net, "again", 3, (tutti_value[]){d, c, part[1]});
    y = tutti_net_global_avg_pool(net, "pool", y);
    tutti_net_output(net, tutti_net_dense(net, "fc", y, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

void with_windows(tutti_net *net)
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

void with_auxiliaries(tutti_net *net)
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

data *make_data(void)
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

double mean_loss(trial *t, const data *d)
{
    trial_run(t, t->step->train, d->images, d->labels, 0, 1);
    return (trial_metric(t, 0) + auxiliary_loss(t)) / (double)t->options.batch;
}

int64_t add_gradients(const trial *t, double *sum)
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
