/* Source: ONNX 1.16, docs/Operators.md and docs/Changelog.md. */
#include "apps/architecture/onnx_operators.h"

#include "apps/architecture/onnx_attributes.h"
#include "apps/architecture/onnx_layer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef tutti_onnx_graph graph;
typedef tutti_onnx_value value;
typedef TuttiOnnx__Node node;
typedef TuttiOnnx__Tensor tensor;

enum { PARTS = 16 };

/* The weights that the node reads: their axes, and the name before ".weight". */
static const tensor *read_weights(graph *g, size_t input, size_t rank)
{
    const tensor *t = tutti_onnx_tensor(g, input);
    int right = t && t->n_dims == rank;
    for (size_t d = 0; right && d < rank; d++)
        right = t->dims[d] > 0 && t->dims[d] <= TUTTI_ONNX_MOST;
    if (right) return t;
    tutti_onnx_refuse(
        g, "its input %zu must be weights with %zu axes, as an initializer", input + 1, rank);
    return NULL;
}

/* Images, or features that are no flattened image. */
static value read_channels(graph *g, size_t input)
{
    const value x = tutti_onnx_read(g, input);
    if (x.flat && x.H * x.W > 1)
        tutti_onnx_refuse(g, "after an image has been flattened, only a dense layer can read it");
    return x;
}

static value read_images(graph *g)
{
    const value x = tutti_onnx_read(g, 0);
    if (x.flat) tutti_onnx_refuse(g, "reads features, where it must read images");
    return x;
}

/* A size behind windows; 0: there is no window in it. */
static int64_t slide(int64_t in, int64_t window, int64_t stride, int64_t pads, int ceiling)
{
    const int64_t room = in + pads - window;
    return room < 0 ? 0 : (room + (ceiling ? stride - 1 : 0)) / stride + 1;
}

/* ---- operators ---- */

/* Not zeros that other nodes make (PyTorch, dynamo=True): these are no parameters. */
static int has_bias(graph *g)
{
    const tensor *bias = tutti_onnx_tensor(g, 2);
    return *tutti_onnx_input(g, 2) && (!bias || bias->n_dims > 0 || tutti_onnx_real(bias, 1) != 0);
}

/* A norm that an exporter has made part of a convolution is no more to be had: the weights have a name that
 * no one gave them, the bias is called as the norm is, or as nothing, or (PyTorch, dynamo=True) the value is
 * called as the norm's was: as one of several results. */
static void check_folded(graph *g)
{
    const char *weights = tutti_onnx_input(g, 1), *bias = tutti_onnx_input(g, 2),
               *output = tutti_onnx_output(g);
    const size_t w = tutti_onnx_stem(weights, ".weight"), b = tutti_onnx_stem(bias, ".bias");
    int folded = strncmp(weights, "onnx::", 6) == 0 || strncmp(output, "getitem", 7) == 0;
    folded |= has_bias(g) && w && (w != b || strncmp(weights, bias, w) != 0);
    if (folded)
        tutti_onnx_refuse(g,
            "its weights \"%.60s\" are those of a convolution and a batch normalisation in one: "
            "export the network for training (tutti-network(5) says how)",
            weights);
}

