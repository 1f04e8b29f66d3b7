#include "apps/architecture/onnx_graph.h"

#include "dag/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef TuttiOnnx__Node node;
typedef TuttiOnnx__Tensor tensor;

void tutti_onnx_refuse(tutti_onnx_graph *g, const char *format, ...)
{
    char text[512], place[160] = "";
    va_list list;
    if (g->status) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (g->node && g->node->name && *g->node->name)
        snprintf(place, sizeof place, "node %.80s (%.40s): ", g->node->name,
            tutti_onnx_text(g->node->op_type));
    else if (g->node)
        snprintf(place, sizeof place, "node %zu (%.40s): ", g->number + 1,
            tutti_onnx_text(g->node->op_type));
    g->status = tutti_fail(TUTTI_ERR_FORMAT, "%s: %s%s", g->file, place, text);
}

/* ---- names ---- */

int tutti_onnx_number(const json_t *numbers, const char *name, int fallback)
{
    const json_t *number = json_object_get(numbers, name);
    return number ? (int)json_integer_value(number) : fallback;
}

void tutti_onnx_set_number(tutti_onnx_graph *g, json_t *numbers, const char *name, int number)
{
    if (*name && json_object_set_new(numbers, name, json_integer(number)))
        tutti_onnx_refuse(g, "the name \"%.80s\" is not UTF-8", name);
}

const char *tutti_onnx_input(const tutti_onnx_graph *g, size_t input)
{
    return input < g->node->n_input ? tutti_onnx_text(g->node->input[input]) : "";
}

const char *tutti_onnx_output(const tutti_onnx_graph *g)
{
    return g->node->n_output ? tutti_onnx_text(g->node->output[0]) : "";
}

const tensor *tutti_onnx_tensor(const tutti_onnx_graph *g, size_t input)
{
    const int number = tutti_onnx_number(g->tensor_of, tutti_onnx_input(g, input), -1);
    return number < 0 ? NULL : g->tensor[number];
}

tutti_onnx_value tutti_onnx_read(tutti_onnx_graph *g, size_t input)
{
    const char *name = tutti_onnx_input(g, input);
    const int number = tutti_onnx_number(g->value_of, name, -1);
    if (number >= 0) return g->value[number];
    if (tutti_onnx_tensor(g, input))
        tutti_onnx_refuse(g, "reads the constant \"%.80s\", where a layer reads images", name);
    else
        tutti_onnx_refuse(g, "reads \"%.80s\", which no node before it makes", name);
    return (tutti_onnx_value){.layer = -1};
}

void tutti_onnx_add_value(tutti_onnx_graph *g, const char *output, const tutti_onnx_value *value)
{
    if (g->status) return;
    if (json_object_get(g->value_of, output))
        return tutti_onnx_refuse(g, "makes \"%.80s\", which a node before it makes", output);
    if (value->H > TUTTI_ONNX_SIDE || value->W > TUTTI_ONNX_SIDE || value->C > TUTTI_ONNX_MOST)
        return tutti_onnx_refuse(g, "makes images of %lld x %lld with %lld channels: too large",
            (long long)value->H, (long long)value->W, (long long)value->C);
    tutti_onnx_value *more = realloc(g->value, ((size_t)g->values + 1) * sizeof *more);
    if (!more) {
        g->status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its values", g->file);
        return;
    }
    g->value = more;
    g->value[g->values] = *value;
    tutti_onnx_set_number(g, g->value_of, output, g->values++);
}

/* There is room for a tensor of each initializer and of each node. */
void tutti_onnx_add_tensor(tutti_onnx_graph *g, const char *output, const tensor *of)
{
    g->tensor[g->tensors] = of;
    tutti_onnx_set_number(g, g->tensor_of, output, g->tensors++);
}

/* NULL: no memory. */
static tutti_onnx_numbers *make_numbers(tutti_onnx_graph *g, const char *output, int type)
{
    tutti_onnx_numbers *made = calloc(1, sizeof *made);
    if (!made) {
        g->status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its constants", g->file);
        return NULL;
    }
    tutti_onnx__tensor__init(&made->tensor);
    made->tensor.has_data_type = 1;
    made->tensor.data_type = type;
    made->next = g->made;
    g->made = made;
    tutti_onnx_add_tensor(g, output, &made->tensor);
    return made;
}

void tutti_onnx_add_numbers(
    tutti_onnx_graph *g, const char *output, int count, const int64_t number[])
{
    tutti_onnx_numbers *made = make_numbers(g, output, TUTTI_ONNX_INT64);
    if (!made) return;
    made->tensor.int64_data = made->number;
    made->tensor.n_int64_data = count <= TUTTI_ONNX_NUMBERS ? (size_t)count : 0;
    memcpy(made->number, number, made->tensor.n_int64_data * sizeof *number);
}

void tutti_onnx_add_real(tutti_onnx_graph *g, const char *output, float number)
{
    tutti_onnx_numbers *made = make_numbers(g, output, TUTTI_ONNX_FLOAT);
    if (!made) return;
    made->real = number;
    made->tensor.float_data = &made->real;
    made->tensor.n_float_data = 1;
}

void tutti_onnx_add_weight(
    tutti_onnx_graph *g, const char *layer, const char *suffix, const tensor *of, int transposed)
{
    if (g->status) return;
    tutti_onnx_weight *more = realloc(g->weight, ((size_t)g->weights + 1) * sizeof *more);
    if (!more) {
        g->status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its weights", g->file);
        return;
    }
    g->weight = more;
    tutti_onnx_weight *w = &g->weight[g->weights++];
    *w = (tutti_onnx_weight){.tensor = of, .transposed = transposed};
    snprintf(w->name, sizeof w->name, "%s.%s", layer, suffix);
}

const node *tutti_onnx_follower(const tutti_onnx_graph *g, const char *op)
{
    const int reader = tutti_onnx_number(g->reader_of, tutti_onnx_output(g), -1);
    if (reader <= (int)g->number || g->skip[reader]) return NULL;
    const node *next = g->graph->node[reader];
    return strcmp(tutti_onnx_text(next->op_type), op) == 0 && next->n_output > 0 ? next : NULL;
}

void tutti_onnx_join(tutti_onnx_graph *g, const node *follower)
{
    size_t n = g->number + 1; /* a follower comes later */
    while (g->graph->node[n] != follower) n++;
    g->skip[n] = 1;
}
