/* The models for ImageNet, but for resnet50 and vgg16 (test_large.c), forward, backward and an update,
 * against PyTorch in double precision (tests/golden/net/make_models.py) and finite
 * differences, on small images in 10 classes.
 *
 * The forward pass agrees to rounding, on any instruction set. Backward, a ReLU or a maximum whose inputs
 * differ by rounding alone may pick the other side, and one such flip among the 16384 values of a layer
 * moves single gradients in front of it by a hundredth of their size; untrained residual networks amplify
 * that. Each tolerance is two to three times the largest error in eight runs: with SSE4.1, AVX and AVX2, and with
 * the last bit of the images changed at random. */
#include "apps/models/model.h"
#include "tests/models/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED = 20, BATCH = 4, CLASSES = 10 };

typedef struct row {
    const char *name;
    int size;
    float rate;
    const char *logits;
    double forward, backward; /* tolerances of the first pass; of gradients and the next loss */
} row;

static const row rows[] = {
    {"resnet18", 64, 1e-3f, "fc@0", 0.0001, 0.2},
    {"resnet34", 64, 1e-4f, "fc@0", 0.0001, 0.12},
    {"resnet101", 64, 1e-5f, "fc@0", 0.003, 0.5},
    {"resnet152", 64, 1e-5f, "fc@0", 0.01, 0.7},
    {"resnext50-32x4d", 64, 1e-5f, "fc@0", 0.0005, 0.4},
    {"alexnet", 67, 1e-2f, "fc8@0", 2e-5, 0.03},
    {"alexnet-tv", 64, 1e-2f, "classifier.6@0", 2e-5, 0.03},
    {"vgg11-224", 32, 1e-2f, "fc3@0", 2e-5, 0.03},
    {"vgg13-224", 32, 1e-2f, "fc3@0", 2e-5, 0.03},
    {"vgg19-224", 32, 1e-2f, "fc3@0", 2e-5, 0.1},
    {"vgg11-bn-224", 64, 1e-2f, "fc3@0", 0.0001, 0.06},
    {"vgg16-bn-224", 64, 1e-2f, "fc3@0", 0.0001, 0.1},
    {"vgg19-bn-224", 64, 1e-2f, "fc3@0", 0.0002, 0.2},
    {"googlenet", 96, 1e-3f, "fc@0", 2e-5, 0.03},
    {"googlenet-bn", 64, 1e-3f, "fc@0", 0.0004, 0.2},
    {"mobilenet-v1", 64, 1e-3f, "fc@0", 0.0002, 0.06},
    {"overfeat-fast", 71, 1e-2f, "fc8@0", 2e-5, 0.03},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int which; /* of the rows: trial_net_fn has no argument for it */

static void build(tutti_net *net)
{
    const row *r = &rows[which];
    tutti_model_find(r->name)->build(net, r->size, r->size, 3, CLASSES);
}

/* The i-th model with its batch. */
typedef struct data {
    trial t;
    float *images;
    int32_t labels[BATCH];
} data;

static void open_data(data *d, int i)
{
    const int64_t count = (int64_t)BATCH * rows[i].size * rows[i].size * 3;
    const tutti_step_options options = {
        .batch = BATCH, .micro_batches = 1, .momentum = 0.9f, .weight_decay = 1e-4f, .seed = SEED};
    d->images = malloc((size_t)count * sizeof *d->images);
    ck_assert_ptr_nonnull(d->images);
    trial_images(SEED, 0, count, d->images);
    trial_labels(SEED, 0, BATCH, CLASSES, d->labels);
    which = i;
    trial_open(&d->t, build, &options, 0);
}

static void close_data(data *d)
{
    trial_close(&d->t);
    free(d->images);
}

START_TEST(two_steps)
{
    const row *r = &rows[_i];
    char file[64];
    snprintf(file, sizeof file, "tests/golden/net/%s.txt", r->name);
    const golden g = {file, r->forward}, later = {file, r->backward};
    data d;
    open_data(&d, _i);
    trial_run(&d.t, d.t.step->train, d.images, d.labels, r->rate, 0);
    golden_check_loss(&g, &d.t, "loss", "0");
    golden_check_logits(&g, &d.t, r->logits, "train");
    int zeros = golden_check_zeros(&g, &d.t, "zero", "d.");
    golden_check_tensors(&later, &d.t, "gradient", "d.", d.t.step->parameters - zeros);
    trial_run(&d.t, d.t.step->train, d.images, d.labels, r->rate, 1);
    golden_check_loss(&later, &d.t, "loss", "1");
    close_data(&d);
}
END_TEST

/* What is trained: the mean loss, and 0.3 of each of googlenet's auxiliary ones (with
 * a learning rate of 0 no weight changes). */
static double objective(data *d)
{
    static const char *const sides[] = {"aux1.fc2.metrics@0", "aux2.fc2.metrics@0"};
    trial_run(&d->t, d->t.step->train, d->images, d->labels, 0, 0);
    double loss = trial_metric(&d->t, 0);
    for (int i = 0; i < 2; i++) {
        int64_t count;
        if (tutti_graph_find(d->t.step->graph, sides[i]) >= 0)
            loss += 0.3 * *(const double *)(const void *)trial_tensor(&d->t, sides[i], &count);
    }
    return loss / BATCH;
}

/* w = from + factor * g, all parameters one behind the other; with `copy`, from and g are first copied
 * from the run. Returns the sum of g * w, of the weights as they are after rounding. */
static double each_parameter(const data *d, float *from, float *g, int copy, double factor)
{
    double along = 0;
    const tutti_graph *graph = d->t.step->graph;
    for (int i = 0; i < d->t.step->parameters; i++) {
        char name[80];
        int64_t count;
        const char *parameter = tutti_graph_get_tensor(graph, d->t.step->parameter[i])->name;
        snprintf(name, sizeof name, "d.%s", parameter);
        const float *gradient = trial_tensor(&d->t, name, &count);
        float *w = trial_tensor(&d->t, parameter, &count);
        for (int64_t e = 0; e < count; e++, from++, g++) {
            if (copy) {
                *from = w[e];
                *g = gradient[e];
            }
            w[e] = (float)((double)*from + factor * (double)*g);
            along += (double)*g * (double)w[e];
        }
    }
    return along;
}

/* Along the gradient, the loss of every model changes as the gradient says. The step is meant to change
 * it by a five-hundredth of its size; much of it is lost where weights are rounded, in deep networks. */
START_TEST(slope_along_the_gradient)
{
    if (testing_fewer()) return; /* as exact with any instructions: two_steps compares them */
    data d;
    open_data(&d, _i);
    const size_t count = (size_t)tutti_net_parameters(d.t.net);
    float *from = malloc(2 * count * sizeof *from), *g = from + count;
    ck_assert_ptr_nonnull(from);
    double loss[2], along[2], square = 0, size = 1 + objective(&d);
    each_parameter(&d, from, g, 1, 0);
    for (size_t e = 0; e < count; e++) square += (double)g[e] * (double)g[e];
    for (int side = 0; side < 2; side++) {
        along[side] = each_parameter(&d, from, g, 0, (side ? 1e-3 : -1e-3) * size / square);
        loss[side] = objective(&d);
    }
    const double change = loss[1] - loss[0], expected = along[1] - along[0];
    ck_assert_msg(fabs(change - expected) < 0.03 * expected, "%s: the loss changes by %g, not %g",
        rows[_i].name, change, expected);
    free(from);
    close_data(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("models for ImageNet");
    TCase *tcase = testing_case(suite, "two steps");
    tcase_add_loop_test(tcase, two_steps, 0, ROWS);
    tcase = testing_case(suite, "slopes");
    tcase_add_loop_test(tcase, slope_along_the_gradient, 0, ROWS);
    return testing_run(suite);
}