static void read_conv(graph *g)
{
    int64_t stride[2], pads[4], groups = tutti_onnx_int(g, "group", 1);
    const value x = read_images(g);
    const tensor *w = read_weights(g, 1, 4);
    tutti_onnx_ints(g, "strides", 2, 1, 1, stride);
    tutti_onnx_ints(g, "pads", 4, 0, 0, pads);
    tutti_onnx_check_pads(g);
    tutti_onnx_check_dilations(g);
    check_folded(g);
    if (g->status) return;
    if (pads[0] != pads[2] || pads[1] != pads[3])
        return tutti_onnx_refuse(g, "\"pads\" must be equal on both sides");
    if (groups < 1 || groups > x.C || w->dims[1] * groups != x.C || w->dims[0] % groups)
        return tutti_onnx_refuse(g,
            "its weights read %lld channels in %lld groups, and there are %lld",
            (long long)w->dims[1], (long long)groups, (long long)x.C);
    const value y = {.C = w->dims[0],
        .H = slide(x.H, w->dims[2], stride[0], 2 * pads[0], 0),
        .W = slide(x.W, w->dims[3], stride[1], 2 * pads[1], 0)};
    if (y.H < 1 || y.W < 1) return tutti_onnx_refuse(g, "its windows are larger than the images");
    value to = y;
    json_t *layer = tutti_onnx_begin_layer(g, "conv", tutti_onnx_input(g, 1));
    tutti_onnx_put(layer, "filters", y.C, -1);
    tutti_onnx_put_pair(layer, "window", &w->dims[2], -1);
    tutti_onnx_put_pair(layer, "stride", stride, 1);
    tutti_onnx_put_pair(layer, "pad", pads, 0);
    tutti_onnx_put(layer, "groups", groups, 1);
    tutti_onnx_note_weight(g, layer, "weight", 1, 0);
    if (has_bias(g)) {
        json_object_set_new(layer, "bias", json_true());
        tutti_onnx_note_weight(g, layer, "bias", 2, 0);
    }
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_value(g, &to);
}

static void read_norm(graph *g)
{
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    const value x = read_channels(g, 0);
    const tensor *scale = read_weights(g, 1, 1);
    value to = x;
    if (g->status) return;
    if (scale->dims[0] != x.C)
        return tutti_onnx_refuse(g, "it normalises %lld channels, and there are %lld",
            (long long)scale->dims[0], (long long)x.C);
    json_t *layer = tutti_onnx_begin_layer(g, "norm", tutti_onnx_input(g, 1));
    tutti_onnx_put_real(layer, "eps", tutti_onnx_float(g, "epsilon", 1e-5), 1e-5);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        tutti_onnx_note_weight(g, layer, parts[i], i + 1, 0);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_with_relu(g, layer, &to);
}

static void read_relu(graph *g)
{
    const value x = tutti_onnx_read(g, 0);
    if (!g->status) tutti_onnx_append_plain(g, "relu", &x, x);
}

/* The layer of the norm that makes what the node reads, where nothing else reads that and no ReLU follows it yet;
 * else NULL. */
static json_t *norm_before(const graph *g, const value *x)
{
    const char *input = tutti_onnx_input(g, 0);
    json_t *layer = json_array_get(g->layers, (size_t)x->layer);
    if (tutti_onnx_number(g->reader_of, input, -1) != (int)g->number) return NULL;
    for (size_t n = 0; n < g->number; n++) {
        const node *of = g->graph->node[n];
        if (of->n_output == 0 || strcmp(of->output[0], input) != 0) continue;
        const int is_norm = strcmp(tutti_onnx_text(of->op_type), "BatchNormalization") == 0;
        return is_norm && !json_object_get(layer, "relu") ? layer : NULL;
    }
    return NULL;
}

/* From 0 on, it is a ReLU, which may have a limit. After a norm it is part of that, as in tutti_onnx_end_with_relu. */
static void read_clip(graph *g)
{
    const double low = tutti_onnx_real(
                     tutti_onnx_tensor(g, 1), tutti_onnx_float(g, "min", -HUGE_VAL)),
                 high =
                     tutti_onnx_real(tutti_onnx_tensor(g, 2), tutti_onnx_float(g, "max", HUGE_VAL));
    const value x = tutti_onnx_read(g, 0);
    const int open = !*tutti_onnx_input(g, 2) || tutti_onnx_tensor(g, 2);
    if (g->status) return;
    if (low < 0 || low > 0 || !(high > 0) || !open)
        return tutti_onnx_refuse(g,
            "it clips to %g .. %g, and the only layer that clips is ReLU, from 0 on to a number "
            "that the model holds",
            low, high);
    if (!(high < FLT_MAX)) return tutti_onnx_append_plain(g, "relu", &x, x);
    value to = x;
    json_t *layer = norm_before(g, &x);
    if (layer) {
        json_object_set_new(layer, "relu", json_true());
        tutti_onnx_put_real(layer, "limit", high, 0);
        return tutti_onnx_end_value(g, &to);
    }
    layer = tutti_onnx_begin_layer(g, "relu", "");
    tutti_onnx_put_real(layer, "limit", high, 0);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_value(g, &to);
}

