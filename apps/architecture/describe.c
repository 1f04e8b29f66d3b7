#include "apps/architecture/architecture.h"

#include "dag/base/log.h"
#include "dag/net/layer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE = TUTTI_LAYER_NAME + 16 };

/* "conv1", or "split1.2" of a layer with several values. */
static json_t *name_of(const tutti_net *net, tutti_value value)
{
    const tutti_source *source = &net->source[value];
    const tutti_layer *layer = &net->layer[source->layer];
    char name[VALUE];
    snprintf(name, sizeof name, layer->outputs > 1 ? "%s.%d" : "%s", layer->name, source->output);
    return json_string(source->layer ? name : "input");
}

/* Appends a key, and takes the value. */
static void put(json_t *layer, const char *key, json_t *value)
{
    json_object_set_new(layer, key, value);
}

static void put_int(json_t *layer, const char *key, int64_t value, int64_t fallback)
{
    if (value != fallback) put(layer, key, json_integer(value));
}

static void put_flag(json_t *layer, const char *key, int value)
{
    if (value) put(layer, key, json_true());
}

static void put_pair(json_t *layer, const char *key, int64_t high, int64_t wide, int64_t fallback)
{
    if (high == wide)
        put_int(layer, key, high, fallback);
    else
        put(layer, key, json_pack("[I, I]", (json_int_t)high, (json_int_t)wide));
}

static void put_real(json_t *layer, const char *key, float value, double fallback)
{
    char text[32];
    if (!(value > (float)fallback || value < (float)fallback)) return;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        const float read = strtof(text, NULL);
        if (read >= value && read <= value) break;
    }
    put(layer, key, json_real(atof(text)));
}

static void put_init(json_t *layer, tutti_init init, tutti_init fallback)
{
    static const char *const names[] = {"he-fan-out", "he-fan-in", "uniform-fan-in"};
    if (init != fallback) put(layer, "init", json_string(names[init]));
}

/* ---- kinds ---- */

static void put_conv(json_t *o, const tutti_layer *layer)
{
    const tutti_conv_layer *c = tutti_layer_settings(layer);
    put_int(o, "filters", c->K, -1);
    put_pair(o, "window", c->R, c->S, -1);
    put_pair(o, "stride", c->stride, c->stride_s, 1);
    put_pair(o, "pad", c->pad, c->pad_s, 0);
    put_int(o, "groups", c->groups, 1);
    put_flag(o, "bias", c->bias);
    put_init(o, c->init, TUTTI_INIT_HE_FAN_OUT);
}

static void put_dense(json_t *o, const tutti_layer *layer)
{
    const tutti_dense_layer *d = tutti_layer_settings(layer);
    put(o, "features", json_integer(d->K));
    put_init(o, d->init, TUTTI_INIT_UNIFORM_FAN_IN);
}

static void put_norm(json_t *o, const tutti_layer *layer)
{
    const tutti_norm_layer *n = tutti_layer_settings(layer);
    put_flag(o, "relu", n->relu);
    put_real(o, "limit", n->limit, 0);
    put_flag(o, "last", n->last);
    put_real(o, "eps", n->eps, 1e-5);
}

static void put_add(json_t *o, const tutti_layer *layer)
{
    const int *relu = tutti_layer_settings(layer);
    put_flag(o, "relu", *relu);
}

static void put_split(json_t *o, const tutti_layer *layer)
{
    json_t *channels = json_array();
    for (int i = 0; i < layer->outputs; i++)
        json_array_append_new(channels, json_integer(layer->out[i].C));
    put(o, "channels", channels);
}

static void put_pool(json_t *o, const tutti_layer *layer)
{
    const tutti_pool_layer *p = tutti_layer_settings(layer);
    put_int(o, "window", p->R, -1);
    put_int(o, "stride", p->stride, 1);
    put_int(o, "pad", p->pad, 0);
    put_flag(o, "ceiling", p->ceiling);
    put_flag(o, "counts-padding", p->counts_padding);
}

static void put_lrn(json_t *o, const tutti_layer *layer)
{
    const tutti_lrn_layer *l = tutti_layer_settings(layer);
    put_int(o, "size", l->size, -1);
    put_real(o, "alpha", l->alpha, 1e-4);
    put_real(o, "beta", l->beta, 0.75);
    put_real(o, "k", l->k, 1);
}

static void put_dropout(json_t *o, const tutti_layer *layer)
{
    const float *rate = tutti_layer_settings(layer);
    put_real(o, "rate", *rate, -1);
}

static void put_limit(json_t *o, const tutti_layer *layer)
{
    const float *limit = tutti_layer_settings(layer);
    put_real(o, "limit", *limit, 0);
}

static void put_shortcut(json_t *o, const tutti_layer *layer)
{
    const tutti_shortcut_layer *s = tutti_layer_settings(layer);
    put_int(o, "filters", s->K, -1);
    put_int(o, "stride", s->stride, 1);
}

