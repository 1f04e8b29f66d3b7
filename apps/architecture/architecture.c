#include "apps/architecture/architecture.h"

#include "apps/architecture/layers.h"
#include "apps/architecture/onnx.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { NAME = 80, BASE = 48, MOST_LAYERS = 100000 };

typedef struct architecture {
    tutti_model model; /* the first member */
    char name[NAME], *text;
    json_t *json;
    struct architecture *next;
} architecture;

static architecture *opened; /* all of this process */

static int ends_in(const char *name, const char *ending)
{
    const size_t n = strlen(name), e = strlen(ending);
    return n > e && strcmp(name + n - e, ending) == 0;
}

int tutti_architecture_is_file(const char *name)
{
    return ends_in(name, ".json") || ends_in(name, ".onnx");
}

const char *tutti_architecture_text(const tutti_model *model)
{
    return model->build_of ? ((const architecture *)(const void *)model)->text : NULL;
}

static void build(
    const tutti_model *model, tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    const architecture *a = (const architecture *)(const void *)model;
    const json_t *layers = json_object_get(a->json, "layers");
    if (tutti_architecture_append(a->name, layers, net, H, W, C, classes))
        tutti_net_output(net, -1); /* the net fails, too */
}

/* ---- reading ---- */

static tutti_status read_size(
    const char *file, const json_t *of, const char *key, int most, int fallback, int *size)
{
    const json_t *value = json_object_get(of, key);
    const json_int_t number = json_integer_value(value);
    *size = fallback;
    if (!value && fallback) return TUTTI_OK;
    if (!json_is_integer(value) || number < 1 || number > most)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: \"%s\" of \"input\" must be a whole number from 1 to %d", file, key, most);
    *size = (int)number;
    return TUTTI_OK;
}

static tutti_status read_real(
    const char *file, const json_t *of, const char *key, double fallback, double *value)
{
    const json_t *given = json_object_get(of, key);
    *value = given ? json_number_value(given) : fallback;
    if (!given || (json_is_number(given) && *value >= 0 && *value < 1e6)) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_FORMAT, "%s: \"%s\" of \"recipe\" must be a number from 0 on", file, key);
}

static tutti_status check_keys(
    const char *file, const json_t *of, const char *what, const char *const keys[])
{
    const char *key;
    json_t *value;
    if (!json_is_object(of))
        return tutti_fail(TUTTI_ERR_FORMAT, "%s: %s must be an object: {...}", file, what);
    json_object_foreach((json_t *)of, key, value)
    {
        int known = 0;
        for (int i = 0; keys[i]; i++) known |= strcmp(key, keys[i]) == 0;
        if (!known)
            return tutti_fail(TUTTI_ERR_FORMAT, "%s: \"%.64s\" is no key of %s", file, key, what);
    }
    return TUTTI_OK;
}

static tutti_status read_head(const char *file, architecture *a)
{
    static const char *const keys[] = {"input", "recipe", "layers", NULL};
    static const char *const sizes[] = {"height", "width", "channels", "classes", NULL};
    static const char *const rates[] = {"lr", "weight-decay", "label-smoothing", NULL};
    const json_t *input = json_object_get(a->json, "input");
    json_t *none = json_object(), *recipe = json_object_get(a->json, "recipe");
    const size_t layers = json_array_size(json_object_get(a->json, "layers"));
    tutti_model_input *in = &a->model.input;
    tutti_model_recipe *r = &a->model.recipe;
    enum { SIDE = 65536, CLASSES = 1 << 20 };
    tutti_status status = check_keys(file, a->json, "a network", keys);
    if (!status) status = check_keys(file, input, "\"input\"", sizes);
    if (!status) status = read_size(file, input, "height", SIDE, 0, &in->H);
    if (!status) status = read_size(file, input, "width", SIDE, 0, &in->W);
    if (!status) status = read_size(file, input, "channels", SIDE, 3, &in->C);
    if (!status) status = read_size(file, input, "classes", CLASSES, 0, &in->classes);
    if (!recipe) recipe = none;
    if (!status) status = check_keys(file, recipe, "\"recipe\"", rates);
    if (!status) status = read_real(file, recipe, "lr", 0.1, &r->rate);
    if (!status) status = read_real(file, recipe, "weight-decay", 5e-4, &r->weight_decay);
    if (!status) status = read_real(file, recipe, "label-smoothing", 0, &r->label_smoothing);
    json_decref(none);
    if (!status && (layers < 1 || layers > MOST_LAYERS))
        status = tutti_fail(
            TUTTI_ERR_FORMAT, "%s: \"layers\" must be a list of 1 to %d layers", file, MOST_LAYERS);
    return status;
}