static void read_add(graph *g)
{
    value x[2] = {read_channels(g, 0), read_channels(g, 1)}, to = x[0];
    if (g->status) return;
    if (x[0].H != x[1].H || x[0].W != x[1].W || x[0].C != x[1].C)
        return tutti_onnx_refuse(g, "its inputs have other shapes");
    json_t *layer = tutti_onnx_begin_layer(g, "add", "");
    tutti_onnx_append_layer(g, layer, x, 2, &to);
    tutti_onnx_end_with_relu(g, layer, &to);
}

/* The channels of more values than a layer joins, the first ones first. */
static void join_first(graph *g, value x[], size_t *n)
{
    value to = {.H = x[0].H, .W = x[0].W, .flat = x[0].flat};
    json_t *layer = tutti_onnx_begin_layer(g, "concat", "");
    if (g->status) return json_decref(layer);
    char name[TUTTI_ONNX_LAYER_NAME + 16];
    for (int i = 0; i < PARTS; i++) to.C += x[i].C;
    snprintf(name, sizeof name, "%.40s/%zu", json_string_value(json_object_get(layer, "name")), *n);
    json_object_set_new(layer, "name", json_string(name));
    tutti_onnx_append_layer(g, layer, x, PARTS, &to);
    x[0] = to;
    *n -= PARTS - 1;
    memmove(&x[1], &x[PARTS], (*n - 1) * sizeof *x);
}

static void concat(graph *g, value x[], size_t n)
{
    const int64_t axis = tutti_onnx_int(g, "axis", 1);
    value to = {0};
    for (size_t i = 0; i < n && !g->status; i++) {
        x[i] = read_channels(g, i);
        if (x[i].H != x[0].H || x[i].W != x[0].W || x[i].flat != x[0].flat)
            tutti_onnx_refuse(g, "its inputs have other heights and widths");
    }
    if (axis != 1 && axis != (x[0].flat ? -1 : -3))
        tutti_onnx_refuse(g, "\"axis\" must be 1: only channels are joined");
    while (n > PARTS && !g->status) join_first(g, x, &n);
    if (g->status) return;
    to = (value){.H = x[0].H, .W = x[0].W, .flat = x[0].flat};
    for (size_t i = 0; i < n; i++) to.C += x[i].C;
    tutti_onnx_append_layer(g, tutti_onnx_begin_layer(g, "concat", ""), x, (int)n, &to);
    tutti_onnx_end_value(g, &to);
}

static void read_concat(graph *g)
{
    enum { MOST = 4096 };
    const size_t n = g->node->n_input;
    value *x = n && n <= MOST ? calloc(n, sizeof *x) : NULL;
    if (x)
        concat(g, x, n);
    else
        tutti_onnx_refuse(g, "it must read 1 to %d values", (int)MOST);
    free(x);
}

static void read_split(graph *g)
{
    int64_t channels[PARTS], sum = 0;
    const value x = read_images(g);
    const size_t n = g->node->n_output;
    const TuttiOnnx__Attribute *sizes = tutti_onnx_attribute(g, "split");
    const tensor *t = tutti_onnx_tensor(g, 1);
    if (g->status) return;
    if (n < 1 || n > PARTS ||
        (tutti_onnx_int(g, "axis", 0) != 1 && tutti_onnx_int(g, "axis", 0) != -3))
        return tutti_onnx_refuse(g, "it must split channels (\"axis\" 1) into 1 to %d", (int)PARTS);
    for (size_t i = 0; i < n; i++) channels[i] = x.C / (int64_t)n;
    if (sizes) tutti_onnx_ints(g, "split", n, 1, 1, channels);
    if (t && tutti_onnx_integers(t, channels, PARTS) != (int)n)
        return tutti_onnx_refuse(g, "its sizes must be %zu numbers, as an initializer", n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const int right = channels[i] > 0 && channels[i] <= x.C;
        sum += right ? channels[i] : TUTTI_ONNX_MOST;
        json_array_append_new(list, json_integer((json_int_t)channels[i]));
    }
    value to = x;
    json_t *layer = tutti_onnx_begin_layer(g, "split", "");
    json_object_set_new(layer, "channels", list);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    if (sum != x.C) tutti_onnx_refuse(g, "its parts do not have all %lld channels", (long long)x.C);
    for (size_t i = 0; i < n; i++) {
        value part = {.layer = -2, .H = x.H, .W = x.W, .C = channels[i]};
        snprintf(part.name, sizeof part.name, "%.64s.%zu", to.name, i);
        tutti_onnx_add_value(g, g->node->output[i], &part);
    }
}

