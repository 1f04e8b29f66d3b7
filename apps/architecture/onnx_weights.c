/* Source: ONNX 1.16, onnx/onnx.proto (TensorProto) and docs/ExternalData.md. */
#include "apps/architecture/onnx.h"
#include "apps/architecture/onnx_graph.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef TuttiOnnx__Tensor tensor;

enum { PREFIX = 8, SHAPE = 96, PATH = 4096, EXTERNAL = 1, MOST_RANK = 8 };

static const struct element {
    int32_t onnx;
    const char *type; /* of a safetensors file */
    size_t bytes;
} elements[] = {{1, "F32", 4}, {10, "F16", 2}, {11, "F64", 8}, {16, "BF16", 2}};

typedef struct reading {
    const tutti_onnx_graph *g;
    const tutti_onnx_weight *weight; /* that is read */
    const struct element *element;
    size_t count; /* its elements */
} reading;

/* ---- sizes ---- */

/* "(64,3,7,7)" */
static const char *print_shape(const tensor *t, char text[SHAPE])
{
    size_t used = 0;
    for (size_t d = 0; d < t->n_dims && used < SHAPE - 24; d++)
        used +=
            (size_t)snprintf(text + used, SHAPE - used, "%s%" PRId64, d ? "," : "(", t->dims[d]);
    snprintf(text + used, SHAPE - used, "%s)", t->n_dims ? "" : "(");
    return text;
}

static tutti_status refuse_size(const reading *r, const char *has, size_t number)
{
    char shape[SHAPE];
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s: tensor \"%s\" has the shape %s and %s %zu: the file is damaged: export it again",
        r->g->file, r->weight->name, print_shape(r->weight->tensor, shape), has, number);
}

static tutti_status find_element(reading *r)
{
    const tensor *t = r->weight->tensor;
    if (!t)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: \"%s\" is no tensor of the file, but an input or computed: export the network "
            "with its weights",
            r->g->file, r->weight->name);
    for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
        if (t->data_type == elements[e].onnx) {
            r->element = &elements[e];
            return TUTTI_OK;
        }
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s: tensor \"%s\" has the type %d of ONNX: weights must be float32 (1), float16 (10), "
        "double (11) or bfloat16 (16)",
        r->g->file, r->weight->name, (int)t->data_type);
}

/* Finds the type and the number of elements of a weight. */
static tutti_status begin_weight(reading *r, const tutti_onnx_weight *weight)
{
    const tensor *t = weight->tensor;
    r->weight = weight;
    r->count = 1;
    tutti_status status = find_element(r);
    if (status) return status;
    int wrong = t->n_dims < 1 || t->n_dims > MOST_RANK;
    for (size_t d = 0; d < t->n_dims && !wrong; d++)
        wrong = t->dims[d] < 1 || t->dims[d] > TUTTI_ONNX_MOST ||
                __builtin_mul_overflow(r->count, (size_t)t->dims[d], &r->count);
    size_t bytes;
    wrong = wrong || __builtin_mul_overflow(r->count, r->element->bytes, &bytes) ||
            bytes > SIZE_MAX / 4;
    return wrong ? refuse_size(r, "axes:", t->n_dims) : TUTTI_OK;
}

/* ---- elements ---- */

static const char *find_value(const tensor *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (strcmp(tutti_onnx_text(t->external_data[i]->key), key) == 0)
            return tutti_onnx_text(t->external_data[i]->value);
    return NULL;
}

/* "FOLDER/location"; the location may not lead out of the folder of the model. */
static int place_beside(const char *model, const char *location, char path[PATH])
{
    const char *slash = strrchr(model, '/');
    const int folder = slash ? (int)(slash - model) + 1 : 0;
    if (!*location || *location == '/' || strstr(location, "..")) return 0;
    return snprintf(path, PATH, "%.*s%s", folder, model, location) < PATH;
}

