#include "apps/architecture/onnx.h"

#include "apps/architecture/onnx_graph.h"
#include "apps/architecture/onnx_operators.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

typedef TuttiOnnx__Node node;

/* Which nodes the first output needs, and who reads what. The nodes are in an order in which they can run. */
static void find_readers(tutti_onnx_graph *g)
{
    const char *output = tutti_onnx_text(g->graph->output[0]->name);
    tutti_onnx_set_number(g, g->reader_of, output, -1); /* who takes the result reads it, too */
    for (size_t n = g->graph->n_node; n-- > 0 && !g->status;) {
        const node *of = g->graph->node[n];
        int needed = 0;
        for (size_t o = 0; o < of->n_output; o++)
            needed |= json_object_get(g->reader_of, tutti_onnx_text(of->output[o])) != NULL;
        g->skip[n] = (char)!needed;
        for (size_t i = 0; needed && i < of->n_input; i++) {
            const char *name = tutti_onnx_text(of->input[i]);
            tutti_onnx_set_number(
                g, g->reader_of, name, json_object_get(g->reader_of, name) ? -1 : (int)n);
        }
    }
}

static void add_initializers(tutti_onnx_graph *g)
{
    for (size_t i = 0; i < g->graph->n_initializer; i++)
        tutti_onnx_add_tensor(
            g, tutti_onnx_text(g->graph->initializer[i]->name), g->graph->initializer[i]);
}

/* The size of an axis; -1: it is not fixed, or the value has no such axis. */
static int64_t size_of(const TuttiOnnx__ValueInfo *value, size_t axis)
{
    const TuttiOnnx__Shape *shape =
        value->type && value->type->tensor_type ? value->type->tensor_type->shape : NULL;
    if (!shape || axis >= shape->n_dim || !shape->dim[axis]->has_dim_value) return -1;
    return shape->dim[axis]->dim_value;
}

static size_t rank_of(const TuttiOnnx__ValueInfo *value)
{
    const TuttiOnnx__Shape *shape =
        value->type && value->type->tensor_type ? value->type->tensor_type->shape : NULL;
    return shape ? shape->n_dim : 0;
}

/* The images: the first input that is no tensor (files of old versions list these as inputs, too). */
static void add_images(tutti_onnx_graph *g)
{
    const TuttiOnnx__ValueInfo *images = NULL;
    for (size_t i = g->graph->n_input; i-- > 0;)
        if (tutti_onnx_number(g->tensor_of, tutti_onnx_text(g->graph->input[i]->name), -1) < 0)
            images = g->graph->input[i];
    if (!images) return tutti_onnx_refuse(g, "the graph has no input");
    tutti_onnx_value value = {.name = "input",
        .layer = -1,
        .C = size_of(images, 1),
        .H = size_of(images, 2),
        .W = size_of(images, 3)};
    const int open = value.C < 1 || value.H < 1 || value.W < 1;
    if (rank_of(images) != 4 || open || value.C > TUTTI_ONNX_SIDE)
        return tutti_onnx_refuse(g,
            "the input \"%.80s\" must be images (N,C,H,W) of one size, which the file names: "
            "export the network with a fixed height and width",
            tutti_onnx_text(images->name));
    tutti_onnx_add_value(g, tutti_onnx_text(images->name), &value);
}

static void read_nodes(tutti_onnx_graph *g)
{
    for (g->number = 0; g->number < g->graph->n_node && !g->status; g->number++) {
        if (g->skip[g->number]) continue;
        g->node = g->graph->node[g->number];
        tutti_onnx_translate(g);
    }
    g->node = NULL;
}

/* The layer that makes the classes has as many of them as a data set: it is the last one, or a convolution
 * before what leaves its channels. */