/* The size behind a pool with the same padding on both sides. A window that would begin in the padding at the end does
 * not count. */
static int64_t pooled(int64_t in, int64_t window, int64_t stride, int64_t pad, int ceiling)
{
    const int64_t size = slide(in, window, stride, 2 * pad, ceiling);
    return ceiling && (size - 1) * stride >= in + pad ? size - 1 : size;
}

/* Where padding behind the images is larger, as large as sizes rounded up need it, they are rounded up. */
static int read_ceiling(
    graph *g, const value *x, int64_t window, int64_t stride, const int64_t pads[4])
{
    const int64_t in[2] = {x->H, x->W};
    const int mode = tutti_onnx_int(g, "ceil_mode", 0) != 0;
    int ceiling = mode;
    for (int i = 0; i < 2; i++) ceiling |= pads[i + 2] > pads[i];
    for (int i = 0; i < 2; i++) {
        const int64_t before = pads[i], behind = pads[i + 2];
        const int64_t size = slide(in[i], window, stride, before + behind, 0);
        const int64_t up = pooled(in[i], window, stride, before, ceiling);
        if (behind < before || (mode ? behind != before : size != up))
            tutti_onnx_refuse(g, "\"pads\" must be equal on both sides, or round sizes up");
    }
    return ceiling;
}

static void pool(graph *g, int average)
{
    int64_t window[2], stride[2], pads[4];
    const value x = read_images(g);
    tutti_onnx_ints(g, "kernel_shape", 2, 1, 0, window);
    tutti_onnx_ints(g, "strides", 2, 1, 1, stride);
    tutti_onnx_ints(g, "pads", 4, 0, 0, pads);
    tutti_onnx_check_pads(g);
    tutti_onnx_check_dilations(g);
    if (!average) tutti_onnx_must_be(g, "storage_order", 0);
    if (g->status) return;
    if (window[0] < 1 || window[0] != window[1] || stride[0] != stride[1] || pads[0] != pads[1])
        return tutti_onnx_refuse(g, "its windows, strides and pads must be square");
    const int ceiling = read_ceiling(g, &x, window[0], stride[0], pads);
    value to = {.C = x.C,
        .H = pooled(x.H, window[0], stride[0], pads[0], ceiling),
        .W = pooled(x.W, window[0], stride[0], pads[0], ceiling)};
    if (!g->status && (to.H < 1 || to.W < 1))
        tutti_onnx_refuse(g, "its windows are larger than the images");
    if (g->status) return;
    if (!average && window[0] == 1 && !pads[0] && tutti_onnx_follower(g, "Pad")) {
        value pixels = x;
        pixels.H = to.H;
        pixels.W = to.W;
        pixels.stride = stride[0];
        return tutti_onnx_end_value(g, &pixels);
    }
    json_t *layer = tutti_onnx_begin_layer(g, average ? "avg-pool" : "max-pool", "");
    tutti_onnx_put(layer, "window", window[0], -1);
    tutti_onnx_put(layer, "stride", stride[0], 1);
    tutti_onnx_put(layer, "pad", pads[0], 0);
    if (ceiling) json_object_set_new(layer, "ceiling", json_true());
    if (average && tutti_onnx_int(g, "count_include_pad", 0))
        json_object_set_new(layer, "counts-padding", json_true());
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_value(g, &to);
}

static void read_max_pool(graph *g)
{
    pool(g, 0);
}

static void read_avg_pool(graph *g)
{
    pool(g, 1);
}

