/* apps/architecture/onnx: every model that is exported as ONNX is read as the same layers; what PyTorch's exporter
 * writes is read; what has no layers is refused with its node; no file does harm. */
#include "apps/architecture/architecture.h"
#include "apps/architecture/onnx.h"
#include "apps/export/onnx_nodes.h"
#include "apps/train/torch.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/net/layer.h"
#include "tests/architecture/onnx_hand.h"
#include "tests/support/testing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUTATIONS = 6000, NAME = 96 };

/* ---- files without weights ---- */

static void add_tensor(tutti_protobuf *graph, const char *name, int rank, const int64_t dim[])
{
    tutti_protobuf tensor = {0};
    for (int d = 0; d < rank; d++) tutti_protobuf_number(&tensor, TENSOR_DIMS, dim[d]);
    tutti_protobuf_number(&tensor, TENSOR_TYPE, FLOAT);
    tutti_protobuf_text(&tensor, TENSOR_NAME, name);
    tutti_protobuf_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void add_parameter(tutti_protobuf *proto, const tutti_net *net, tutti_graph *graph,
    const tutti_layer *layer, const char *suffix, tutti_shape shape, int needed)
{
    char name[NAME];
    int number;
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    snprintf(name, sizeof name, "%s.%s", layer->name, suffix);
    ck_assert_ok(tutti_graph_tensor(graph, name, TUTTI_ROLE_PARAMETER, TUTTI_F32, shape, &number));
    const int parts =
        tutti_torch_describe(net, "own", tutti_graph_get_tensor(graph, number), name, part);
    for (int p = 0; needed && p < parts; p++)
        add_tensor(proto, part[p].name, part[p].rank, part[p].dim);
}

static void add_parameters(
    tutti_protobuf *proto, const tutti_net *net, tutti_graph *graph, const char *needed)
{
    for (int l = 0; l < net->layers; l++) {
        const tutti_layer *layer = &net->layer[l];
        tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
        const int n = layer->kind->parameters ? layer->kind->parameters(layer, parameter) : 0;
        const int write = needed ? needed[l] : 0;
        for (int p = 0; p < n; p++)
            add_parameter(proto, net, graph, layer, parameter[p].suffix, parameter[p].shape, write);
        if (layer->kind->statistics)
            add_parameter(proto, net, graph, layer, "running", parameter[0].shape, write);
    }
}

/* As tutti-export writes it, but for the numbers of the weights. */
static tutti_protobuf export_net(const tutti_net *net, const tutti_model_input *in, char *needed)
{
    tutti_protobuf graph = {0}, model = {0}, none = {0};
    tutti_graph *tensors, *again;
    ck_assert_ok(tutti_graph_new(&tensors));
    ck_assert_ok(tutti_graph_new(&again));
    add_parameters(&none, net, tensors, NULL);
    const tutti_training_session session = {.net = (tutti_net *)net, .graph = tensors};
    onnx_hand_add_value(&graph, GRAPH_INPUT, "images", 4, (int64_t[]){0, in->C, in->H, in->W});
    onnx_hand_add_value(&graph, GRAPH_OUTPUT, "logits", 2, (int64_t[]){0, in->classes});
    ck_assert_ok(tutti_onnx_nodes(&session, "own", needed, &graph));
    add_parameters(&graph, net, again, needed);
    tutti_protobuf_message(&model, MODEL_GRAPH, &graph);
    ck_assert_int_eq(model.failed, 0);
    tutti_graph_free(tensors);
    tutti_graph_free(again);
    return model;
}

/* ---- what ONNX holds ---- */

static const json_t *without_dropout(const json_t *dropped, const json_t *name)
{
    const json_t *before;
    while ((before = json_object_get(dropped, json_string_value(name)))) name = before;
    return name;
}

/* The names of what a layer reads. */
static json_t *inputs_of(const json_t *layer, const char *before, const json_t *dropped)
{
    const json_t *of = json_object_get(layer, "of");
    json_t *names = json_array(),
           *given = of && json_is_array(of) ? json_deep_copy(of) : json_array();
    if (!of) json_array_append_new(given, json_string(before));
    if (json_is_string(of)) json_array_append_new(given, json_deep_copy(of));
    for (size_t i = 0; i < json_array_size(given); i++)
        json_array_append_new(
            names, json_deep_copy(without_dropout(dropped, json_array_get(given, i))));
    json_decref(given);
    return names;
}

static int is_needed(const tutti_net *net, const char *needed, const char *layer)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s.weight", layer);
    const int l = tutti_torch_layer(net, name);
    ck_assert_int_ge(l, 0);
    return !needed || needed[l];
}

