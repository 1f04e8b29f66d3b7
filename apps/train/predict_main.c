/* tutti-predict: what a trained network sees on photographs. See tutti-predict(1). */
#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "apps/train/network.h"
#include "apps/train/picture.h"
#include "apps/train/predictions.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PICTURES = 4096 };

/* ---- options ---- */

typedef struct options {
    const char *checkpoint;
    const char *image[PICTURES + 1];
    const char *csv, *page;
    int64_t top;
    int json;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "image", "IMAGE...", .flags = TUTTI_CONF_OPERAND | TUTTI_CONF_REQUIRED,
        .high = PICTURES, AT(image),
        .help =
            "JPEG, PNG or WebP files of any size, folders of them, or patterns such as '*.jpg'"},
    {TUTTI_CONF_TEXT, "checkpoint", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(checkpoint),
        .help = "the trained network: a checkpoint of tutti-cifar or tutti-imagenet, or what "
                "tutti-export made of one"},
    {TUTTI_CONF_INT, "top", "N", .fallback = "5", .low = 1, .high = 100000, AT(top),
        .help = "how many classes to name for each image"},
    {TUTTI_CONF_FLAG, "json", AT(json), .help = "print one JSON object per image"},
    {TUTTI_CONF_TEXT, "csv", "FILE", AT(csv),
        .help = "write a table, too: a row for each class that is named"},
    {TUTTI_CONF_TEXT, "page", "FILE", AT(page), .help = "write an HTML page with thumbnails, too"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-predict",
    .usage = "--checkpoint FILE [OPTION]... IMAGE...",
    .summary = "Names what is on photographs: the most likely classes, with probabilities.",
    .epilogue = "Exit status: 0 on success; 2 for a mistake in the options; 1 if the checkpoint or "
                "an image could not be read. See tutti-predict(1).",
    .settings = settings,
};

/* ---- the network ---- */

