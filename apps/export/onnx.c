#include "apps/export/onnx.h"

#include "apps/export/onnx_nodes.h"
#include "apps/session/weights.h"
#include "apps/train/description.h"
#include "apps/train/torch.h"
#include "config.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/net/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of onnx.proto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7 };
enum { MODEL_OPSET = 8, MODEL_METADATA = 14, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_FLOAT = 1 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TYPE_ELEMENT = 1, TYPE_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAMETER = 2 };

static const size_t most_bytes = INT32_MAX; /* of a message */

typedef struct saving {
    tutti_network *network;
    char *needed; /* of each layer */
    int number;   /* of the tensor in the walk */
    size_t bytes; /* of all weights, with their heads */
    tutti_file *file;
} saving;

/* ---- weights ---- */

/* The parts of a tensor of the walk, 0 where the model does not have it: it is the optimizer's, or
 * an auxiliary classifier's. */
static int parts_of(
    const saving *s, int number, const tutti_tensor *t, tutti_torch_part part[TUTTI_TORCH_PARTS])
{
    const char *dot = strrchr(t->name, '.');
    int evaluated =
        number < s->network->session.step->parameters || (dot && strcmp(dot, ".running") == 0);
    const int layer = tutti_torch_layer(s->network->session.net, t->name);
    if (!evaluated || layer < 0 || !s->needed[layer]) return 0;
    return tutti_torch_describe(s->network->session.net, s->network->model->name, t, t->name, part);
}

static size_t part_bytes(const tutti_torch_part *part)
{
    return (size_t)part->count * sizeof(float);
}

/* A TensorProto in its graph, up to its elements. */
static tutti_protobuf make_head(const tutti_torch_part *part)
{
    tutti_protobuf head = {0}, tensor = {0};
    for (int d = 0; d < part->rank; d++) tutti_protobuf_number(&tensor, TENSOR_DIMS, part->dim[d]);
    tutti_protobuf_number(&tensor, TENSOR_TYPE, TENSOR_FLOAT);
    tutti_protobuf_text(&tensor, TENSOR_NAME, part->name);
    tutti_protobuf_begin(&tensor, TENSOR_RAW, part_bytes(part));
    tutti_protobuf_begin(&head, GRAPH_INITIALIZER, tensor.size + part_bytes(part));
    tutti_protobuf_append(&head, &tensor);
    return head;
}

static tutti_status add_part(saving *s, const tutti_torch_part *part)
{
    tutti_protobuf head = make_head(part);
    tutti_status status =
        head.failed ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for the tensor %s", part->name)
                    : TUTTI_OK;
    s->bytes += head.size + part_bytes(part);
    tutti_protobuf_free(&head);
    return status;
}

static tutti_status add_sizes(saving *s)
{
    const tutti_training_session *session = &s->network->session;
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_weights_count(session) && !status; i++) {
        const tutti_tensor *t =
            tutti_graph_get_tensor(session->graph, tutti_weights_tensor(session, i));
        int parts = parts_of(s, i, t, part);
        for (int p = 0; p < parts && !status; p++) status = add_part(s, &part[p]);
    }
    return status;
}

static tutti_status write_part(saving *s, const tutti_torch_part *part, const float *ours)
{
    float *theirs = malloc(part_bytes(part));
    tutti_protobuf head = make_head(part);
    tutti_status status = TUTTI_OK;
    if (!theirs || head.failed) {
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the tensor %s", part->name);
    } else {
        tutti_torch_pack(part, ours, theirs);
        tutti_file_write(s->file, head.data, head.size);
        tutti_file_write(s->file, theirs, part_bytes(part));
    }
    tutti_protobuf_free(&head);
    free(theirs);
    return status;
}

static tutti_status write_weight(void *ctx, const tutti_tensor *t, void *data)
{
    saving *s = ctx;
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    int parts = parts_of(s, s->number++, t, part);
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < parts && !status; p++) status = write_part(s, &part[p], data);
    return status;
}

/* ---- the model ---- */