/* The layers of a network without what ONNX does not hold, each with the names of what it reads. */
static json_t *read_layers(const tutti_model *model, const tutti_net *net, const char *needed)
{
    static const char *const lost[] = {"init", "last", "ceiling"};
    char *text = NULL;
    const char *before = "input";
    size_t bytes, l;
    FILE *out = open_memstream(&text, &bytes);
    ck_assert_ok(tutti_architecture_print(model, out));
    fclose(out);
    json_t *all = json_loads(text, 0, NULL), *kept = json_array(), *dropped = json_object(), *layer;
    json_array_foreach(json_object_get(all, "layers"), l, layer)
    {
        const char *is = json_string_value(json_object_get(layer, "is")),
                   *name = json_string_value(json_object_get(layer, "name"));
        if (!name) continue; /* auxiliary or scale */
        json_t *of = inputs_of(layer, before, dropped);
        before = name;
        if (strcmp(is, "dropout") == 0) {
            json_object_set(dropped, name, json_array_get(of, 0));
        } else if (is_needed(net, needed, name)) {
            json_t *copy = json_deep_copy(layer);
            for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) json_object_del(copy, lost[i]);
            json_object_set(copy, "of", of);
            json_array_append_new(kept, copy);
        }
        json_decref(of);
    }
    json_decref(all);
    json_decref(dropped);
    free(text);
    return kept;
}

static void expect_extents(const char *model, const tutti_net *a, const tutti_net *b)
{
    for (int l = 0; l < b->layers; l++) {
        char name[NAME];
        snprintf(name, sizeof name, "%s.weight", b->layer[l].name);
        const tutti_layer *same = &a->layer[tutti_torch_layer(a, name)], *layer = &b->layer[l];
        for (int o = 0; o < layer->outputs; o++)
            ck_assert_msg(same->out[o].H == layer->out[o].H && same->out[o].W == layer->out[o].W &&
                              same->out[o].C == layer->out[o].C,
                "%s: layer %s has another size", model, layer->name);
    }
}

START_TEST(models_come_back)
{
    for (int i = 0; tutti_models[i]; i++) {
        const tutti_model *model = tutti_models[i], *read;
        tutti_net *net, *again;
        char *text;
        ck_assert_ok(tutti_model_net(model, &model->input, &net));
        char *needed = calloc((size_t)net->layers, 1);
        tutti_protobuf file = export_net(net, &model->input, needed);
        ck_assert_ok(tutti_architecture_from_onnx("own.onnx", file.data, file.size, &text));
        ck_assert_ok(tutti_architecture_parse("own.onnx", text, &read));
        ck_assert_ok(tutti_model_net(read, &read->input, &again));
        json_t *a = read_layers(model, net, needed), *b = read_layers(read, again, NULL);
        for (size_t l = 0; l < json_array_size(a) || l < json_array_size(b); l++) {
            char *wanted = json_dumps(json_array_get(a, l), JSON_SORT_KEYS),
                 *is = json_dumps(json_array_get(b, l), JSON_SORT_KEYS);
            ck_assert_msg(wanted && is && strcmp(wanted, is) == 0, "%s: layer %zu is %s, not %s",
                model->name, l, is ? is : "none", wanted ? wanted : "none");
            free(wanted);
            free(is);
        }
        expect_extents(model->name, net, again);
        ck_assert_int_eq(read->input.H, model->input.H);
        ck_assert_int_eq(read->input.W, model->input.W);
        ck_assert_int_eq(read->input.C, model->input.C);
        ck_assert_int_eq(read->input.classes, model->input.classes);
        json_decref(a);
        json_decref(b);
        tutti_protobuf_free(&file);
        tutti_net_free(net);
        tutti_net_free(again);
        free(needed);
        free(text);
    }
}
END_TEST

