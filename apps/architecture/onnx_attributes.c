#include "apps/architecture/onnx_attributes.h"

#include <string.h>

typedef tutti_onnx_graph graph;
typedef TuttiOnnx__Tensor tensor;

const TuttiOnnx__Attribute *tutti_onnx_attribute(const graph *g, const char *name)
{
    for (size_t a = 0; a < g->node->n_attribute; a++)
        if (g->node->attribute[a]->name && strcmp(g->node->attribute[a]->name, name) == 0)
            return g->node->attribute[a];
    return NULL;
}

int64_t tutti_onnx_int(const graph *g, const char *name, int64_t fallback)
{
    const TuttiOnnx__Attribute *a = tutti_onnx_attribute(g, name);
    return a ? a->i : fallback;
}

double tutti_onnx_float(const graph *g, const char *name, double fallback)
{
    const TuttiOnnx__Attribute *a = tutti_onnx_attribute(g, name);
    return a ? (double)a->f : fallback;
}

void tutti_onnx_ints(
    graph *g, const char *name, size_t count, int64_t low, int64_t fallback, int64_t size[])
{
    const TuttiOnnx__Attribute *a = tutti_onnx_attribute(g, name);
    for (size_t i = 0; i < count; i++) size[i] = fallback;
    if (!a) return;
    if (a->n_ints != count)
        return tutti_onnx_refuse(
            g, "\"%s\" must have %zu numbers: images are two-dimensional", name, count);
    for (size_t i = 0; i < count; i++) {
        if (a->ints[i] < low || a->ints[i] > TUTTI_ONNX_MOST)
            return tutti_onnx_refuse(g, "\"%s\" has %lld", name, (long long)a->ints[i]);
        size[i] = a->ints[i];
    }
}

void tutti_onnx_must_be(graph *g, const char *name, int64_t wanted)
{
    const int64_t is = tutti_onnx_int(g, name, wanted);
    if (is != wanted)
        tutti_onnx_refuse(
            g, "\"%s\" is %lld, and layers have %lld", name, (long long)is, (long long)wanted);
}

void tutti_onnx_must_be_one(graph *g, const char *name)
{
    const double is = tutti_onnx_float(g, name, 1);
    if (!(is >= 1 && is <= 1)) tutti_onnx_refuse(g, "\"%s\" is %g, and layers have 1", name, is);
}

void tutti_onnx_check_pads(graph *g)
{
    const TuttiOnnx__Attribute *a = tutti_onnx_attribute(g, "auto_pad");
    const int none = !a || !a->s.len || (a->s.len == 6 && memcmp(a->s.data, "NOTSET", 6) == 0) ||
                     (a->s.len == 5 && memcmp(a->s.data, "VALID", 5) == 0);
    if (!none) tutti_onnx_refuse(g, "\"auto_pad\" must be NOTSET: pads must be numbers");
}

void tutti_onnx_check_dilations(graph *g)
{
    int64_t dilation[2];
    tutti_onnx_ints(g, "dilations", 2, 1, 1, dilation);
    if (dilation[0] != 1 || dilation[1] != 1)
        tutti_onnx_refuse(g, "\"dilations\" must be 1: there are no dilated windows");
}

/* ---- tensors ---- */

int tutti_onnx_integers(const tensor *t, int64_t number[], size_t most)
{
    const size_t raw = t ? t->raw_data.len / sizeof *number : 0;
    const size_t count = t && t->n_int64_data ? t->n_int64_data : raw;
    if (!t || t->data_type != TUTTI_ONNX_INT64 || count > most) return -1;
    if (t->n_int64_data)
        memcpy(number, t->int64_data, count * sizeof *number);
    else if (count)
        memcpy(number, t->raw_data.data, count * sizeof *number);
    return (int)count;
}

double tutti_onnx_real(const tensor *t, double fallback)
{
    float number;
    if (!t || t->data_type != TUTTI_ONNX_FLOAT) return fallback;
    if (t->n_float_data) return (double)t->float_data[0];
    if (t->raw_data.len < sizeof number) return fallback;
    memcpy(&number, t->raw_data.data, sizeof number);
    return (double)number;
}