static void read_global_pool(graph *g)
{
    const value x = read_images(g), to = {.H = 1, .W = 1, .C = x.C};
    if (!g->status) tutti_onnx_append_plain(g, "global-avg-pool", &x, to);
}

/* The mean of height and width is a global pool. */
static void read_mean(graph *g)
{
    int64_t axes[2] = {0, 0};
    const TuttiOnnx__Attribute *a = tutti_onnx_attribute(g, "axes");
    const value x = read_images(g),
                to = {.H = 1, .W = 1, .C = x.C, .flat = !tutti_onnx_int(g, "keepdims", 1)};
    if (a && a->n_ints == 2) memcpy(axes, a->ints, sizeof axes);
    if (!a) tutti_onnx_integers(tutti_onnx_tensor(g, 1), axes, 2);
    for (int i = 0; i < 2; i++) axes[i] += axes[i] < 0 ? 4 : 0;
    if (!(axes[0] == 2 && axes[1] == 3) && !(axes[0] == 3 && axes[1] == 2))
        tutti_onnx_refuse(g, "\"axes\" must be 2 and 3: the mean of each channel");
    if (!g->status) tutti_onnx_append_plain(g, "global-avg-pool", &x, to);
}

static void read_lrn(graph *g)
{
    const value x = read_images(g);
    value to = x;
    if (g->status) return;
    json_t *layer = tutti_onnx_begin_layer(g, "lrn", "");
    tutti_onnx_put(layer, "size", tutti_onnx_int(g, "size", 0), -1);
    tutti_onnx_put_real(layer, "alpha", tutti_onnx_float(g, "alpha", 1e-4), 1e-4);
    tutti_onnx_put_real(layer, "beta", tutti_onnx_float(g, "beta", 0.75), 0.75);
    tutti_onnx_put_real(layer, "k", tutti_onnx_float(g, "bias", 1), 1);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_value(g, &to);
}

static void read_dropout(graph *g)
{
    const value x = tutti_onnx_read(g, 0);
    const double rate = tutti_onnx_real(tutti_onnx_tensor(g, 1), tutti_onnx_float(g, "ratio", 0.5));
    value to = x;
    if (g->status) return;
    if (!(rate > 0)) return tutti_onnx_end_value(g, &x);
    json_t *layer = tutti_onnx_begin_layer(g, "dropout", "");
    tutti_onnx_put_real(layer, "rate", rate, -1);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_value(g, &to);
}

static void read_flatten(graph *g)
{
    value x = tutti_onnx_read(g, 0);
    const int64_t axis = tutti_onnx_int(g, "axis", 1);
    if (axis != 1 && axis != (x.flat ? -1 : -3))
        return tutti_onnx_refuse(g, "\"axis\" must be 1: each image becomes features");
    x.flat = 1;
    tutti_onnx_end_value(g, &x);
}

static void read_reshape(graph *g)
{
    int64_t shape[2] = {0, 0};
    value x = tutti_onnx_read(g, 0);
    const int axes = tutti_onnx_integers(tutti_onnx_tensor(g, 1), shape, 2);
    if (g->status) return;
    if (axes != 2 || (shape[1] != -1 && shape[1] != x.H * x.W * x.C))
        return tutti_onnx_refuse(
            g, "it must make features of each image, (N,-1): its shape must be an initializer");
    x.flat = 1;
    tutti_onnx_end_value(g, &x);
}

/* bias: the tensor that is added. */
static void append_dense(
    graph *g, const char *name, int across, const tensor *bias, const char *output)
{
    const tensor *w = tutti_onnx_tensor(g, 1);
    const int64_t C = w->dims[across], K = w->dims[!across];
    const value x = tutti_onnx_read(g, 0);
    value to = {.H = 1, .W = 1, .C = K, .flat = 1};
    if (g->status) return;
    if (!x.flat || C != x.H * x.W * x.C)
        return tutti_onnx_refuse(g, "its weights read %lld features, and it gets %lld of %s",
            (long long)C, (long long)(x.H * x.W * x.C),
            x.flat ? "them" : "an image that is not flattened");
    json_t *layer = tutti_onnx_begin_layer(g, "dense", name);
    tutti_onnx_put(layer, "features", K, -1);
    tutti_onnx_note_weight(g, layer, "weight", 1, !across);
    tutti_onnx_add_weight(g, json_string_value(json_object_get(layer, "name")), "bias", bias, 0);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_add_value(g, output, &to);
}