/* ---- nodes by hand ---- */

static void add_integers(tutti_protobuf *graph, const char *name, int count, const int64_t number[])
{
    tutti_protobuf tensor = {0};
    tutti_protobuf_number(&tensor, TENSOR_DIMS, count);
    tutti_protobuf_number(&tensor, TENSOR_TYPE, INT64);
    tutti_protobuf_text(&tensor, TENSOR_NAME, name);
    for (int i = 0; i < count; i++) tutti_protobuf_number(&tensor, TENSOR_INTS, number[i]);
    tutti_protobuf_message(graph, GRAPH_INITIALIZER, &tensor);
}

static tutti_protobuf make(const onnx_hand_node node[], int nodes)
{
    tutti_protobuf graph = {0}, model = {0};
    for (int n = 0; n < nodes; n++) onnx_hand_add_node(&graph, &node[n]);
    onnx_hand_add_value(&graph, GRAPH_INPUT, "x", 4, (int64_t[]){0, 3, 8, 8});
    onnx_hand_add_value(&graph, GRAPH_OUTPUT, "y", 2, (int64_t[]){0, 10});
    add_tensor(&graph, "c.weight", 4, (int64_t[]){4, 3, 3, 3});
    add_tensor(&graph, "ten.weight", 4, (int64_t[]){10, 3, 1, 1});
    add_tensor(&graph, "c.bias", 1, (int64_t[]){4});
    add_tensor(&graph, "onnx::Conv_7", 4, (int64_t[]){4, 3, 3, 3});
    add_tensor(&graph, "bn.bias", 1, (int64_t[]){4});
    add_tensor(&graph, "bn.weight", 1, (int64_t[]){4});
    add_tensor(&graph, "wide.weight", 1, (int64_t[]){5});
    add_tensor(&graph, "onnx::MatMul_9", 2, (int64_t[]){4, 10});
    add_tensor(&graph, "head.bias", 1, (int64_t[]){10});
    add_tensor(&graph, "g.weight", 2, (int64_t[]){10, 4});
    add_tensor(&graph, "many.weight", 2, (int64_t[]){10, 54});
    add_integers(&graph, "shape", 2, (int64_t[]){1, 4});
    tutti_protobuf zero = {0};
    tutti_protobuf_number(&zero, TENSOR_TYPE, FLOAT);
    tutti_protobuf_float(&zero, TENSOR_FLOATS, 0);
    tutti_protobuf_text(&zero, TENSOR_NAME, "zero");
    tutti_protobuf_message(&graph, GRAPH_INITIALIZER, &zero);
    add_integers(&graph, "three", 1, (int64_t[]){3});
    tutti_protobuf_message(&model, MODEL_GRAPH, &graph);
    return model;
}

#define MEAN                                                                                       \
    {                                                                                              \
        "ReduceMean", {"conv"}, "mean", "axes", 2,                                                 \
        {                                                                                          \
            -2, -1                                                                                 \
        }                                                                                          \
    }
#define FLAT                                                                                       \
    {                                                                                              \
        "Reshape", {"mean", "shape"}, "flat"                                                       \
    }