static tutti_status read_beside(const reading *r, void *to)
{
    const tensor *t = r->weight->tensor;
    const char *location = find_value(t, "location"), *offset = find_value(t, "offset");
    char path[PATH], *end = NULL;
    const long long at = offset ? strtoll(offset, &end, 10) : 0;
    if (!location || !place_beside(r->g->file, location, path) || at < 0 || (end && *end))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: tensor \"%s\" is at \"%.200s\", which is no place in a file beside the model",
            r->g->file, r->weight->name, location ? location : "");
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return tutti_fail(TUTTI_ERR_IO,
            "%s: tensor \"%s\" is in the file %s: %s: put it beside the model", r->g->file,
            r->weight->name, path, strerror(errno));
    const size_t bytes = r->count * r->element->bytes;
    size_t got = 0;
    ssize_t n = 1;
    while (got < bytes && n > 0) {
        n = pread(file, (char *)to + got, bytes - got, (off_t)at + (off_t)got);
        if (n > 0) got += (size_t)n;
    }
    close(file);
    return got < bytes ? refuse_size(r, "bytes in the file beside the model:", got) : TUTTI_OK;
}

/* Those of 16 bits may be in whole numbers of 32. */
static tutti_status read_elements(const reading *r, void *to)
{
    const tensor *t = r->weight->tensor;
    const size_t bytes = r->count * r->element->bytes;
    const void *from = t->raw_data.len ? t->raw_data.data : NULL;
    size_t has = t->raw_data.len;
    if (t->data_location == EXTERNAL) return read_beside(r, to);
    if (!from && t->n_float_data && t->data_type == 1) {
        from = t->float_data;
        has = t->n_float_data * sizeof(float);
    } else if (!from && t->n_double_data && t->data_type == 11) {
        from = t->double_data;
        has = t->n_double_data * sizeof(double);
    } else if (!from && t->n_int32_data == r->count && r->element->bytes == 2) {
        for (size_t i = 0; i < r->count; i++) {
            const uint16_t bits = (uint16_t)t->int32_data[i];
            memcpy((char *)to + i * sizeof bits, &bits, sizeof bits);
        }
        return TUTTI_OK;
    }
    if (!from || has != bytes) return refuse_size(r, "bytes:", has);
    memcpy(to, from, bytes);
    return TUTTI_OK;
}

/* (in,out) as (out,in). */
static tutti_status read_transposed(const reading *r, char *to)
{
    const size_t each = r->element->bytes, in = (size_t)r->weight->tensor->dims[0],
                 out = (size_t)r->weight->tensor->dims[1];
    char *from = malloc(r->count * each);
    tutti_status status =
        from ? read_elements(r, from)
             : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for \"%s\"", r->g->file, r->weight->name);
    for (size_t o = 0; o < out && !status; o++)
        for (size_t i = 0; i < in; i++, to += each) memcpy(to, from + (i * out + o) * each, each);
    free(from);
    return status;
}

/* ---- the file in memory ---- */

static int is_bias(const tutti_onnx_weight *w)
{
    const size_t n = strlen(w->name);
    return n > 5 && strcmp(w->name + n - 5, ".bias") == 0;
}

/* A bias that is added to features may have axes of one element. */
static json_t *shape_of(const reading *r)
{
    const tensor *t = r->weight->tensor;
    json_t *shape = json_array();
    if (is_bias(r->weight)) {
        json_array_append_new(shape, json_integer((json_int_t)r->count));
        return shape;
    }
    for (size_t d = 0; d < t->n_dims; d++)
        json_array_append_new(
            shape, json_integer(t->dims[r->weight->transposed ? t->n_dims - 1 - d : d]));
    return shape;
}

