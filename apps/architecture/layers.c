#include "apps/architecture/layers.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 16, MOST_INT = 1 << 24, MOST_KEYS = 12 };

typedef struct builder {
    const char *file;
    tutti_net *net;
    int64_t classes;
    json_t *values; /* by name: the number of the value */
    tutti_value last;
    /* the layer that is read */
    const json_t *layer;
    const char *kind, *name;
    int number;
    tutti_status status;
} builder;

/* ---- keys ---- */

__attribute__((format(printf, 2, 3))) static void refuse(builder *b, const char *format, ...)
{
    char text[512];
    va_list list;
    if (b->status) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    b->status = tutti_fail(TUTTI_ERR_FORMAT, "%s: layer %d%s%s%s: %s", b->file, b->number,
        b->name ? " (" : "", b->name ? b->name : "", b->name ? ")" : "", text);
}

/* A whole number; the fallback where the key is missing, -1: it has to be there. */
static int64_t read_int_of(
    builder *b, const json_t *value, const char *key, int64_t low, int64_t fallback)
{
    if (!value && fallback >= 0) return fallback;
    const int64_t number = json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
    if (number >= low && number <= MOST_INT) return number;
    refuse(b, "\"%s\" must be a whole number from %d to %d", key, (int)low, MOST_INT);
    return low;
}

static int64_t read_int(builder *b, const char *key, int64_t low, int64_t fallback)
{
    return read_int_of(b, json_object_get(b->layer, key), key, low, fallback);
}

/* One number for height and width, or a list of the two. */
static void read_pair(builder *b, const char *key, int64_t low, int64_t fallback, int64_t *high_way,
    int64_t *wide_way)
{
    const json_t *value = json_object_get(b->layer, key);
    const int two = json_is_array(value);
    if (two && json_array_size(value) != 2)
        refuse(b, "\"%s\" must be a number, or a list of two: for the height and the width", key);
    *high_way = read_int_of(b, two ? json_array_get(value, 0) : value, key, low, fallback);
    *wide_way = two ? read_int_of(b, json_array_get(value, 1), key, low, fallback) : *high_way;
}

static double read_real(builder *b, const char *key, double low, double high, double fallback)
{
    const json_t *value = json_object_get(b->layer, key);
    const double number = json_number_value(value);
    if (!value && !isnan(fallback)) return fallback;
    if (json_is_number(value) && number >= low && number <= high) return number;
    refuse(b, "\"%s\" must be a number from %g to %g", key, low, high);
    return low;
}

static int read_flag(builder *b, const char *key)
{
    const json_t *value = json_object_get(b->layer, key);
    if (value && !json_is_boolean(value)) refuse(b, "\"%s\" must be true or false", key);
    return json_is_true(value);
}

static tutti_init read_init(builder *b, tutti_init fallback)
{
    static const char *const names[] = {"he-fan-out", "he-fan-in", "uniform-fan-in"};
    const char *value = json_string_value(json_object_get(b->layer, "init"));
    for (int i = 0; value && i < 3; i++)
        if (strcmp(value, names[i]) == 0) return (tutti_init)i;
    if (json_object_get(b->layer, "init"))
        refuse(b, "\"init\" must be \"he-fan-out\", \"he-fan-in\" or \"uniform-fan-in\"");
    return fallback;
}

/* The filters or features: a number, or as many as there are classes. */
static int64_t read_width(builder *b, const char *key)
{
    const char *word = json_string_value(json_object_get(b->layer, key));
    return word && strcmp(word, "classes") == 0 ? b->classes : read_int(b, key, 1, -1);
}

static tutti_value find_value(builder *b, const json_t *name)
{
    const char *text = json_string_value(name);
    const json_t *value = text ? json_object_get(b->values, text) : NULL;
    if (value) return (tutti_value)json_integer_value(value);
    if (text)
        refuse(b, "no layer before it is called \"%.64s\"", text);
    else
        refuse(b, "\"of\" must be the name of a layer, or a list of names");
    return -1;
}

/* The values that a layer reads; returns how many, at most MOST_VALUES. */
static int read_values(builder *b, tutti_value x[MOST_VALUES])
{
    const json_t *of = json_object_get(b->layer, "of");
    if (!of) {
        x[0] = b->last;
        return 1;
    }
    if (!json_is_array(of)) {
        x[0] = find_value(b, of);
        return 1;
    }
    const size_t n = json_array_size(of);
    if (n < 1 || n > MOST_VALUES) {
        refuse(b, "\"of\" must name 1 to %d layers", MOST_VALUES);
        return 1;
    }
    for (size_t i = 0; i < n; i++) x[i] = find_value(b, json_array_get(of, i));
    return (int)n;
}

/* ---- kinds ---- */

typedef tutti_value append(builder *b, const tutti_value x[], int n);