START_TEST(others_are_read)
{
    const onnx_hand_node nodes[] = {CONV, {"Identity", {"bn.weight"}, "bn2.weight"},
        {"BatchNormalization", {"conv", "bn2.weight", "bn.bias"}, "norm"},
        {"Clip", {"norm"}, "nobody reads it"}, {"Relu", {"norm"}, "relu"},
        {"MaxPool", {"relu"}, "pool", "kernel_shape", 2, {2, 2}},
        {"ReduceMean", {"pool"}, "mean", "axes", 2, {-2, -1}}, FLAT, {"Dropout", {"flat"}, "drop"},
        {"MatMul", {"drop", "onnx::MatMul_9"}, "product"}, {"Add", {"head.bias", "product"}, "sum"},
        {"Softmax", {"sum"}, "y"}};
    tutti_protobuf file = make(nodes, sizeof nodes / sizeof *nodes);
    const tutti_model *model;
    char *text;
    ck_assert_ok(tutti_architecture_from_onnx("a.onnx", file.data, file.size, &text));
    ck_assert_str_eq(text,
        "{\"input\":{\"height\":8,\"width\":8,\"channels\":3,\"classes\":10},\"layers\":["
        "{\"is\":\"conv\",\"name\":\"c\",\"filters\":4,\"window\":3,\"stride\":2,\"bias\":true},"
        "{\"is\":\"norm\",\"name\":\"bn2\",\"relu\":true},"
        "{\"is\":\"max-pool\",\"name\":\"pool\",\"window\":2},"
        "{\"is\":\"global-avg-pool\",\"name\":\"mean\"},"
        "{\"is\":\"dropout\",\"name\":\"drop\",\"rate\":0.5},"
        "{\"is\":\"dense\",\"name\":\"head\",\"features\":\"classes\"}]}");
    ck_assert_ok(tutti_architecture_parse("a.onnx", text, &model));
    free(text);
    tutti_protobuf_free(&file);
}
END_TEST

START_TEST(last_convolution_has_the_classes)
{
    const onnx_hand_node nodes[] = {{"Conv", {"x", "ten.weight"}, "conv"},
        {"Relu", {"conv"}, "relu"}, {"GlobalAveragePool", {"relu"}, "mean"},
        {"Flatten", {"mean"}, "y"}};
    tutti_protobuf file = make(nodes, sizeof nodes / sizeof *nodes);
    char *text;
    ck_assert_ok(tutti_architecture_from_onnx("a.onnx", file.data, file.size, &text));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"ten\",\"filters\":\"classes\","));
    free(text);
    tutti_protobuf_free(&file);
}
END_TEST

/* As PyTorch writes it with dynamo=True, optimize=False. */
START_TEST(constants_are_computed)
{
    const onnx_hand_node nodes[] = {{"Shape", {"c.weight"}, "s"}, {"CastLike", {"zero", "x"}, "z"},
        {"Expand", {"z", "s"}, "zeros"},
        {"Conv", {"x", "c.weight", "zeros"}, "conv", "strides", 2, {2, 2}},
        {"Constant", {NULL}, "axes", "value_ints", 2, {-1, -2}},
        {"Constant", {NULL}, "minus", "value_ints", 1, {-1}},
        {"Reshape", {"axes", "minus"}, "same"}, {"ReduceMean", {"conv", "same"}, "mean"},
        {"Constant", {NULL}, "two", "value_ints", 1, {2}}, {"Concat", {"two", "minus"}, "to"},
        {"Reshape", {"mean", "to"}, "flat"},
        {"Gemm", {"flat", "g.weight", "head.bias"}, "y", "transB", 0, {1}}};
    tutti_protobuf file = make(nodes, sizeof nodes / sizeof *nodes);
    char *text;
    ck_assert_ok(tutti_architecture_from_onnx("a.onnx", file.data, file.size, &text));
    ck_assert_ptr_nonnull(strstr(text,
        "{\"is\":\"conv\",\"name\":\"c\",\"filters\":4,\"window\":3,\"stride\":2},"
        "{\"is\":\"global-avg-pool\",\"name\":\"mean\"},{\"is\":\"dense\",\"name\":\"g\","));
    free(text);
    tutti_protobuf_free(&file);
}
END_TEST