static void read_gemm(graph *g)
{
    const int across = tutti_onnx_int(g, "transB", 0) != 0;
    read_weights(g, 1, 2);
    tutti_onnx_must_be(g, "transA", 0);
    tutti_onnx_must_be_one(g, "alpha");
    tutti_onnx_must_be_one(g, "beta");
    if (!g->status && !tutti_onnx_tensor(g, 2))
        tutti_onnx_refuse(g, "it has no bias, and dense layers have one");
    if (!g->status)
        append_dense(
            g, tutti_onnx_input(g, 1), across, tutti_onnx_tensor(g, 2), tutti_onnx_output(g));
}

/* With the addition of a bias behind it, a dense layer. */
static void read_matmul(graph *g)
{
    const node *add = tutti_onnx_follower(g, "Add");
    const tensor *added = NULL;
    char name[TUTTI_ONNX_LAYER_NAME + 16] = "";
    read_weights(g, 1, 2);
    for (size_t i = 0; add && i < add->n_input; i++) {
        const char *bias = add->input[i];
        const size_t length = tutti_onnx_stem(bias, ".bias");
        const int number = tutti_onnx_number(g->tensor_of, bias, -1);
        if (number >= 0) added = g->tensor[number];
        if (length && length < TUTTI_ONNX_LAYER_NAME)
            snprintf(name, sizeof name, "%.*s.weight", (int)length, bias);
    }
    if (!g->status && !added)
        tutti_onnx_refuse(g, "no addition of a bias follows it, and dense layers have one");
    if (g->status) return;
    append_dense(g, *name ? name : tutti_onnx_input(g, 1), 0, added, add->output[0]);
    tutti_onnx_join(g, add);
}

/* Zero channels on both sides, the second half of a shortcut; its first half is a pool of single pixels. */
static void read_pad(graph *g)
{
    int64_t pads[8];
    const TuttiOnnx__Attribute *mode = tutti_onnx_attribute(g, "mode");
    const value x = read_images(g);
    value to = x;
    if (tutti_onnx_attribute(g, "pads"))
        tutti_onnx_ints(g, "pads", 8, 0, 0, pads);
    else if (tutti_onnx_integers(tutti_onnx_tensor(g, 1), pads, 8) != 8)
        return tutti_onnx_refuse(g, "its pads must be 8 numbers, as an initializer");
    if (g->status) return;
    int right =
        pads[1] >= 0 && pads[5] >= 0 && pads[1] <= TUTTI_ONNX_MOST && pads[5] <= TUTTI_ONNX_MOST;
    const int64_t more = right ? pads[1] + pads[5] : 0;
    right &= pads[1] == more / 2;
    for (int i = 0; i < 8; i++) right &= i % 4 == 1 || pads[i] == 0;
    if (mode && (mode->s.len != 8 || memcmp(mode->s.data, "constant", 8) != 0)) right = 0;
    if (tutti_onnx_real(tutti_onnx_tensor(g, 2), 0) != 0) right = 0;
    if (!right)
        return tutti_onnx_refuse(g,
            "only zero channels, on both sides, are put around images: pads of a convolution "
            "or pool belong to it");
    to.C += more;
    json_t *layer = tutti_onnx_begin_layer(g, "shortcut", "");
    tutti_onnx_put(layer, "filters", to.C, -1);
    tutti_onnx_put(layer, "stride", x.stride ? x.stride : 1, 1);
    tutti_onnx_append_layer(g, layer, &x, 1, &to);
    tutti_onnx_end_value(g, &to);
}

/* Another name of a value, or of a tensor. */
static void read_identity(graph *g)
{
    const tensor *t = tutti_onnx_tensor(g, 0);
    if (t) return tutti_onnx_add_tensor(g, tutti_onnx_output(g), t);
    const value x = tutti_onnx_read(g, 0);
    if (!g->status) tutti_onnx_end_value(g, &x);
}