static tutti_value append_conv(builder *b, const tutti_value x[], int n)
{
    tutti_conv_layer conv = {.K = read_width(b, "filters"),
        .groups = read_int(b, "groups", 1, 1),
        .bias = read_flag(b, "bias"),
        .init = read_init(b, TUTTI_INIT_HE_FAN_OUT)};
    int64_t S, stride, pad;
    read_pair(b, "window", 1, -1, &conv.R, &S);
    read_pair(b, "stride", 1, 1, &conv.stride, &stride);
    read_pair(b, "pad", 0, 0, &conv.pad, &pad);
    if (S != conv.R || stride != conv.stride || pad != conv.pad) {
        conv.S = S;
        conv.stride_s = stride;
        conv.pad_s = pad;
    }
    (void)n;
    return b->status ? -1 : tutti_net_conv(b->net, b->name, x[0], &conv);
}

static tutti_value append_dense(builder *b, const tutti_value x[], int n)
{
    const int64_t K = read_width(b, "features");
    const tutti_init init = read_init(b, TUTTI_INIT_UNIFORM_FAN_IN);
    (void)n;
    return b->status ? -1 : tutti_net_dense(b->net, b->name, x[0], K, init);
}

static tutti_value append_norm(builder *b, const tutti_value x[], int n)
{
    const tutti_norm_layer norm = {.relu = read_flag(b, "relu"),
        .limit = (float)read_real(b, "limit", 1e-6, 1e6, 0),
        .last = read_flag(b, "last"),
        .eps = (float)read_real(b, "eps", 1e-12, 1, 1e-5)};
    (void)n;
    return b->status ? -1 : tutti_net_batch_norm(b->net, b->name, x[0], &norm);
}

static tutti_value append_relu(builder *b, const tutti_value x[], int n)
{
    const double limit = read_real(b, "limit", 1e-6, 1e6, 0);
    (void)n;
    if (b->status) return -1;
    return limit > 0 ? tutti_net_clipped_relu(b->net, b->name, x[0], (float)limit)
                     : tutti_net_relu(b->net, b->name, x[0]);
}

static tutti_value append_add(builder *b, const tutti_value x[], int n)
{
    const int relu = read_flag(b, "relu");
    if (n != 2) refuse(b, "\"of\" must name two layers");
    return b->status ? -1 : tutti_net_add(b->net, b->name, x[0], x[1], relu);
}

static tutti_value append_concat(builder *b, const tutti_value x[], int n)
{
    return tutti_net_concat(b->net, b->name, n, x);
}

static void name_value(builder *b, const char *name, tutti_value value)
{
    if (json_object_get(b->values, name))
        refuse(b, "\"%.64s\" is the name of a layer before it", name);
    else if (json_object_set_new(b->values, name, json_integer(value)))
        b->status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the layers of %s", b->file);
}

/* Its values are NAME.0, NAME.1 ... */
static tutti_value append_split(builder *b, const tutti_value x[], int n)
{
    const json_t *channels = json_object_get(b->layer, "channels");
    const size_t parts = json_array_size(channels);
    int64_t C[MOST_VALUES];
    tutti_value value[MOST_VALUES];
    (void)n;
    if (!json_is_array(channels) || parts < 1 || parts > MOST_VALUES) {
        refuse(b, "\"channels\" must be a list of 1 to %d numbers", MOST_VALUES);
        return -1;
    }
    for (size_t i = 0; i < parts; i++)
        C[i] = read_int_of(b, json_array_get(channels, i), "channels", 1, -1);
    if (b->status) return -1;
    tutti_net_split(b->net, b->name, x[0], (int)parts, C, value);
    for (size_t i = 0; i < parts; i++) {
        char name[96];
        snprintf(name, sizeof name, "%.80s.%d", b->name, (int)i);
        name_value(b, name, value[i]);
    }
    return value[0];
}

static tutti_value append_pool(builder *b, const tutti_value x[], int n)
{
    const tutti_pool_layer pool = {.R = read_int(b, "window", 1, -1),
        .stride = read_int(b, "stride", 1, 1),
        .pad = read_int(b, "pad", 0, 0),
        .average = strcmp(b->kind, "avg-pool") == 0,
        .ceiling = read_flag(b, "ceiling"),
        .counts_padding = read_flag(b, "counts-padding")};
    (void)n;
    return b->status ? -1 : tutti_net_pool(b->net, b->name, x[0], &pool);
}

static tutti_value append_global_pool(builder *b, const tutti_value x[], int n)
{
    (void)n;
    return tutti_net_global_avg_pool(b->net, b->name, x[0]);
}

static tutti_value append_lrn(builder *b, const tutti_value x[], int n)
{
    const tutti_lrn_layer lrn = {.size = read_int(b, "size", 1, -1),
        .alpha = (float)read_real(b, "alpha", 0, 1e6, 1e-4),
        .beta = (float)read_real(b, "beta", 0, 1e6, 0.75),
        .k = (float)read_real(b, "k", 1e-6, 1e6, 1)};
    (void)n;
    return b->status ? -1 : tutti_net_lrn(b->net, b->name, x[0], &lrn);
}

static tutti_value append_dropout(builder *b, const tutti_value x[], int n)
{
    const double rate = read_real(b, "rate", 0, 0.999, NAN);
    (void)n;
    return b->status ? -1 : tutti_net_dropout(b->net, b->name, x[0], (float)rate);
}