static void name_classes(tutti_onnx_graph *g, const tutti_onnx_value *result)
{
    static const char *const leaves[] = {
        "relu", "global-avg-pool", "avg-pool", "max-pool", "dropout"};
    for (int l = result->layer; l >= 0; l--) {
        json_t *layer = json_array_get(g->layers, (size_t)l);
        const char *is = json_string_value(json_object_get(layer, "is"));
        int goes_on = 0;
        if (strcmp(is, "dense") == 0)
            json_object_set_new(layer, "features", json_string("classes"));
        else if (strcmp(is, "conv") == 0)
            json_object_set_new(layer, "filters", json_string("classes"));
        for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
            goes_on |= strcmp(is, leaves[i]) == 0;
        if (!goes_on || json_object_get(layer, "of")) return;
    }
}

static json_t *finish(tutti_onnx_graph *g, const tutti_onnx_value *images)
{
    const TuttiOnnx__ValueInfo *output = g->graph->output[0];
    const int number = tutti_onnx_number(g->value_of, tutti_onnx_text(output->name), -1);
    if (number < 0) {
        tutti_onnx_refuse(g, "no layer makes the output \"%.80s\" from the images",
            tutti_onnx_text(output->name));
        return NULL;
    }
    const tutti_onnx_value *result = &g->value[number];
    const int64_t stated = size_of(output, 1);
    if (result->H != 1 || result->W != 1 || (stated > 0 && stated != result->C)) {
        tutti_onnx_refuse(g, "the output \"%.80s\" must be (N,classes), a number for each class",
            tutti_onnx_text(output->name));
        return NULL;
    }
    name_classes(g, result);
    return json_pack("{s:{s:I, s:I, s:I, s:I}, s:O}", "input", "height", (json_int_t)images->H,
        "width", (json_int_t)images->W, "channels", (json_int_t)images->C, "classes",
        (json_int_t)result->C, "layers", g->layers);
}

static json_t *read_graph(tutti_onnx_graph *g)
{
    const size_t nodes = g->graph->n_node;
    g->layers = json_array();
    g->tensor_of = json_object();
    g->value_of = json_object();
    g->reader_of = json_object();
    g->tensor = calloc(g->graph->n_initializer + nodes + 1, sizeof *g->tensor);
    g->skip = calloc(nodes + 1, 1);
    if (!g->layers || !g->tensor_of || !g->value_of || !g->reader_of || !g->tensor || !g->skip) {
        g->status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its nodes", g->file);
        return NULL;
    }
    if (!g->graph->n_output) tutti_onnx_refuse(g, "the graph has no output");
    if (!g->status) find_readers(g);
    if (!g->status) add_initializers(g);
    if (!g->status) add_images(g);
    const tutti_onnx_value images = g->status ? (tutti_onnx_value){0} : g->value[0];
    if (!g->status) read_nodes(g);
    return g->status ? NULL : finish(g, &images);
}

void tutti_onnx_close(tutti_onnx_graph *g)
{
    json_decref(g->layers);
    json_decref(g->tensor_of);
    json_decref(g->value_of);
    json_decref(g->reader_of);
    for (tutti_onnx_numbers *made = g->made, *next; made; made = next) {
        next = made->next;
        free(made);
    }
    free(g->tensor);
    free(g->value);
    free(g->weight);
    free(g->skip);
    if (g->model) tutti_onnx__model__free_unpacked(g->model, NULL);
}

tutti_status tutti_onnx_open(
    const char *file, const void *data, size_t bytes, tutti_onnx_graph *g, json_t **network)
{
    *network = NULL;
    g->file = file;
    g->model = tutti_onnx__model__unpack(NULL, bytes, data);
    if (!g->model || !g->model->graph)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "%s: is no ONNX model, or damaged: get the file anew", file);
    g->graph = g->model->graph;
    *network = read_graph(g);
    return g->status;
}

const char *tutti_architecture_lacks(void)
{
    return NULL;
}

tutti_status tutti_architecture_from_onnx(
    const char *file, const void *data, size_t bytes, char **text)
{
    tutti_onnx_graph g = {.file = file};
    json_t *network;
    tutti_status status = tutti_onnx_open(file, data, bytes, &g, &network);
    *text = status || !network ? NULL : json_dumps(network, JSON_COMPACT);
    if (!status && !*text)
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for the network", file);
    json_decref(network);
    tutti_onnx_close(&g);
    return status;
}