static tutti_status add_entries(const tutti_onnx_graph *g, json_t *header, size_t *bytes)
{
    reading r = {.g = g};
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < g->weights && !status; i++) {
        status = begin_weight(&r, &g->weight[i]);
        if (status) break;
        const size_t begin = *bytes;
        *bytes += r.count * r.element->bytes;
        json_object_set_new(header, r.weight->name,
            json_pack("{s:s, s:o, s:[I,I]}", "dtype", r.element->type, "shape", shape_of(&r),
                "data_offsets", (json_int_t)begin, (json_int_t)*bytes));
        if (*bytes > SIZE_MAX / 4)
            status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its weights", g->file);
    }
    return status;
}

/* What other programs say about the network, which is this one; of a file's own format they say nothing. */
static json_t *describe(const tutti_onnx_graph *g, const char *name, const char *text)
{
    static const char *const left_out[] = {"axes", "data_xxh3", "eval-size", "program", "step"};
    char producer[160];
    json_t *words = json_object(), *network = json_loads(text, 0, NULL),
           *input = json_object_get(network, "input");
    for (size_t i = 0; i < g->model->n_metadata_props; i++)
        json_object_set_new(words, tutti_onnx_text(g->model->metadata_props[i]->key),
            json_string(tutti_onnx_text(g->model->metadata_props[i]->value)));
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        json_object_del(words, left_out[i]);
    snprintf(producer, sizeof producer, "%.80s %.60s", tutti_onnx_text(g->model->producer_name),
        tutti_onnx_text(g->model->producer_version));
    json_object_set_new(words, "format", json_string("pt"));
    json_object_set_new(words, "producer", json_string(producer));
    json_object_set_new(words, "model", json_string(name));
    json_object_set_new(words, "network", json_string(text));
    json_object_set_new(words, "shape",
        json_sprintf("%" JSON_INTEGER_FORMAT "x%" JSON_INTEGER_FORMAT "x%" JSON_INTEGER_FORMAT,
            json_integer_value(json_object_get(input, "height")),
            json_integer_value(json_object_get(input, "width")),
            json_integer_value(json_object_get(input, "channels"))));
    json_object_set_new(words, "classes",
        json_sprintf(
            "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(input, "classes"))));
    json_decref(network);
    return words;
}

static tutti_status fill_tensor(const tutti_onnx_graph *g, char *to)
{
    reading r = {.g = g};
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < g->weights && !status; i++) {
        status = begin_weight(&r, &g->weight[i]);
        if (!status)
            status = r.weight->transposed ? read_transposed(&r, to) : read_elements(&r, to);
        to += r.count * (status ? 0 : r.element->bytes);
    }
    return status;
}

static tutti_status make_image(
    const tutti_onnx_graph *g, json_t *header, void **image, size_t *image_bytes)
{
    size_t bytes = 0;
    tutti_status status = add_entries(g, header, &bytes);
    char *text = status ? NULL : json_dumps(header, JSON_COMPACT);
    const size_t length = text ? strlen(text) : 0;
    char *to = text ? malloc(PREFIX + length + bytes) : NULL;
    if (!status && !to)
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its weights", g->file);
    if (!status) {
        for (int i = 0; i < PREFIX; i++) to[i] = (char)(length >> 8 * i);
        memcpy(to + PREFIX, text, length);
        status = fill_tensor(g, to + PREFIX + length);
    }
    free(text);
    if (status) {
        free(to);
        return status;
    }
    *image = to;
    *image_bytes = PREFIX + length + bytes;
    return TUTTI_OK;
}

tutti_status tutti_architecture_onnx_weights(const char *file, const void *data, size_t bytes,
    const char *name, const char *text, void **image, size_t *image_bytes)
{
    tutti_onnx_graph g = {.file = file};
    json_t *network, *header = json_object();
    *image = NULL;
    *image_bytes = 0;
    tutti_status status = tutti_onnx_open(file, data, bytes, &g, &network);
    if (!status) {
        json_object_set_new(header, "__metadata__", describe(&g, name, text));
        status = make_image(&g, header, image, image_bytes);
    }
    json_decref(network);
    json_decref(header);
    tutti_onnx_close(&g);
    return status;
}