typedef struct network {
    tutti_network trained;
    json_t *names;   /* of the classes; NULL: not known */
    uint8_t *pixels; /* (TUTTI_NETWORK_BATCH,H,W,C) */
    float *outputs;  /* (TUTTI_NETWORK_BATCH,classes) */
    tutti_predictions *files;
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

static int likely_first(const void *a, const void *b)
{
    const tutti_guess *x = a, *y = b;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return x->label - y->label;
}

/* Softmax of the outputs, sorted. `name` is room for names of classes that have none, [classes]. */
static void rank_classes(const network *n, tutti_guess *list, char (*name)[16])
{
    const int classes = n->trained.input.classes;
    double highest = (double)n->outputs[0], sum = 0;
    for (int k = 1; k < classes; k++) highest = fmax(highest, (double)n->outputs[k]);
    for (int k = 0; k < classes; k++) {
        const char *known = json_string_value(json_array_get(n->names, (size_t)k));
        snprintf(name[k], sizeof name[k], "%d", k);
        list[k] = (tutti_guess){k, known ? known : name[k], exp((double)n->outputs[k] - highest)};
        sum += list[k].probability;
    }
    for (int k = 0; k < classes; k++) list[k].probability /= sum;
    qsort(list, (size_t)classes, sizeof *list, likely_first);
}

static void print_text(const tutti_seen *seen)
{
    tutti_text_print(stdout, "%s\n", seen->path);
    for (int i = 0; i < seen->guesses; i++)
        tutti_text_print(
            stdout, "  %6.2f %%  %s\n", 100 * seen->guess[i].probability, seen->guess[i].class);
}

static tutti_status print_json(const tutti_seen *seen)
{
    json_t *guesses = json_array();
    for (int i = 0; i < seen->guesses; i++)
        json_array_append_new(
            guesses, json_pack("{s:s, s:i, s:f}", "class", seen->guess[i].class, "label",
                         seen->guess[i].label, "probability", seen->guess[i].probability));
    json_t *event = json_pack("{s:s, s:o}", "image", seen->path, "predictions", guesses);
    if (!event) return tutti_fail(TUTTI_ERR_FORMAT, "%s: its name is not UTF-8", seen->path);
    json_dumpf(event, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(event);
    return TUTTI_OK;
}

/* Scratch memory of one prediction: [classes]. */
typedef struct ranking {
    tutti_guess *list;
    char (*name)[16];
} ranking;

static tutti_status predict(network *n, const char *image, const options *o, const ranking *r)
{
    const tutti_model_input *in = &n->trained.input;
    tutti_status status = tutti_picture_read(image, in, n->trained.resize, n->pixels);
    if (!status) status = run_network(n);
    if (status) return status;
    rank_classes(n, r->list, r->name);
    const tutti_seen seen = {.path = image,
        .height = in->H,
        .width = in->W,
        .channels = in->C,
        .pixels = n->pixels,
        .guesses = o->top < in->classes ? (int)o->top : in->classes,
        .guess = r->list};
    if (o->json)
        status = print_json(&seen);
    else
        print_text(&seen);
    return status ? status : tutti_predictions_add(n->files, &seen);
}

/* All images in a folder and in those in it. */
static tutti_status predict_folder(
    network *n, const char *folder, const options *o, const ranking *r)
{
    tutti_names images;
    tutti_status worst = TUTTI_OK;
    int error = tutti_names_list_below(folder, tutti_names_image, &images);
    if (error)
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot list the folder: %s", folder, strerror(error));
    if (!images.count)
        worst = tutti_fail(
            TUTTI_ERR_FORMAT, "%s: holds no %s file", folder, tutti_names_image_endings());
    for (size_t i = 0; i < images.count; i++) {
        char *path = tutti_path_format("%s/%s", folder, images.names[i]);
        tutti_status status =
            path ? predict(n, path, o, r) : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a name");
        if (status) worst = status;
        free(path);
    }
    tutti_names_free(&images);
    return worst;
}

/* A file or a folder. */
static tutti_status predict_path(network *n, const char *path, const options *o, const ranking *r)
{
    struct stat info;
    const int is_folder = !stat(path, &info) && S_ISDIR(info.st_mode);
    return is_folder ? predict_folder(n, path, o, r) : predict(n, path, o, r);
}

/* What no shell has expanded, in the order of the names: it may match more than a command line has room for. */
static tutti_status predict_matching(
    network *n, const char *pattern, const options *o, const ranking *r)
{
    glob_t found;
    tutti_status worst = TUTTI_OK;
    const int error = glob(pattern, 0, NULL, &found);
    if (error == GLOB_NOMATCH)
        worst = tutti_fail(TUTTI_ERR_IO, "%s: no file has such a name", pattern);
    else if (error)
        worst = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for the names of files", pattern);
    for (size_t i = 0; !error && i < found.gl_pathc; i++) {
        tutti_status status = predict_path(n, found.gl_pathv[i], o, r);
        if (status) worst = status;
    }
    globfree(&found);
    return worst;
}

/* An image that cannot be read does not keep the others from being looked at. */
static tutti_status predict_all(network *n, const options *o)
{
    const size_t classes = (size_t)n->trained.input.classes;
    ranking r = {calloc(classes, sizeof *r.list), calloc(classes, sizeof *r.name)};
    tutti_status worst =
        r.list && r.name ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for the classes");
    for (int i = 0; r.list && r.name && o->image[i]; i++) {
        struct stat info;
        const int is_pattern = stat(o->image[i], &info) && strpbrk(o->image[i], "*?[");
        tutti_status status = is_pattern ? predict_matching(n, o->image[i], o, &r)
                                         : predict_path(n, o->image[i], o, &r);
        if (status) worst = status;
    }
    free(r.list);
    free(r.name);
    if (fflush(stdout) || ferror(stdout))
        worst = tutti_fail(TUTTI_ERR_IO, "the output could not be written: %s", strerror(errno));
    return worst;
}

/* Whether two paths name one file, which may not exist yet. */
static int name_one_file(const char *a, const char *b)
{
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    const char *name_a = end_a ? end_a + 1 : a, *name_b = end_b ? end_b + 1 : b;
    char *folder_a = tutti_path_format("%.*s.", (int)(name_a - a), a);
    char *folder_b = tutti_path_format("%.*s.", (int)(name_b - b), b);
    const int one = tutti_file_same(a, b) || (!strcmp(name_a, name_b) && folder_a && folder_b &&
                                                 tutti_file_same(folder_a, folder_b));
    free(folder_a);
    free(folder_b);
    return one;
}

int main(int argc, char **argv)
{
    static options o;
    int go;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    if (o.csv && (tutti_file_same(o.checkpoint, o.csv) || (o.page && name_one_file(o.page, o.csv))))
        return tutti_conf_refuse(&conf, "csv", o.csv, "another option names this file, too"), 2;
    if (o.page && tutti_file_same(o.checkpoint, o.page))
        return tutti_conf_refuse(&conf, "page", o.page, "it is the checkpoint itself"), 2;
    network n = {0};
    tutti_status status = open_network(o.checkpoint, &n);
    if (!status) status = tutti_predictions_open(o.csv, o.page, o.checkpoint, &n.files);
    if (!status) status = predict_all(&n, &o);
    tutti_status wrote = tutti_predictions_close(n.files), closed = close_network(&n);
    return status || wrote || closed ? EXIT_FAILURE : EXIT_SUCCESS;
}
