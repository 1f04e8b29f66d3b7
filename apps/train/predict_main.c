/* tutti-predict: what a trained network sees on photographs. See tutti-predict(1). */
#include "apps/session/session.h"
#include "apps/session/weights.h"
#include "apps/train/checkpoint.h"
#include "apps/train/picture.h"
#include "config.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PICTURES = 4096,
    RESIZE_MOST = 65535,
    BATCH = 2 /* batch normalisation needs two values of each channel */
};

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
    tutti_checkpoint *file;
    tutti_training_session session;
    tutti_model_input input;
    int resize;      /* of an evaluation's photographs: the shorter side; 0: images have one size */
    json_t *names;   /* of the classes; NULL: not known */
    uint8_t *pixels; /* (BATCH,H,W,C) */
    float *outputs;  /* (BATCH,classes) */
} network;

static tutti_status lacks(const tutti_checkpoint *file, const char *what)
{
    return tutti_fail(TUTTI_ERR_FORMAT,
        "checkpoint %s: it does not say %s: continue it with --resume for a step, which saves it "
        "again",
        tutti_checkpoint_path(file), what);
}

/* "0.5,0.25,0.125" */
static int read_floats(const char *text, int count, float *value)
{
    for (int i = 0; text && i < count; i++) {
        char *end;
        value[i] = strtof(text, &end);
        if (end == text || *end != (i < count - 1 ? ',' : '\0')) return 0;
        text = end + 1;
    }
    return text != NULL;
}

static tutti_status describe(network *n, const tutti_model **model, tutti_step_options *recipe)
{
    const char *name = tutti_checkpoint_value(n->file, "model"),
               *shape = tutti_checkpoint_value(n->file, "shape"),
               *classes = tutti_checkpoint_value(n->file, "classes"),
               *resize = tutti_checkpoint_value(n->file, "resize"),
               *names = tutti_checkpoint_value(n->file, "class-names");
    tutti_model_input *in = &n->input;
    *model = name ? tutti_model_find(name) : NULL;
    if (!*model)
        return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: its model is %s, which is not known",
            tutti_checkpoint_path(n->file), name ? name : "not given");
    char end;
    if (!shape || sscanf(shape, "%dx%dx%d%c", &in->H, &in->W, &in->C, &end) != 3 || in->H < 1 ||
        in->W < 1 || (in->C != 1 && in->C != 3))
        return lacks(n->file, "the size of its images");
    if (!classes || sscanf(classes, "%d%c", &in->classes, &end) != 1 || in->classes < 1)
        return lacks(n->file, "how many classes it has");
    *recipe = (tutti_step_options){.batch = BATCH};
    if (!read_floats(tutti_checkpoint_value(n->file, "mean"), in->C, recipe->mean) ||
        !read_floats(tutti_checkpoint_value(n->file, "deviation"), in->C, recipe->deviation))
        return lacks(n->file, "the mean and the deviation of its images");
    if (resize && (sscanf(resize, "%d%c", &n->resize, &end) != 1 || n->resize < in->H ||
                      n->resize < in->W || n->resize > RESIZE_MOST))
        return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: resize %s is not a size",
            tutti_checkpoint_path(n->file), resize);
    n->names = names ? json_loads(names, 0, NULL) : NULL;
    return TUTTI_OK;
}

typedef struct walk {
    const network *n;
    int number;
} walk;

/* Parameters, then states, of which evaluation reads only running statistics. */
static tutti_status load_tensor(void *ctx, const tutti_tensor *t, void *data)
{
    walk *w = ctx;
    const char *dot = strrchr(t->name, '.');
    int needed =
        w->number < w->n->session.step->parameters || (dot && strcmp(dot, ".running") == 0);
    w->number++;
    const tutti_checkpoint_tensor wanted = {t->name, t->dtype, t->shape, data};
    return needed ? tutti_checkpoint_read(w->n->file, &wanted) : TUTTI_OK;
}

static tutti_status open_network(const char *path, network *n)
{
    const tutti_training_session_options alone = {.runner = "inline", .workers = 1};
    const tutti_model *model = NULL;
    tutti_step_options recipe;
    tutti_status status = tutti_checkpoint_open(path, &n->file);
    if (!status) status = describe(n, &model, &recipe);
    if (!status) status = tutti_training_session_open(&alone, &n->session);
    if (!status) status = tutti_training_session_build(&n->session, model, &n->input, &recipe);
    if (!status) status = tutti_training_session_apply(&n->session);
    if (!status) status = tutti_training_session_start(&n->session);
    if (!status) status = tutti_training_session_init(&n->session);
    walk w = {n, 0};
    if (!status)
        status = tutti_weights_walk(
            &n->session, tutti_weights_count(&n->session), TUTTI_READWRITE, load_tensor, &w);
    if (status) return status;
    n->pixels = calloc(BATCH, (size_t)n->session.image_bytes);
    n->outputs = calloc(BATCH, (size_t)n->input.classes * sizeof(float));
    if (!n->pixels || !n->outputs) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an image");
    return TUTTI_OK;
}

static tutti_status close_network(network *n)
{
    free(n->pixels);
    free(n->outputs);
    json_decref(n->names);
    tutti_checkpoint_close(n->file);
    return tutti_training_session_close(&n->session);
}

/* The outputs for the first row of pixels. */
static tutti_status run_network(network *n)
{
    static const int32_t labels[BATCH] = {-1, -1}; /* nothing is judged */
    tutti_training_session *on = &n->session;
    tutti_status status = tutti_training_session_feed(on, n->pixels, labels);
    if (!status) status = on->runner->submit(on->run, on->step->eval);
    if (!status)
        status = on->runner->fetch(on->run, on->step->micro_batch[0].seen, n->outputs,
            (size_t)(BATCH * n->input.classes) * sizeof(float));
    return status ? status : on->runner->wait(on->run, on->runner->point(on->run), 1e6);
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
    double highest = (double)n->outputs[0], sum = 0;
    for (int k = 1; k < n->input.classes; k++) highest = fmax(highest, (double)n->outputs[k]);
    for (int k = 0; k < n->input.classes; k++) {
        list[k] = (guess){k, exp((double)n->outputs[k] - highest)};
        sum += list[k].probability;
    }
    for (int k = 0; k < n->input.classes; k++) list[k].probability /= sum;
    qsort(list, (size_t)n->input.classes, sizeof *list, likely_first);
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
    printf("%s\n", image);
    for (int i = 0; i < count; i++)
        printf("  %6.2f %%  %s\n", 100 * list[i].probability, class_name(n, list[i].class, number));
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
    json_dumpf(event, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(event);
    return TUTTI_OK;
}

static tutti_status predict(network *n, const char *image, const options *o, guess *list)
{
    const tutti_model_input *in = &n->input;
    tutti_status status = tutti_picture_read(image, in, n->resize, n->pixels);
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
    guess *list = calloc((size_t)n->input.classes, sizeof *list);
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
