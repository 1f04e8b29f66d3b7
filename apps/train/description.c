#include "apps/train/description.h"

#include "apps/architecture/architecture.h"
#include "apps/data/formats.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/net/layer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESIZE_MOST = 65535 };
enum { MODEL, NETWORK, SHAPE, CLASSES, NAMES, MEAN, DEVIATION, RESIZE, EVAL_SIZE, EPSILON };
const char *const tutti_description_keys[TUTTI_DESCRIPTION_KEYS] = {"model", "network", "shape",
    "classes", "class-names", "mean", "deviation", "resize", "eval-size", "norm-epsilon"};

float tutti_description_epsilon(const tutti_net *net)
{
    for (int l = 0; l < net->layers; l++)
        if (strcmp(net->layer[l].kind->name, "norm") == 0)
            return ((const tutti_norm_layer *)tutti_layer_settings(&net->layer[l]))->eps;
    return 0;
}

/* ---- numbers to texts ---- */

static char *print_into(tutti_description_text *t, int key)
{
    t->value[key] = t->text[key];
    return t->text[key];
}

static void print_int(tutti_description_text *t, int key, int number)
{
    if (number) snprintf(print_into(t, key), TUTTI_DESCRIPTION_TEXT, "%d", number);
}

/* "0.5,0.25,0.125", exactly */
static void print_channels(tutti_description_text *t, int key, int channels, const float *value)
{
    char *text = print_into(t, key);
    size_t used = 0;
    for (int c = 0; c < channels && used < TUTTI_DESCRIPTION_TEXT; c++)
        used += (size_t)snprintf(
            text + used, TUTTI_DESCRIPTION_TEXT - used, "%s%.9g", c ? "," : "", (double)value[c]);
}

/* A JSON list, where there is a name for each class. */
static tutti_status print_names(const tutti_description *d, tutti_description_text *t)
{
    json_t *list = json_array();
    int count = 0;
    for (; d->class_names && d->class_names[count]; count++)
        json_array_append_new(list, json_string(d->class_names[count]));
    const int known = count && count == d->classes && json_array_size(list) == (size_t)count;
    t->names = known ? json_dumps(list, JSON_COMPACT) : NULL;
    t->value[NAMES] = t->names;
    json_decref(list);
    return known && !t->names ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for the classes' names")
                              : TUTTI_OK;
}

tutti_status tutti_description_print(const tutti_description *d, tutti_description_text *t)
{
    *t = (tutti_description_text){.names = NULL};
    if (d->model) snprintf(print_into(t, MODEL), TUTTI_DESCRIPTION_TEXT, "%s", d->model->name);
    if (d->model) t->value[NETWORK] = tutti_architecture_text(d->model);
    if (d->height)
        snprintf(print_into(t, SHAPE), TUTTI_DESCRIPTION_TEXT, "%dx%dx%d", d->height, d->width,
            d->channels);
    print_int(t, CLASSES, d->classes);
    if (d->normalised) {
        print_channels(t, MEAN, d->channels, d->mean);
        print_channels(t, DEVIATION, d->channels, d->deviation);
    }
    print_int(t, RESIZE, d->resize);
    print_int(t, EVAL_SIZE, d->eval_size);
    if (d->epsilon > 0)
        snprintf(print_into(t, EPSILON), TUTTI_DESCRIPTION_TEXT, "%g", (double)d->epsilon);
    return print_names(d, t);
}

void tutti_description_free(tutti_description_text *t)
{
    free(t->names);
    t->names = NULL;
}

void tutti_description_of(const tutti_checkpoint *file, tutti_description_text *t)
{
    *t = (tutti_description_text){.names = NULL};
    for (int k = 0; k < TUTTI_DESCRIPTION_KEYS; k++)
        t->value[k] = tutti_checkpoint_value(file, tutti_description_keys[k]);
}

int tutti_description_append(
    const tutti_description_text *t, int pairs, tutti_checkpoint_pair pair[])
{
    for (int k = 0; k < TUTTI_DESCRIPTION_KEYS; k++)
        if (t->value[k])
            pair[pairs++] = (tutti_checkpoint_pair){tutti_description_keys[k], t->value[k]};
    return pairs;
}

/* ---- texts to numbers ---- */

typedef struct reading {
    const tutti_checkpoint *file;
    const char *const *value;
} reading;

static tutti_status refuse(const reading *r, int key, const char *must)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: its %s is \"%s\": it must be %s",
        tutti_checkpoint_path(r->file), tutti_description_keys[key], r->value[key], must);
}

/* The number in text[0 .. length). */
static int read_int(const char *text, size_t length, int64_t most, int *number)
{
    char digits[24];
    int64_t value;
    if (length >= sizeof digits) return 0;
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    if (!tutti_number_int(digits, &value) || value < 1 || value > most) return 0;
    *number = (int)value;
    return 1;
}