static void put_nothing(json_t *o, const tutti_layer *layer)
{
    (void)o, (void)layer;
}

/* By the name of dag/net, and by that of texts. */
static const struct kind {
    const char *kind, *is;
    void (*put)(json_t *o, const tutti_layer *layer);
} kinds[] = {
    {"conv", "conv", put_conv},
    {"dense", "dense", put_dense},
    {"norm", "norm", put_norm},
    {"relu", "relu", put_nothing},
    {"clipped relu", "relu", put_limit},
    {"add", "add", put_add},
    {"concat", "concat", put_nothing},
    {"split", "split", put_split},
    {"max pool", "max-pool", put_pool},
    {"average pool", "avg-pool", put_pool},
    {"global average pool", "global-avg-pool", put_nothing},
    {"lrn", "lrn", put_lrn},
    {"dropout", "dropout", put_dropout},
    {"shortcut", "shortcut", put_shortcut},
};

/* Whether a value is a classifier's result. */
static int is_result(const tutti_net *net, tutti_value value)
{
    int is = value == net->output;
    for (int i = 0; i < net->auxiliaries; i++) is |= value == net->auxiliary[i].logits;
    return is;
}

/* What this layer reads, unless it is the value before it. */
static void put_inputs(json_t *o, const tutti_net *net, int number)
{
    const tutti_layer *layer = &net->layer[number], *before = layer - 1;
    if (layer->inputs == 1 && layer->in[0] == before->value && before->outputs == 1) return;
    if (layer->inputs == 1) return put(o, "of", name_of(net, layer->in[0]));
    json_t *of = json_array();
    for (int i = 0; i < layer->inputs; i++) json_array_append_new(of, name_of(net, layer->in[i]));
    put(o, "of", of);
}

static json_t *describe_layer(const tutti_net *net, int number)
{
    const tutti_layer *layer = &net->layer[number];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kind, layer->kind->name) != 0) continue;
        json_t *o = json_pack("{s:s, s:s}", "is", kinds[i].is, "name", layer->name);
        put_inputs(o, net, number);
        kinds[i].put(o, layer);
        if (kinds[i].put == put_dense && is_result(net, layer->value))
            put(o, "features", json_string("classes"));
        return o;
    }
    return NULL;
}

/* What is said of a layer's parameters, behind it. */
static void append_factors(json_t *layers, const tutti_net *net, int number)
{
    const tutti_layer *layer = &net->layer[number];
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    const int n = layer->kind->parameters ? layer->kind->parameters(layer, parameter) : 0;
    for (int p = 0; p < n; p++) {
        const tutti_factors *f = &layer->factors[p];
        if (!(f->rate < 1 || f->rate > 1 || f->weight_decay < 1 || f->weight_decay > 1)) continue;
        json_array_append_new(
            layers, json_pack("{s:s, s:o, s:s, s:f, s:f}", "is", "scale", "of",
                        name_of(net, layer->value), "parameter", parameter[p].suffix, "rate",
                        f->rate, "weight-decay", f->weight_decay));
    }
}

static json_t *describe_net(const tutti_net *net)
{
    json_t *layers = json_array();
    for (int i = 1; layers && i < net->layers; i++) {
        json_t *layer = describe_layer(net, i);
        if (!layer || json_array_append_new(layers, layer)) {
            json_decref(layers);
            return NULL;
        }
        append_factors(layers, net, i);
    }
    for (int i = 0; layers && i < net->auxiliaries; i++)
        json_array_append_new(layers,
            json_pack("{s:s, s:o, s:f}", "is", "auxiliary", "of",
                name_of(net, net->auxiliary[i].logits), "weight", net->auxiliary[i].weight));
    return layers;
}

/* A layer on each line, as people write it. */
static void print_layers(const json_t *layers, FILE *out)
{
    const size_t n = json_array_size(layers);
    for (size_t i = 0; i < n; i++) {
        fputs("    ", out);
        json_dumpf(json_array_get(layers, i), out, JSON_REAL_PRECISION(9));
        fputs(i + 1 < n ? ",\n" : "\n", out);
    }
}

tutti_status tutti_architecture_print(const tutti_model *model, FILE *out)
{
    const tutti_model_input *in = &model->input;
    tutti_net *net;
    tutti_status status = tutti_model_net(model, in, &net);
    json_t *layers = status ? NULL : describe_net(net);
    if (!status && !layers) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the layers");
    if (!status) {
        fprintf(out,
            "{\n  \"input\": {\"height\": %d, \"width\": %d, \"channels\": %d, \"classes\": %d},\n"
            "  \"recipe\": {\"lr\": %g, \"weight-decay\": %g, \"label-smoothing\": %g},\n"
            "  \"layers\": [\n",
            in->H, in->W, in->C, in->classes, model->recipe.rate, model->recipe.weight_decay,
            model->recipe.label_smoothing);
        print_layers(layers, out);
        fputs("  ]\n}\n", out);
    }
    json_decref(layers);
    tutti_net_free(net);
    return status;
}