static tutti_value append_shortcut(builder *b, const tutti_value x[], int n)
{
    const int64_t K = read_int(b, "filters", 1, -1), stride = read_int(b, "stride", 1, 1);
    (void)n;
    return b->status ? -1 : tutti_net_shortcut(b->net, b->name, x[0], K, stride);
}

/* A classifier beside the result: it reads a value and makes none. */
static tutti_value append_auxiliary(builder *b, const tutti_value x[], int n)
{
    const double weight = read_real(b, "weight", 1e-6, 1e6, NAN);
    (void)n;
    if (!b->status) tutti_net_auxiliary(b->net, x[0], weight);
    return b->last;
}

static tutti_value append_scale(builder *b, const tutti_value x[], int n)
{
    const char *parameter = json_string_value(json_object_get(b->layer, "parameter"));
    const double rate = read_real(b, "rate", 0, 1e6, 1),
                 decay = read_real(b, "weight-decay", 0, 1e6, 1);
    (void)n;
    if (!parameter) refuse(b, "\"parameter\" must be \"weight\", \"bias\" or \"scaleshift\"");
    if (!b->status) tutti_net_scale(b->net, x[0], parameter, rate, decay);
    return b->last;
}

/* nameless: it is no layer of the net, only said of one. */
static const struct kind {
    const char *name;
    append *append;
    int values, nameless; /* values: how many it reads; 0: any */
    const char *keys[MOST_KEYS];
} kinds[] = {
    {"conv", append_conv, 1, 0, {"filters", "window", "stride", "pad", "groups", "bias", "init"}},
    {"dense", append_dense, 1, 0, {"features", "init"}},
    {"norm", append_norm, 1, 0, {"relu", "limit", "last", "eps"}},
    {"relu", append_relu, 1, 0, {"limit"}},
    {"add", append_add, 2, 0, {"relu"}},
    {"concat", append_concat, 0, 0, {NULL}},
    {"split", append_split, 1, 0, {"channels"}},
    {"max-pool", append_pool, 1, 0, {"window", "stride", "pad", "ceiling"}},
    {"avg-pool", append_pool, 1, 0, {"window", "stride", "pad", "ceiling", "counts-padding"}},
    {"global-avg-pool", append_global_pool, 1, 0, {NULL}},
    {"lrn", append_lrn, 1, 0, {"size", "alpha", "beta", "k"}},
    {"dropout", append_dropout, 1, 0, {"rate"}},
    {"shortcut", append_shortcut, 1, 0, {"filters", "stride"}},
    {"auxiliary", append_auxiliary, 1, 1, {"weight"}},
    {"scale", append_scale, 1, 1, {"parameter", "rate", "weight-decay"}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *find_kind(builder *b)
{
    char names[256] = "";
    for (int i = 0; i < KINDS; i++) {
        if (b->kind && strcmp(b->kind, kinds[i].name) == 0) return &kinds[i];
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
            kinds[i].name);
    }
    refuse(b, "\"is\" must be one of %s", names);
    return NULL;
}

static void check_keys(builder *b, const struct kind *kind)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)b->layer, key, value)
    {
        int known = strcmp(key, "is") == 0 || strcmp(key, "of") == 0;
        known |= !kind->nameless && strcmp(key, "name") == 0;
        for (int i = 0; i < MOST_KEYS && kind->keys[i]; i++)
            known |= strcmp(key, kind->keys[i]) == 0;
        if (!known) refuse(b, "\"%.64s\" is no key of %s", key, kind->name);
    }
}

static void append_layer(builder *b)
{
    tutti_value x[MOST_VALUES] = {-1};
    b->kind = json_string_value(json_object_get(b->layer, "is"));
    b->name = json_string_value(json_object_get(b->layer, "name"));
    if (!json_is_object(b->layer)) refuse(b, "it must be an object: {\"is\": \"conv\", ...}");
    const struct kind *kind = b->status ? NULL : find_kind(b);
    if (!kind) return;
    check_keys(b, kind);
    if (!kind->nameless && (!b->name || !*b->name)) refuse(b, "it has no \"name\"");
    const int n = read_values(b, x);
    if (kind->values == 1 && n != 1) refuse(b, "%s reads one layer", kind->name);
    if (b->status) return;
    b->last = kind->append(b, x, n);
    if (!b->status && !kind->nameless) name_value(b, b->name, b->last);
}

tutti_status tutti_architecture_append(const char *file, const json_t *layers, tutti_net *net,
    int64_t H, int64_t W, int64_t C, int64_t classes)
{
    builder b = {.file = file, .net = net, .classes = classes, .values = json_object()};
    if (!b.values) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the layers of %s", file);
    b.last = tutti_net_input(net, H, W, C);
    name_value(&b, "input", b.last);
    for (size_t i = 0; i < json_array_size(layers) && !b.status && !tutti_net_status(net); i++) {
        b.layer = json_array_get(layers, i);
        b.number = (int)i + 1;
        append_layer(&b);
    }
    if (!b.status && !tutti_net_status(net)) tutti_net_output(net, b.last);
    json_decref(b.values);
    return b.status;
}