static tutti_status read_model(const reading *r, tutti_description *d)
{
    const char *name = r->value[MODEL];
    if (r->value[NETWORK]) {
        tutti_status status = tutti_architecture_parse(name, r->value[NETWORK], &d->model);
        if (!status && strcmp(d->model->name, name) != 0)
            status = refuse(r, MODEL, "the name of the network that it has");
        return status;
    }
    d->model = tutti_model_find(name);
    return d->model ? TUTTI_OK : refuse(r, MODEL, "one that tutti-info --list models names");
}

/* "32x32x3" */
static tutti_status read_shape(const reading *r, tutti_description *d)
{
    const char *at = r->value[SHAPE];
    int *const size[] = {&d->height, &d->width, &d->channels};
    int good = 1;
    for (int i = 0; i < 3 && good; i++) {
        const size_t length = strcspn(at, "x");
        good = read_int(at, length, TUTTI_IMAGE_SIDE_MAX, size[i]) && !at[length] == (i == 2);
        at += length + 1;
    }
    if (good && (d->channels == 1 || d->channels == 3)) return TUTTI_OK;
    return refuse(r, SHAPE, "HEIGHTxWIDTHx1 or HEIGHTxWIDTHx3");
}

static tutti_status read_size(const reading *r, int key, int most, int *number)
{
    const char *text = r->value[key];
    if (!text || read_int(text, strlen(text), most, number)) return TUTTI_OK;
    return refuse(r, key, "a whole number from 1 on");
}

/* A number for each channel, above `low` or (with_low) equal to it, and at most 1. */
static tutti_status read_channels(
    const reading *r, int key, int channels, double low, int with_low, float *value)
{
    const char *at = r->value[key];
    char digits[48];
    double number;
    int c = 0;
    for (; c < channels; c++) {
        const size_t length = strcspn(at, ",");
        if (length >= sizeof digits || !at[length] != (c == channels - 1)) break;
        snprintf(digits, sizeof digits, "%.*s", (int)length, at);
        if (!tutti_number_real(digits, &number) || number < low || number > 1 ||
            (number <= low && !with_low))
            break;
        value[c] = (float)number;
        at += length + 1;
    }
    if (c == channels) return TUTTI_OK;
    return refuse(r, key,
        with_low ? "a number from 0 to 1 for each channel"
                 : "a number above 0 (at least 1e-6) and at most 1 for each channel");
}

static tutti_status read_moments(const reading *r, tutti_description *d)
{
    static const double least = 1e-6; /* what divides by less has no precision left */
    if (!r->value[MEAN] || !r->value[DEVIATION] || !d->channels) return TUTTI_OK;
    tutti_status status = read_channels(r, MEAN, d->channels, 0, 1, d->mean);
    if (!status) status = read_channels(r, DEVIATION, d->channels, least, 0, d->deviation);
    d->normalised = !status;
    return status;
}

/* Evaluations see a part of what is resized. */
static tutti_status check_resize(const reading *r, const tutti_description *d)
{
    const int height = d->eval_size ? d->eval_size : d->height,
              width = d->eval_size ? d->eval_size : d->width;
    if (!d->resize || (d->resize >= height && d->resize >= width)) return TUTTI_OK;
    return refuse(r, RESIZE, "at least the size of the images");
}

static tutti_status check_names(const reading *r, const tutti_description *d)
{
    json_t *list = r->value[NAMES] ? json_loads(r->value[NAMES], 0, NULL) : NULL;
    size_t texts = 0;
    while (json_is_string(json_array_get(list, texts))) texts++;
    const int good = !r->value[NAMES] || (json_is_array(list) && texts == json_array_size(list) &&
                                             texts == (size_t)d->classes);
    json_decref(list);
    if (good) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "checkpoint %s: its class-names are not a list of as many texts as it has classes, %d: "
        "mend or remove them",
        tutti_checkpoint_path(r->file), d->classes);
}

static tutti_status read_epsilon(const reading *r, tutti_description *d)
{
    double number;
    if (!r->value[EPSILON]) return TUTTI_OK;
    if (!tutti_number_real(r->value[EPSILON], &number) || number < 1e-12 || number >= 1)
        return refuse(r, EPSILON, "a number above 0 and below 1");
    d->epsilon = (float)number;
    return TUTTI_OK;
}

tutti_status tutti_description_read(const tutti_checkpoint *file, tutti_description *description)
{
    tutti_description_text text;
    tutti_description d = {0};
    tutti_description_of(file, &text);
    const reading r = {file, text.value};
    tutti_status status = text.value[MODEL] ? read_model(&r, &d) : TUTTI_OK;
    if (!status && text.value[SHAPE]) status = read_shape(&r, &d);
    if (!status) status = read_size(&r, CLASSES, TUTTI_CLASSES_MAX, &d.classes);
    if (!status) status = read_moments(&r, &d);
    if (!status) status = read_size(&r, RESIZE, RESIZE_MOST, &d.resize);
    if (!status) status = read_size(&r, EVAL_SIZE, TUTTI_IMAGE_SIDE_MAX, &d.eval_size);
    if (!status) status = check_resize(&r, &d);
    if (!status) status = check_names(&r, &d);
    if (!status) status = read_epsilon(&r, &d);
    if (!status) *description = d;
    return status;
}