/* An input or output of the graph: (N, sizes) of float32. */
static void add_value(
    tutti_protobuf *graph, int field, const char *name, int sizes, const int64_t size[])
{
    tutti_protobuf dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
    tutti_protobuf_text(&dim, DIM_PARAMETER, "N");
    tutti_protobuf_message(&shape, SHAPE_DIM, &dim);
    for (int i = 0; i < sizes; i++) {
        tutti_protobuf_number(&dim, DIM_VALUE, size[i]);
        tutti_protobuf_message(&shape, SHAPE_DIM, &dim);
    }
    tutti_protobuf_number(&tensor, TYPE_ELEMENT, TENSOR_FLOAT);
    tutti_protobuf_message(&tensor, TYPE_SHAPE, &shape);
    tutti_protobuf_message(&type, TYPE_TENSOR, &tensor);
    tutti_protobuf_text(&value, VALUE_NAME, name);
    tutti_protobuf_message(&value, VALUE_TYPE, &type);
    tutti_protobuf_message(graph, field, &value);
}

static void add_metadata(tutti_protobuf *model, const char *key, const char *text)
{
    tutti_protobuf pair = {0};
    if (!text) return;
    tutti_protobuf_text(&pair, PAIR_KEY, key);
    tutti_protobuf_text(&pair, PAIR_VALUE, text);
    tutti_protobuf_message(model, MODEL_METADATA, &pair);
}

/* A ModelProto without its graph. */
static void describe_model(const tutti_network *n, tutti_protobuf *model)
{
    tutti_description_text about;
    tutti_protobuf opset = {0};
    tutti_protobuf_number(model, MODEL_IR, TUTTI_ONNX_IR);
    tutti_protobuf_text(model, MODEL_PRODUCER, "Tutti");
    tutti_protobuf_text(model, MODEL_PRODUCER_VERSION, PACKAGE_VERSION);
    tutti_protobuf_text(&opset, OPSET_DOMAIN, "");
    tutti_protobuf_number(&opset, OPSET_VERSION, TUTTI_ONNX_OPSET);
    tutti_protobuf_message(model, MODEL_OPSET, &opset);
    tutti_description_of(n->weights.file, &about);
    for (int k = 0; k < TUTTI_DESCRIPTION_KEYS; k++)
        add_metadata(model, tutti_description_keys[k], about.value[k]);
    add_metadata(model, "input",
        n->input.C == 1 ? "images (N,1,H,W), grey: (pixel / 255 - mean) / deviation"
                        : "images (N,3,H,W), red, green, blue: (pixel / 255 - mean) / deviation");
}

/* A GraphProto without its weights. */
static tutti_status describe_graph(saving *s, tutti_protobuf *graph)
{
    const tutti_network *n = s->network;
    const tutti_model_input *in = &n->input;
    tutti_protobuf_text(graph, GRAPH_NAME, n->model->name);
    add_value(graph, GRAPH_INPUT, "images", 3, (int64_t[]){in->C, in->H, in->W});
    add_value(graph, GRAPH_OUTPUT, "logits", 1, (int64_t[]){in->classes});
    return tutti_onnx_nodes(&n->session, n->model->name, s->needed, graph);
}

static tutti_status write_file(
    saving *s, const char *path, const tutti_protobuf *model, const tutti_protobuf *graph)
{
    const tutti_training_session *session = &s->network->session;
    tutti_file file;
    tutti_status status =
        tutti_file_begin(&(tutti_file_options){.what = "ONNX file", .path = path}, &file);
    if (status) return status;
    s->file = &file;
    tutti_file_write(&file, model->data, model->size);
    tutti_file_write(&file, graph->data, graph->size);
    status = tutti_weights_walk(session, tutti_weights_count(session), TUTTI_READ, write_weight, s);
    if (status) file.error = ENOMEM;
    tutti_status ended = tutti_file_end(&file);
    return status ? status : ended;
}

static tutti_status save(saving *s, const char *path, tutti_protobuf *model, tutti_protobuf *graph)
{
    describe_model(s->network, model);
    tutti_status status = describe_graph(s, graph);
    if (!status) status = add_sizes(s);
    if (status) return status;
    if (s->bytes + graph->size > most_bytes)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: the model has %zu bytes, and an ONNX file less than 2^31", path,
            s->bytes + graph->size);
    tutti_protobuf_begin(model, MODEL_GRAPH, graph->size + s->bytes);
    if (model->failed || graph->failed)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for the model", path);
    return write_file(s, path, model, graph);
}

tutti_status tutti_onnx_save(tutti_network *network, const char *path)
{
    tutti_protobuf model = {0}, graph = {0};
    saving s = {.network = network};
    s.needed = calloc((size_t)network->session.net->layers, 1);
    tutti_status status = s.needed ? save(&s, path, &model, &graph)
                                   : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of layers");
    tutti_protobuf_free(&model);
    tutti_protobuf_free(&graph);
    free(s.needed);
    return status;
}