START_TEST(many_are_joined)
{
    enum { MANY = 18 };
    static const char names[] = "abcdefghijklmnopqr";
    char name[MANY][2], *text;
    onnx_hand_node nodes[MANY + 4] = {0};
    onnx_hand_node *join = &nodes[MANY];
    *join = (onnx_hand_node){"Concat", {NULL}, "cat"};
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "%c", names[i]);
        nodes[i] = (onnx_hand_node){"Relu", {"x"}, name[i]};
        join->in[i] = name[i];
    }
    nodes[MANY + 1] = (onnx_hand_node){"GlobalAveragePool", {"cat"}, "mean"};
    nodes[MANY + 2] = (onnx_hand_node){"Flatten", {"mean"}, "flat"};
    nodes[MANY + 3] =
        (onnx_hand_node){"Gemm", {"flat", "many.weight", "head.bias"}, "y", "transB", 0, {1}};
    tutti_protobuf file = make(nodes, MANY + 4);
    const tutti_model *model;
    ck_assert_ok(tutti_architecture_from_onnx("a.onnx", file.data, file.size, &text));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"cat/18\",\"of\":[\"a\",\"b\","));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"cat\",\"of\":[\"cat/18\",\"q\",\"r\"]"));
    ck_assert_ok(tutti_architecture_parse("a.onnx", text, &model));
    free(text);
    tutti_protobuf_free(&file);
}
END_TEST

#define HEAD                                                                                       \
    MEAN, FLAT,                                                                                    \
    {                                                                                              \
        "Gemm", {"flat", "g.weight", "head.bias"}, "y", "transB", 0,                               \
        {                                                                                          \
            1                                                                                      \
        }                                                                                          \
    }
#define CONV_OF(weights, bias, attribute, ...)                                                     \
    {                                                                                              \
        "Conv", {"x", weights, bias}, "conv", attribute, __VA_ARGS__                               \
    }

#define SIX                                                                                        \
    {                                                                                              \
        "Constant", {NULL}, "six", "value_float", .real = 6                                        \
    }

/* A norm whose value others read, too, keeps it: the ReLU is a layer. */
START_TEST(settings_are_read)
{
    static const char *const wanted[] = {"\"name\":\"lrn\",\"size\":0,\"k\":2.0}",
        "\"name\":\"bn\",\"eps\":0.001}", "{\"is\":\"relu\",\"name\":\"relu\"}",
        "{\"is\":\"relu\",\"name\":\"clip\",\"limit\":6.0}",
        "\"name\":\"sum\",\"of\":[\"bn\",\"clip\"]}",
        "{\"is\":\"norm\",\"name\":\"second\",\"relu\":true,\"limit\":6.0}"};
    const onnx_hand_node nodes[] = {{"Conv", {"x", "c.weight"}, "images", "strides", 2, {2, 2}},
        {"LRN", {"images"}, "lrn", "bias", .real = 2},
        {"BatchNormalization", {"lrn", "bn.weight", "bn.bias"}, "norm", "epsilon", .real = 0.001f},
        {"Relu", {"norm"}, "relu"}, SIX, {"Clip", {"relu", "zero", "six"}, "clip"},
        {"Add", {"norm", "clip"}, "sum"},
        {"BatchNormalization", {"sum", "c.bias", "bn.bias"}, "second"},
        {"Clip", {"second", "zero", "six"}, "conv"}, HEAD};
    tutti_protobuf file = make(nodes, sizeof nodes / sizeof *nodes);
    char *text;
    ck_assert_ok(tutti_architecture_from_onnx("a.onnx", file.data, file.size, &text));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(strstr(text, wanted[i]), "no %s: %s", wanted[i], text);
    free(text);
    tutti_protobuf_free(&file);
}
END_TEST

