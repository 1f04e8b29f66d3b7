#include "apps/export/onnx_nodes.h"

#include "apps/train/torch.h"
#include "dag/base/log.h"
#include "dag/net/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of onnx.proto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_INTS = 8 };
enum { ATTRIBUTE_TYPE = 20, TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { TENSOR_FLOAT = 1, TENSOR_INT64 = 7 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5 };

enum { NAME = 2 * TUTTI_LAYER_NAME };

typedef struct writer {
    const tutti_training_session *session;
    const tutti_net *net;
    const char *model;
    tutti_protobuf *graph;
    tutti_status status; /* the first failure */
    char *flat;          /* of each value: whether it is (N,C), and not (N,C,H,W) */
} writer;

/* ---- nodes ---- */

static tutti_protobuf begin(const char *op, const char *name)
{
    tutti_protobuf node = {0};
    tutti_protobuf_text(&node, NODE_NAME, name);
    tutti_protobuf_text(&node, NODE_OP, op);
    return node;
}

static void end_node(writer *w, tutti_protobuf *node)
{
    tutti_protobuf_message(w->graph, GRAPH_NODE, node);
}

static void reads(tutti_protobuf *node, const char *name)
{
    tutti_protobuf_text(node, NODE_INPUT, name);
}

static void writes(tutti_protobuf *node, const char *name)
{
    tutti_protobuf_text(node, NODE_OUTPUT, name);
}

static tutti_protobuf begin_attribute(const char *name, int type)
{
    tutti_protobuf attribute = {0};
    tutti_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
    tutti_protobuf_number(&attribute, ATTRIBUTE_TYPE, type);
    return attribute;
}

static void add_float(tutti_protobuf *node, const char *name, float value)
{
    tutti_protobuf attribute = begin_attribute(name, TYPE_FLOAT);
    tutti_protobuf_float(&attribute, ATTRIBUTE_F, value);
    tutti_protobuf_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_int(tutti_protobuf *node, const char *name, int64_t value)
{
    tutti_protobuf attribute = begin_attribute(name, TYPE_INT);
    tutti_protobuf_number(&attribute, ATTRIBUTE_I, value);
    tutti_protobuf_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_ints(tutti_protobuf *node, const char *name, int count, const int64_t value[])
{
    tutti_protobuf attribute = begin_attribute(name, TYPE_INTS);
    for (int i = 0; i < count; i++) tutti_protobuf_number(&attribute, ATTRIBUTE_INTS, value[i]);
    tutti_protobuf_message(node, NODE_ATTRIBUTE, &attribute);
}

/* A constant "<layer>/<part>" of int64, which the node reads. */
static void reads_constant(writer *w, tutti_protobuf *node, const tutti_layer *layer,
    const char *part, int count, const int64_t value[])
{
    char name[NAME];
    tutti_protobuf tensor = {0};
    snprintf(name, sizeof name, "%s/%s", layer->name, part);
    tutti_protobuf_number(&tensor, TENSOR_DIMS, count);
    tutti_protobuf_number(&tensor, TENSOR_TYPE, TENSOR_INT64);
    tutti_protobuf_text(&tensor, TENSOR_NAME, name);
    tutti_protobuf_bytes(&tensor, TENSOR_RAW, value, (size_t)count * sizeof *value);
    tutti_protobuf_message(w->graph, GRAPH_INITIALIZER, &tensor);
    reads(node, name);
}

/* The same of one float32, without axes. */
static void reads_float(
    writer *w, tutti_protobuf *node, const tutti_layer *layer, const char *part, float value)
{
    char name[NAME];
    tutti_protobuf tensor = {0};
    snprintf(name, sizeof name, "%s/%s", layer->name, part);
    tutti_protobuf_number(&tensor, TENSOR_TYPE, TENSOR_FLOAT);
    tutti_protobuf_text(&tensor, TENSOR_NAME, name);
    tutti_protobuf_bytes(&tensor, TENSOR_RAW, &value, sizeof value);
    tutti_protobuf_message(w->graph, GRAPH_INITIALIZER, &tensor);
    reads(node, name);
}

/* ---- values ---- */

/* Dropout's value is its input. */
static tutti_value without_dropout(const tutti_net *net, tutti_value value)
{
    const tutti_layer *layer = &net->layer[net->source[value].layer];
    while (strcmp(layer->kind->name, "dropout") == 0) {
        value = layer->in[0];
        layer = &net->layer[net->source[value].layer];
    }
    return value;
}

/* "images", "logits", "<layer>" or "<layer>/<number>". "logits/image": what is flattened at the end;
 * "logits/value": of another layer with that name. */
static const char *name_value(const writer *w, tutti_value value, char name[NAME])
{
    value = without_dropout(w->net, value);
    const tutti_source *source = &w->net->source[value];
    const tutti_layer *layer = &w->net->layer[source->layer];
    if (value == without_dropout(w->net, w->net->output))
        snprintf(name, NAME, w->flat[value] ? "logits" : "logits/image");
    else if (layer->outputs > 1)
        snprintf(name, NAME, "%s/%d", layer->name, source->output);
    else
        snprintf(name, NAME, "%s%s", layer->name, strcmp(layer->name, "logits") ? "" : "/value");
    return name;
}

static void reads_value(const writer *w, tutti_protobuf *node, tutti_value value)
{
    char name[NAME];
    reads(node, name_value(w, value, name));
}

static void writes_value(const writer *w, tutti_protobuf *node, tutti_value value)
{
    char name[NAME];
    writes(node, name_value(w, value, name));
}

/* Ends a node whose value is what a ReLU makes the layer's; limit 0: none. */
static void end_with_relu(writer *w, tutti_protobuf *node, const tutti_layer *layer, float limit)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s/linear", layer->name);
    writes(node, name);
    end_node(w, node);
    snprintf(name, sizeof name, "%s/relu", layer->name);
    tutti_protobuf next = begin(limit > 0 ? "Clip" : "Relu", name);
    snprintf(name, sizeof name, "%s/linear", layer->name);
    reads(&next, name);
    if (limit > 0) reads_float(w, &next, layer, "min", 0);
    if (limit > 0) reads_float(w, &next, layer, "max", limit);
    writes_value(w, &next, layer->value);
    end_node(w, &next);
}

/* Ends a node whose value is the layer's, or what a ReLU makes the layer's. */
static void end_layer(writer *w, tutti_protobuf *node, const tutti_layer *layer, int relu)
{
    if (relu) return end_with_relu(w, node, layer, 0);
    writes_value(w, node, layer->value);
    end_node(w, node);
}

/* All parts of "<layer>.<suffix>", in PyTorch's order. */
static void reads_parameter(
    writer *w, tutti_protobuf *node, const tutti_layer *layer, const char *suffix)
{
    char name[NAME];
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    snprintf(name, sizeof name, "%s.%s", layer->name, suffix);
    int number = tutti_graph_find(w->session->graph, name), parts = 0;
    if (number >= 0)
        parts = tutti_torch_describe(
            w->net, w->model, tutti_graph_get_tensor(w->session->graph, number), name, part);
    if (parts == 0 && !w->status)
        w->status = tutti_fail(TUTTI_ERR_INTERNAL, "the tensor %s has no name in PyTorch", name);
    for (int i = 0; i < parts; i++) reads(node, part[i].name);
}

/* ---- kinds of layers ---- */

typedef void write_fn(writer *w, const tutti_layer *layer);

static void write_nothing(writer *w, const tutti_layer *layer)
{
    (void)w;
    (void)layer;
}

static void write_conv(writer *w, const tutti_layer *layer)
{
    const tutti_conv_layer *conv = tutti_layer_settings(layer);
    tutti_protobuf node = begin("Conv", layer->name);
    reads_value(w, &node, layer->in[0]);
    reads_parameter(w, &node, layer, "weight");
    if (conv->bias) reads_parameter(w, &node, layer, "bias");
    add_ints(&node, "kernel_shape", 2, (int64_t[]){conv->R, conv->S});
    add_ints(&node, "strides", 2, (int64_t[]){conv->stride, conv->stride_s});
    add_ints(&node, "pads", 4, (int64_t[]){conv->pad, conv->pad_s, conv->pad, conv->pad_s});
    add_int(&node, "group", conv->groups);
    end_layer(w, &node, layer, 0);
}

static void write_norm(writer *w, const tutti_layer *layer)
{
    const tutti_norm_layer *norm = tutti_layer_settings(layer);
    tutti_protobuf node = begin("BatchNormalization", layer->name);
    reads_value(w, &node, layer->in[0]);
    reads_parameter(w, &node, layer, "scaleshift");
    reads_parameter(w, &node, layer, "running");
    add_float(&node, "epsilon", norm->eps);
    if (norm->relu) return end_with_relu(w, &node, layer, norm->limit);
    end_layer(w, &node, layer, 0);
}

/* Reads an input as features: where it is an image, a node with this name flattens it. */
static void reads_flat(writer *w, tutti_protobuf *node, tutti_value value, const char *name)
{
    if (w->flat[value]) {
        reads_value(w, node, value);
        return;
    }
    tutti_protobuf flatten = begin("Flatten", name);
    reads_value(w, &flatten, value);
    writes(&flatten, name);
    add_int(&flatten, "axis", 1);
    end_node(w, &flatten);
    reads(node, name);
}

/* Reads all inputs: as features where the layer's value is features. */
static void reads_inputs(writer *w, tutti_protobuf *node, const tutti_layer *layer)
{
    char name[NAME];
    for (int i = 0; i < layer->inputs; i++) {
        snprintf(name, sizeof name, "%s/flat%d", layer->name, i);
        if (w->flat[layer->value])
            reads_flat(w, node, layer->in[i], name);
        else
            reads_value(w, node, layer->in[i]);
    }
}

static void write_dense(writer *w, const tutti_layer *layer)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s/flat", layer->name);
    tutti_protobuf node = begin("Gemm", layer->name);
    reads_flat(w, &node, layer->in[0], name);
    reads_parameter(w, &node, layer, "weight");
    reads_parameter(w, &node, layer, "bias");
    add_int(&node, "transB", 1);
    end_layer(w, &node, layer, 0);
}

/* Padding behind an image, such that a size rounded down is that of the layer: it has windows that
 * stick out where the layer rounds up. */
static int64_t pad_behind(const tutti_pool_layer *pool, int64_t in, int64_t out)
{
    int64_t reach = (out - 1) * pool->stride + pool->R - in - pool->pad;
    return reach > pool->pad ? reach : pool->pad;
}

static void write_pool(writer *w, const tutti_layer *layer, const char *op)
{
    const tutti_pool_layer *pool = tutti_layer_settings(layer);
    const tutti_extent *x = &layer->from[0], *y = &layer->out[0];
    const int64_t pads[] = {
        pool->pad, pool->pad, pad_behind(pool, x->H, y->H), pad_behind(pool, x->W, y->W)};
    tutti_protobuf node = begin(op, layer->name);
    reads_value(w, &node, layer->in[0]);
    add_ints(&node, "kernel_shape", 2, (int64_t[]){pool->R, pool->R});
    add_ints(&node, "strides", 2, (int64_t[]){pool->stride, pool->stride});
    add_ints(&node, "pads", 4, pads);
    if (pool->counts_padding) add_int(&node, "count_include_pad", 1);
    end_layer(w, &node, layer, 0);
}

static void write_max_pool(writer *w, const tutti_layer *layer)
{
    write_pool(w, layer, "MaxPool");
}

static void write_avg_pool(writer *w, const tutti_layer *layer)
{
    write_pool(w, layer, "AveragePool");
}

/* A node without settings. */
static void write_plain(writer *w, const tutti_layer *layer, const char *op, int relu)
{
    tutti_protobuf node = begin(op, layer->name);
    reads_inputs(w, &node, layer);
    end_layer(w, &node, layer, relu);
}

static void write_global_avg_pool(writer *w, const tutti_layer *layer)
{
    write_plain(w, layer, "GlobalAveragePool", 0);
}

static void write_relu(writer *w, const tutti_layer *layer)
{
    write_plain(w, layer, "Relu", 0);
}

static void write_clipped_relu(writer *w, const tutti_layer *layer)
{
    const float *limit = tutti_layer_settings(layer);
    tutti_protobuf node = begin("Clip", layer->name);
    reads_value(w, &node, layer->in[0]);
    reads_float(w, &node, layer, "min", 0);
    reads_float(w, &node, layer, "max", *limit);
    end_layer(w, &node, layer, 0);
}

static void write_add(writer *w, const tutti_layer *layer)
{
    write_plain(w, layer, "Add", *(const int *)tutti_layer_settings(layer));
}

static void write_concat(writer *w, const tutti_layer *layer)
{
    tutti_protobuf node = begin("Concat", layer->name);
    reads_inputs(w, &node, layer);
    add_int(&node, "axis", 1);
    end_layer(w, &node, layer, 0);
}

static void write_split(writer *w, const tutti_layer *layer)
{
    int64_t channels[TUTTI_LAYER_OUTPUTS];
    for (int o = 0; o < layer->outputs; o++) channels[o] = layer->out[o].C;
    tutti_protobuf node = begin("Split", layer->name);
    reads_value(w, &node, layer->in[0]);
    reads_constant(w, &node, layer, "channels", layer->outputs, channels);
    for (int o = 0; o < layer->outputs; o++) writes_value(w, &node, layer->value + o);
    add_int(&node, "axis", 1);
    end_node(w, &node);
}

static void write_lrn(writer *w, const tutti_layer *layer)
{
    const tutti_lrn_layer *lrn = tutti_layer_settings(layer);
    tutti_protobuf node = begin("LRN", layer->name);
    reads_value(w, &node, layer->in[0]);
    add_float(&node, "alpha", lrn->alpha);
    add_float(&node, "beta", lrn->beta);
    add_float(&node, "bias", lrn->k);
    add_int(&node, "size", lrn->size);
    end_layer(w, &node, layer, 0);
}

/* Every stride-th pixel, which is the largest of a window of one, then zero channels on both sides
 * (dag/kernels/arith.h). */
static void write_shortcut(writer *w, const tutti_layer *layer)
{
    const tutti_shortcut_layer *shortcut = tutti_layer_settings(layer);
    const int64_t stride = shortcut->stride, more = shortcut->K - layer->from[0].C,
                  front = more / 2;
    char name[NAME];
    snprintf(name, sizeof name, "%s/pixels", layer->name);
    tutti_protobuf pixels = begin("MaxPool", name);
    reads_value(w, &pixels, layer->in[0]);
    add_ints(&pixels, "kernel_shape", 2, (int64_t[]){1, 1});
    add_ints(&pixels, "strides", 2, (int64_t[]){stride, stride});
    writes(&pixels, name);
    end_node(w, &pixels);
    tutti_protobuf node = begin("Pad", layer->name);
    reads(&node, name);
    reads_constant(w, &node, layer, "pads", 8, (int64_t[]){0, front, 0, 0, 0, more - front, 0, 0});
    end_layer(w, &node, layer, 0);
}

static const struct {
    const char *kind;
    write_fn *write;
    int images; /* it takes only images */
} kinds[] = {
    {"input", write_nothing, 0},
    {"conv", write_conv, 1},
    {"norm", write_norm, 0},
    {"dense", write_dense, 0},
    {"max pool", write_max_pool, 1},
    {"average pool", write_avg_pool, 1},
    {"global average pool", write_global_avg_pool, 1},
    {"relu", write_relu, 0},
    {"clipped relu", write_clipped_relu, 0},
    {"add", write_add, 0},
    {"concat", write_concat, 0},
    {"split", write_split, 0},
    {"lrn", write_lrn, 1},
    {"dropout", write_nothing, 0},
    {"shortcut", write_shortcut, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- the net ---- */

static void find_needed(const tutti_net *net, char *needed)
{
    memset(needed, 0, (size_t)net->layers);
    needed[net->source[net->output].layer] = 1;
    for (int l = net->layers - 1; l >= 0; l--)
        for (int i = 0; needed[l] && i < net->layer[l].inputs; i++)
            needed[net->source[net->layer[l].in[i]].layer] = 1;
}

/* A dense layer makes features; the others leave them features, and make features of what they join with them. */
static void note_flat(writer *w, const tutti_layer *layer)
{
    int flat = strcmp(layer->kind->name, "dense") == 0;
    for (int i = 0; i < layer->inputs; i++) flat |= w->flat[layer->in[i]];
    for (int o = 0; o < layer->outputs; o++) w->flat[layer->value + o] = (char)flat;
}

static tutti_status write_layer(writer *w, const tutti_layer *layer)
{
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].kind, layer->kind->name) != 0) k++;
    if (k == KINDS)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "the %s layer %s cannot be written as ONNX",
            layer->kind->name, layer->name);
    if (kinds[k].images && w->flat[layer->in[0]])
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "the %s layer %s behind a dense layer cannot be written as ONNX", layer->kind->name,
            layer->name);
    note_flat(w, layer);
    kinds[k].write(w, layer);
    return w->status;
}

tutti_status tutti_onnx_nodes(
    const tutti_training_session *session, const char *model, char *needed, tutti_protobuf *graph)
{
    const tutti_net *net = session->net;
    writer w = {.session = session, .net = net, .model = model, .graph = graph};
    w.flat = calloc((size_t)net->values, 1);
    if (!w.flat) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d values", net->values);
    find_needed(net, needed);
    tutti_status status = TUTTI_OK;
    for (int l = 0; l < net->layers && !status; l++)
        if (needed[l]) status = write_layer(&w, &net->layer[l]);
    if (!status && !w.flat[without_dropout(net, net->output)]) {
        tutti_protobuf flatten = begin("Flatten", "logits/flat");
        reads_value(&w, &flatten, net->output);
        writes(&flatten, "logits");
        add_int(&flatten, "axis", 1);
        end_node(&w, &flatten);
        status = w.status;
    }
    free(w.flat);
    return status;
}