/* Whether it can be built, with the input that it is for. */
static tutti_status try_build(const char *file, architecture *a)
{
    const tutti_model_input *in = &a->model.input;
    tutti_net *net;
    tutti_status status = tutti_net_new(&net);
    if (!status)
        status = tutti_architecture_append(
            file, json_object_get(a->json, "layers"), net, in->H, in->W, in->C, in->classes);
    if (!status) status = tutti_net_status(net);
    if (status == TUTTI_ERR_INVAL)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: this is no network for %d x %d images with %d channels "
            "and %d classes",
            file, in->H, in->W, in->C, in->classes);
    if (!status) a->model.parameters = tutti_net_parameters(net);
    tutti_net_free(net);
    return status;
}

static void free_architecture(architecture *a)
{
    if (!a) return;
    json_decref(a->json);
    free(a->text);
    free(a);
}

static void name_architecture(architecture *a, const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const size_t length = strcspn(base, "#"); /* that of a checkpoint has its hash already */
    const unsigned hash = (unsigned)XXH3_64bits(a->text, strlen(a->text));
    char copy[4 * BASE], shown[BASE + 1]; /* checkpoints and reports need UTF-8 */
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy), base);
    snprintf(a->name, NAME, "%s#%08x", tutti_text_show(copy, shown, sizeof shown), hash);
}

static tutti_status read_text(const char *file, const char *text, size_t bytes, architecture *a)
{
    json_error_t error;
    a->json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!a->json)
        return tutti_fail(TUTTI_ERR_FORMAT, "%s: line %d: %s", file, error.line, error.text);
    a->text = json_dumps(a->json, JSON_COMPACT | JSON_SORT_KEYS);
    if (!a->text) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the network of %s", file);
    name_architecture(a, file);
    a->model =
        (tutti_model){.name = a->name, .summary = "a network of one's own", .build_of = build};
    tutti_status status = read_head(file, a);
    return status ? status : try_build(file, a);
}

static tutti_status keep_model(
    const char *file, const char *text, size_t bytes, const tutti_model **model)
{
    architecture *a = calloc(1, sizeof *a);
    if (!a) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the network of %s", file);
    tutti_status status = read_text(file, text, bytes, a);
    for (architecture *o = opened; o && !status; o = o->next)
        if (strcmp(o->name, a->name) == 0 && strcmp(o->text, a->text) == 0) {
            *model = &o->model;
            free_architecture(a);
            return TUTTI_OK;
        }
    if (status) {
        free_architecture(a);
        return status;
    }
    a->next = opened;
    opened = a;
    *model = &a->model;
    return TUTTI_OK;
}

tutti_status tutti_architecture_parse(const char *file, const char *text, const tutti_model **model)
{
    *model = NULL;
    return keep_model(file, text, strlen(text), model);
}

/* *model: the network of FILE.onnx; *text: as text, which the caller frees. */
static tutti_status open_onnx(
    const char *file, const tutti_lines *of, char **text, const tutti_model **model)
{
    tutti_status status =
        tutti_architecture_from_onnx(file, of->at, (size_t)(of->end - of->at), text);
    return status ? status : keep_model(file, *text, strlen(*text), model);
}

tutti_status tutti_architecture_open(const char *name, const tutti_model **model)
{
    *model = tutti_model_find(name);
    if (*model) return TUTTI_OK;
    if (!tutti_architecture_is_file(name))
        return tutti_fail(TUTTI_ERR_USAGE,
            "%s is no model (known: tutti-info --list models), and no file that ends in .json or "
            ".onnx",
            name);
    tutti_lines lines;
    char *text = NULL;
    tutti_status status = tutti_lines_open(name, &lines);
    if (!status)
        status = ends_in(name, ".onnx")
                     ? open_onnx(name, &lines, &text, model)
                     : keep_model(name, lines.at, (size_t)(lines.end - lines.at), model);
    tutti_lines_close(&lines);
    free(text);
    return status;
}

int tutti_architecture_has_weights(const char *name)
{
    return ends_in(name, ".onnx");
}

tutti_status tutti_architecture_weights(const char *file, void **image, size_t *bytes)
{
    tutti_lines lines;
    char *text = NULL;
    const tutti_model *model;
    *image = NULL;
    *bytes = 0;
    tutti_status status = tutti_lines_open(file, &lines);
    if (!status) status = open_onnx(file, &lines, &text, &model);
    if (!status)
        status = tutti_architecture_onnx_weights(file, lines.at, (size_t)(lines.end - lines.at),
            model->name, tutti_architecture_text(model), image, bytes);
    tutti_lines_close(&lines);
    free(text);
    return status;
}