static const struct {
    onnx_hand_node node[6];
    const char *told;
} refused[] = {
    {{CONV, HEAD}, NULL},
    {{CONV, {"HardSwish", {"conv"}, "act"}, {"Flatten", {"act"}, "y"}},
        "node act (HardSwish): there is no layer of this operator (there are of Add, "},
    {{CONV, {"Clip", {"conv", "zero"}, "act"}, {"GlobalAveragePool", {"act"}, "mean"}, FLAT,
         {"Gemm", {"flat", "g.weight", "head.bias"}, "y", "transB", 0, {1}}},
        NULL},
    {{CONV, {"Clip", {"conv"}, "y"}}, "node y (Clip): it clips to -inf .. inf, and the only"},
    {{CONV, {"Clip", {"conv", "zero", "zero"}, "y"}},
        "node y (Clip): it clips to 0 .. 0, and the only layer that clips is ReLU"},
    {{CONV, SIX, {"Clip", {"conv", "six"}, "y"}}, "node y (Clip): it clips to 6 .. inf, and"},
    {{CONV, {"Clip", {"conv", "zero", "conv"}, "y"}}, "node y (Clip): it clips to 0 .. "},
    {{CONV_OF("onnx::Conv_7", "c.bias", "group", 0, {1}), HEAD},
        "node conv (Conv): its weights \"onnx::Conv_7\" are those of a convolution and a batch"},
    {{CONV_OF("c.weight", "bn.bias", "group", 0, {1}), HEAD}, "are those of a convolution and a"},
    {{CONV_OF("c.weight", "c.bias", "group", 0, {2}), HEAD}, "3 channels in 2 groups"},
    {{CONV_OF("c.weight", "c.bias", "pads", 4, {1, 1, 0, 0}), HEAD}, "\"pads\" must be equal"},
    {{CONV_OF("c.weight", "c.bias", "pads", 2, {1, 1}), HEAD}, "\"pads\" must have 4 numbers"},
    {{CONV_OF("c.weight", "c.bias", "dilations", 2, {2, 2}), HEAD}, "\"dilations\" must be 1"},
    {{CONV_OF("c.weight", "c.bias", "strides", 2, {0, 1}), HEAD}, "\"strides\" has 0"},
    {{CONV_OF("none", "c.bias", "group", 0, {1}), HEAD}, "weights with 4 axes"},
    {{CONV, {"BatchNormalization", {"conv", "wide.weight"}, "n"}, {"Flatten", {"n"}, "y"}},
        "node n (BatchNormalization): it normalises 5 channels, and there are 4"},
    {{CONV, {"Add", {"conv", "c.bias"}, "y"}}, "reads the constant \"c.bias\""},
    {{CONV, {"Add", {"conv", "x"}, "y"}}, "its inputs have other shapes"},
    {{CONV, {"MaxPool", {"conv"}, "y", "kernel_shape", 2, {2, 3}}}, "must be square"},
    {{CONV, {"Relu", {"later"}, "y"}}, "reads \"later\", which no node before it makes"},
    {{{"Conv", {"x", "c.weight"}, "getitem_3"}, {"Flatten", {"getitem_3"}, "y"}},
        "node getitem_3 (Conv): its weights"},
    {{CONV, {"Split", {"conv", "three"}, "y", "axis", 0, {1}}},
        "its parts do not have all 4 channels"},
    {{CONV, {"Softmax", {"conv"}, "s"}, {"Flatten", {"s"}, "y"}}, "it must be the last node"},
    {{CONV, {"Pad", {"conv"}, "y", "pads", 8, {0, 0, 1, 1, 0, 0, 1, 1}}}, "only zero channels"},
    {{CONV, MEAN, FLAT, {"MatMul", {"flat", "onnx::MatMul_9"}, "y"}}, "no addition of a bias"},
    {{CONV, MEAN, {"Gemm", {"mean", "g.weight", "head.bias"}, "y", "transB", 0, {1}}},
        "an image that is not flattened"},
    {{CONV, MEAN, {"Split", {"mean"}, "y", "axis", 0, {2}}}, "it must split channels"},
    {{CONV, {"Flatten", {"conv"}, "f"}, {"Add", {"f", "f"}, "y"}},
        "only a dense layer can read it"},
    {{CONV, {"Relu", {"conv"}, "z"}}, "no layer makes the output \"y\""},
    {{CONV, {"Relu", {"conv"}, "y"}}, "the output \"y\" must be (N,classes)"},
};