static void read_constant(graph *g)
{
    const TuttiOnnx__Attribute *a = tutti_onnx_attribute(g, "value"),
                               *ints = tutti_onnx_attribute(g, "value_ints"),
                               *one = tutti_onnx_attribute(g, "value_int"),
                               *real = tutti_onnx_attribute(g, "value_float");
    if (ints)
        return tutti_onnx_add_numbers(
            g, tutti_onnx_output(g), (int)(ints->n_ints <= PARTS ? ints->n_ints : 0), ints->ints);
    if (one) return tutti_onnx_add_numbers(g, tutti_onnx_output(g), 1, &one->i);
    if (real) return tutti_onnx_add_real(g, tutti_onnx_output(g), real->f);
    if (!a || !a->t) return tutti_onnx_refuse(g, "its value must be a tensor, or numbers");
    tutti_onnx_add_tensor(g, tutti_onnx_output(g), a->t);
}

/* Constants from constants, as far as shapes and axes are made of them: those that only have another shape or type
 * have the same numbers; a shape's are not needed. Returns whether the node was one. */
static int read_computed(graph *g, const char *op)
{
    static const char *const same[] = {
        "Cast", "CastLike", "Expand", "Reshape", "Squeeze", "Unsqueeze"};
    const tensor *t = tutti_onnx_tensor(g, 0);
    int64_t number[PARTS];
    int count = 0;
    if (!t) return 0;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(op, same[i]) == 0) return tutti_onnx_add_tensor(g, tutti_onnx_output(g), t), 1;
    if (strcmp(op, "Shape") == 0)
        return tutti_onnx_add_numbers(g, tutti_onnx_output(g), 0, number), 1;
    if (strcmp(op, "Concat") != 0) return 0;
    for (size_t i = 0; i < g->node->n_input; i++) {
        const int more =
            tutti_onnx_integers(tutti_onnx_tensor(g, i), number + count, (size_t)(PARTS - count));
        if (more < 1) return tutti_onnx_refuse(g, "it joins what are no whole numbers"), 1;
        count += more;
    }
    return tutti_onnx_add_numbers(g, tutti_onnx_output(g), count, number), 1;
}

/* Training has its own. */
static void read_softmax(graph *g)
{
    const char *output = tutti_onnx_output(g);
    const char *result = g->graph->output[0]->name;
    if (!result || strcmp(output, result) != 0)
        return tutti_onnx_refuse(g, "it must be the last node: there are no layers of it");
    const value x = tutti_onnx_read(g, 0);
    if (!g->status) tutti_onnx_end_value(g, &x);
}

static const struct {
    const char *op;
    void (*read)(graph *g);
} operators[] = {
    {"Add", read_add},
    {"AveragePool", read_avg_pool},
    {"BatchNormalization", read_norm},
    {"Clip", read_clip},
    {"Concat", read_concat},
    {"Constant", read_constant},
    {"Conv", read_conv},
    {"Dropout", read_dropout},
    {"Flatten", read_flatten},
    {"Gemm", read_gemm},
    {"GlobalAveragePool", read_global_pool},
    {"Identity", read_identity},
    {"LRN", read_lrn},
    {"LogSoftmax", read_softmax},
    {"MatMul", read_matmul},
    {"MaxPool", read_max_pool},
    {"Pad", read_pad},
    {"ReduceMean", read_mean},
    {"Relu", read_relu},
    {"Reshape", read_reshape},
    {"Softmax", read_softmax},
    {"Split", read_split},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

void tutti_onnx_translate(graph *g)
{
    char known[400] = "";
    const char *op = g->node->op_type ? g->node->op_type : "", *domain = g->node->domain;
    const int own = domain && *domain && strcmp(domain, "ai.onnx") != 0;
    if (!own && read_computed(g, op)) return;
    for (int i = 0; i < OPERATORS; i++) {
        if (!own && strcmp(op, operators[i].op) == 0) return operators[i].read(g);
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
            operators[i].op);
    }
    tutti_onnx_refuse(g, "there is no layer of this operator (there are of %s)", known);
}
