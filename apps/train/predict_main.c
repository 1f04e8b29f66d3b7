/* tutti-predict: what a trained network sees on photographs. See tutti-predict(1). */
#include "apps/train/network.h"
#include "apps/train/picture.h"
#include "config.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 4096 };

/* ---- options ---- */

typedef struct options {
    const char *checkpoint;
    const char *image[PICTURES + 1];
    int64_t top;
    int json;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "image", "IMAGE...", .flags = TUTTI_CONF_OPERAND | TUTTI_CONF_REQUIRED,
        .high = PICTURES, AT(image), .help = "JPEG or PNG files of any size"},
    {TUTTI_CONF_TEXT, "checkpoint", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(checkpoint),
        .help = "the trained network: a checkpoint of tutti-cifar or tutti-imagenet"},
    {TUTTI_CONF_INT, "top", "N", .fallback = "5", .low = 1, .high = 100000, AT(top),
        .help = "how many classes to name for each image"},
    {TUTTI_CONF_FLAG, "json", AT(json), .help = "print one JSON object per image"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-predict",
    .usage = "--checkpoint FILE [OPTION]... IMAGE...",
    .summary = "Names what is on photographs: the most likely classes, with probabilities.",
    .epilogue = "Exit status: 0 on success; 2 for a mistake in the options; 1 if the checkpoint or "
                "an image could not be read. See tutti-predict(1).",
    .version = PACKAGE_VERSION,
    .settings = settings,
};

/* ---- the network ---- */

typedef struct network {
    tutti_network trained;
    json_t *names;   /* of the classes; NULL: not known */
    uint8_t *pixels; /* (TUTTI_NETWORK_BATCH,H,W,C) */
    float *outputs;  /* (TUTTI_NETWORK_BATCH,classes) */
} network;

static tutti_status open_network(const char *path, network *n)
{
    tutti_network *on = &n->trained;
    tutti_status status = tutti_network_open(path, on);
    if (status) return status;
    const char *names = tutti_checkpoint_value(on->weights.file, "class-names");
    n->names = names ? json_loads(names, 0, NULL) : NULL;
    n->pixels = calloc(TUTTI_NETWORK_BATCH, (size_t)on->session.image_bytes);
    n->outputs = calloc(TUTTI_NETWORK_BATCH, (size_t)on->input.classes * sizeof(float));
    if (!n->pixels || !n->outputs) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an image");
    return TUTTI_OK;
}

static tutti_status close_network(network *n)
{
    free(n->pixels);
    free(n->outputs);
    json_decref(n->names);
    return tutti_network_close(&n->trained);
}

/* The outputs for the first row of pixels. */
static tutti_status run_network(network *n)
{
    static const int32_t labels[TUTTI_NETWORK_BATCH] = {-1, -1}; /* nothing is judged */
    tutti_training_session *on = &n->trained.session;
    tutti_status status = tutti_training_session_feed(on, 1, n->pixels, labels);
    if (!status) status = on->runner->submit(on->run, on->step->eval);
    if (!status)
        status = on->runner->fetch(on->run, on->step->micro_batch[0].seen, n->outputs,
            (size_t)(TUTTI_NETWORK_BATCH * n->trained.input.classes) * sizeof(float));
    return status ? status : on->runner->wait(on->run, 0, on->runner->point(on->run), 1e6);
}

/* ---- what it says ---- */

typedef struct guess {
    int class;
    double probability;
} guess;

static int likely_first(const void *a, const void *b)
{
    const guess *x = a, *y = b;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return x->class - y->class;
}

/* Softmax of the outputs, sorted. */
static void rank_classes(const network *n, guess *list)
{
    const int classes = n->trained.input.classes;
    double highest = (double)n->outputs[0], sum = 0;
    for (int k = 1; k < classes; k++) highest = fmax(highest, (double)n->outputs[k]);
    for (int k = 0; k < classes; k++) {
        list[k] = (guess){k, exp((double)n->outputs[k] - highest)};
        sum += list[k].probability;
    }
    for (int k = 0; k < classes; k++) list[k].probability /= sum;
    qsort(list, (size_t)classes, sizeof *list, likely_first);
}

static const char *class_name(const network *n, int class, char number[16])
{
    const char *name = json_string_value(json_array_get(n->names, (size_t) class));
    if (name) return name;
    snprintf(number, 16, "%d", class);
    return number;
}

static void print_text(const network *n, const char *image, const guess *list, int count)
{
    char number[16];
    tutti_text_print(stdout, "%s\n", image);
    for (int i = 0; i < count; i++)
        tutti_text_print(stdout, "  %6.2f %%  %s\n", 100 * list[i].probability,
            class_name(n, list[i].class, number));
}

static tutti_status print_json(const network *n, const char *image, const guess *list, int count)
{
    json_t *guesses = json_array();
    char number[16];
    for (int i = 0; i < count; i++)
        json_array_append_new(
            guesses, json_pack("{s:s, s:i, s:f}", "class", class_name(n, list[i].class, number),
                         "label", list[i].class, "probability", list[i].probability));
    json_t *event = json_pack("{s:s, s:o}", "image", image, "predictions", guesses);
    if (!event) return tutti_fail(TUTTI_ERR_FORMAT, "%s: its name is not UTF-8", image);
    json_dumpf(event, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(event);
    return TUTTI_OK;
}

static tutti_status predict(network *n, const char *image, const options *o, guess *list)
{
    const tutti_model_input *in = &n->trained.input;
    tutti_status status = tutti_picture_read(image, in, n->trained.resize, n->pixels);
    if (!status) status = run_network(n);
    if (status) return status;
    rank_classes(n, list);
    int count = o->top < in->classes ? (int)o->top : in->classes;
    if (o->json) return print_json(n, image, list, count);
    print_text(n, image, list, count);
    return TUTTI_OK;
}

/* An image that cannot be read does not keep the others from being looked at. */
static tutti_status predict_all(network *n, const options *o)
{
    tutti_status worst = TUTTI_OK;
    guess *list = calloc((size_t)n->trained.input.classes, sizeof *list);
    if (!list) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the classes");
    for (int i = 0; o->image[i]; i++) {
        tutti_status status = predict(n, o->image[i], o, list);
        if (status) worst = status;
    }
    free(list);
    if (fflush(stdout) || ferror(stdout))
        worst = tutti_fail(TUTTI_ERR_IO, "the output could not be written: %s", strerror(errno));
    return worst;
}

int main(int argc, char **argv)
{
    static options o;
    int go;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    network n = {0};
    tutti_status status = open_network(o.checkpoint, &n);
    if (!status) status = predict_all(&n, &o);
    tutti_status closed = close_network(&n);
    return status || closed ? EXIT_FAILURE : EXIT_SUCCESS;
}