START_TEST(nodes_are_told)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int nodes = 0;
        char *text;
        while (nodes < 6 && refused[i].node[nodes].op) nodes++;
        tutti_protobuf file = make(refused[i].node, nodes);
        tutti_log_set_level(TUTTI_LOG_NONE);
        const tutti_status status =
            tutti_architecture_from_onnx("a.onnx", file.data, file.size, &text);
        tutti_log_set_level(TUTTI_LOG_INFO);
        const char *told = status ? tutti_last_error() : "";
        if (!refused[i].told)
            ck_assert_ok(status);
        else
            ck_assert_msg(status == TUTTI_ERR_FORMAT && strstr(told, "a.onnx: ") &&
                              strstr(told, refused[i].told),
                "case %zu: status %d, \"%s\" and not \"%s\"", i, (int)status, told,
                refused[i].told);
        free(text);
        tutti_protobuf_free(&file);
    }
}
END_TEST

/* Networks with all kinds of layers, cut off or changed in a few places: each is a network, or is refused. */
START_TEST(no_file_does_harm)
{
    static const char *const names[] = {"resnet8", "cifar-quick", "alexnet"};
    const unsigned long run = testing_seed(21);
    int right = 0, all = MUTATIONS / (testing_fewer() ? 10 : 1);
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int m = 0; m < 3; m++) {
        const tutti_model *model = tutti_model_find(names[m]), *read;
        tutti_net *net;
        ck_assert_ptr_nonnull(model);
        ck_assert_ok(tutti_model_net(model, &model->input, &net));
        char *needed = calloc((size_t)net->layers, 1), *text;
        tutti_protobuf file = export_net(net, &model->input, needed);
        unsigned char *bytes = malloc(file.size);
        for (int i = 0; i < all / 3; i++) {
            uint64_t next = 0;
            const uint64_t at = (uint64_t)m * MUTATIONS + (uint64_t)i;
            size_t size = file.size;
            memcpy(bytes, file.data, size);
            if (i % 3 == 0)
                size = (size_t)tutti_rng_below(run, at, next++, (int64_t)size);
            else
                for (int64_t change = tutti_rng_below(run, at, next++, 3); change >= 0; change--) {
                    const int64_t place = tutti_rng_below(run, at, next++, (int64_t)size);
                    bytes[place] = (unsigned char)tutti_rng_below(run, at, next++, 256);
                }
            if (tutti_architecture_from_onnx("a.onnx", bytes, size, &text)) continue;
            right += !tutti_architecture_parse("a.onnx", text, &read);
            free(text);
        }
        free(bytes);
        free(needed);
        tutti_protobuf_free(&file);
        tutti_net_free(net);
    }
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_msg(right > all / 50 && right < all * 9 / 10, "%d of %d are networks", right, all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onnx");
    tcase_add_test(testing_case(suite, "models"), models_come_back);
    tcase_add_test(testing_case(suite, "others"), others_are_read);
    tcase_add_test(testing_case(suite, "many"), many_are_joined);
    tcase_add_test(testing_case(suite, "constants"), constants_are_computed);
    tcase_add_test(testing_case(suite, "settings"), settings_are_read);
    tcase_add_test(testing_case(suite, "classes"), last_convolution_has_the_classes);
    tcase_add_test(testing_case(suite, "refused"), nodes_are_told);
    tcase_add_test(testing_case(suite, "fuzz"), no_file_does_harm);
    return testing_run(suite);
}
