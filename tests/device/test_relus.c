/* On a GPU, kernels of convolutions and dense layers leave what the ReLU behind them would: it has no node and no value
 * of its own, and training and evaluation have the bits they have with it. A value that something else reads, too,
 * stays as it is. On the fake device. */
#include "apps/session/weights.h"
#include "dag/kernels/act.h"
#include "dag/kernels/loss.h"
#include "dag/net/layer.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, SIDE = 8, CHANNELS = 3, CLASSES = 3, STEPS = 3, MOST = 1 << 16 };
static const tutti_model_input input = {SIDE, SIDE, CHANNELS, CLASSES};
static const double timeout_s = 60;

/* conv1, conv3 and fc1 are read by ReLUs alone, conv2 by an addition, too. Apart: what they leave is dropped out, at a
 * rate of 0, before. */
static tutti_value behind(
    tutti_net *net, const char *relu, const char *name, tutti_value x, int apart)
{
    if (apart) x = tutti_net_dropout(net, name, x, 0);
    return tutti_net_relu(net, relu, x);
}

static void add_layers(tutti_net *net, const tutti_model_input *in, int apart)
{
    const tutti_conv_layer conv = {
        .K = 8, .R = 3, .pad = 1, .bias = 1, .init = TUTTI_INIT_HE_FAN_OUT};
    tutti_value x = tutti_net_input(net, in->H, in->W, in->C), y;
    x = behind(net, "relu1", "drop1", tutti_net_conv(net, "conv1", x, &conv), apart);
    x = tutti_net_conv(net, "conv2", x, &conv);
    y = tutti_net_add(net, "add", tutti_net_relu(net, "relu2", x), x, 0);
    y = behind(net, "relu3", "drop3", tutti_net_conv(net, "conv3", y, &conv), apart);
    y = tutti_net_max_pool(net, "pool", y, 2, 2, 0);
    y = tutti_net_dense(net, "fc1", y, 16, TUTTI_INIT_HE_FAN_IN);
    y = behind(net, "relu4", "drop4", y, apart);
    tutti_net_output(net, tutti_net_dense(net, "fc2", y, in->classes, TUTTI_INIT_UNIFORM_FAN_IN));
}

static void build(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    add_layers(net, &(tutti_model_input){H, W, C, classes}, 0);
}

static void build_apart(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    add_layers(net, &(tutti_model_input){H, W, C, classes}, 1);
}

static const tutti_model model = {.name = "relus", .build = build};
static const tutti_model model_apart = {.name = "apart", .build = build_apart};

/* What a session leaves. */
typedef struct result {
    int relus, tensors; /* nodes of forward ReLUs in training; tensors */
    size_t count;
    float weight[MOST];
    double metrics[TUTTI_METRICS];
} result;

static tutti_status collect(void *ctx, const tutti_tensor *tensor, void *data)
{
    result *r = ctx;
    const size_t count = tensor->bytes / sizeof *r->weight;
    ck_assert_uint_le(r->count + count, MOST);
    memcpy(r->weight + r->count, data, tensor->bytes);
    r->count += count;
    return TUTTI_OK;
}

static void count(const tutti_training_session *s, result *r)
{
    r->tensors = tutti_graph_tensors(s->graph);
    for (int n = 0; n < tutti_graph_nodes(s->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(s->graph, n);
        r->relus += node->op == &tutti_op_relu && node->section == s->step->train;
    }
}

static void train(tutti_training_session *s)
{
    static uint8_t images[BATCH * SIDE * SIDE * CHANNELS];
    static const int32_t labels[BATCH] = {0, 1, 2, 1};
    static const float rate = 0.05f;
    static const int64_t counter = 0;
    for (size_t i = 0; i < sizeof images; i++) images[i] = (uint8_t)(i * 37 % 251);
    ck_assert_ok(s->runner->feed(s->run, s->step->rate, &rate, sizeof rate, NULL, NULL));
    ck_assert_ok(s->runner->feed(s->run, s->step->counter, &counter, sizeof counter, NULL, NULL));
    ck_assert_ok(tutti_training_session_feed(s, 0, images, labels));
    for (int i = 0; i < STEPS; i++) ck_assert_ok(s->runner->submit(s->run, s->step->train));
    ck_assert_ok(tutti_training_session_feed(s, 1, images, labels));
    ck_assert_ok(s->runner->submit(s->run, s->step->eval));
}

static result *run(const tutti_model *of, const char *device)
{
    const tutti_training_session_options options = {.workers = 1, .device = device};
    const tutti_step_options recipe = {.batch = BATCH, .momentum = 0.9f, .seed = 5};
    tutti_training_session s;
    result *r = calloc(1, sizeof *r);
    ck_assert_ptr_nonnull(r);
    ck_assert_ok(tutti_training_session_open(&options, &s));
    ck_assert_ok(tutti_training_session_build(&s, of, &input, &recipe));
    ck_assert_ok(tutti_training_session_apply(&s));
    ck_assert_ok(tutti_training_session_start(&s));
    ck_assert_ok(tutti_training_session_init(&s));
    count(&s, r);
    train(&s);
    ck_assert_ok(
        s.runner->fetch(s.run, s.step->micro_batch[0].metrics, r->metrics, sizeof r->metrics));
    ck_assert_ok(s.runner->wait(s.run, 0, s.runner->point(s.run), timeout_s));
    ck_assert_ok(tutti_weights_walk(&s, tutti_weights_count(&s), TUTTI_READ, collect, r));
    ck_assert_ok(tutti_training_session_close(&s));
    return r;
}

START_TEST(they_have_the_bits_of_relus_apart)
{
    result *fused = run(&model, "cuda"), *apart = run(&model_apart, "cuda");
    ck_assert_int_eq(apart->relus, 4);
    ck_assert_int_eq(fused->relus, 1);
    ck_assert_uint_gt(fused->count, 0);
    ck_assert_uint_eq(fused->count, apart->count);
    ck_assert_int_eq(memcmp(fused->weight, apart->weight, apart->count * sizeof *apart->weight), 0);
    ck_assert(fused->metrics[0] > 0);
    ck_assert_int_eq(memcmp(fused->metrics, apart->metrics, sizeof apart->metrics), 0);
    free(fused);
    free(apart);
}
END_TEST

START_TEST(they_have_neither_a_node_nor_a_value)
{
    result *cpu = run(&model, "cpu"), *gpu = run(&model, "cuda");
    ck_assert_int_eq(cpu->relus, 4);
    ck_assert_int_eq(gpu->relus, 1);
    ck_assert_int_eq(cpu->tensors - gpu->tensors, 3);
    free(cpu);
    free(gpu);
}
END_TEST

START_TEST(only_a_relu_may_read_it)
{
    tutti_net *net;
    ck_assert_ok(tutti_model_net(&model, &input, &net));
    for (int l = 0; l < net->layers; l++) {
        const char *name = net->layer[l].name;
        const int does = !strcmp(name, "conv1") || !strcmp(name, "conv3") || !strcmp(name, "fc1");
        ck_assert_msg(tutti_net_rectifies(net, l) == does, "%s", name);
    }
    tutti_net_free(net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("relus");
    TCase *tests = testing_case(suite, "relus");
    tcase_add_test(tests, only_a_relu_may_read_it);
    tcase_add_test(tests, they_have_neither_a_node_nor_a_value);
    tcase_add_test(tests, they_have_the_bits_of_relus_apart);
    return testing_run(suite);
}
