/* Photographs in a folder for each class, without train/ and val/: the format folders.
 *
 *   DIR/<class>/<any>.jpg   DIR/<class>/<folder>/<any>.png
 *
 * Classes are DIR's folders, sorted by name; images are sorted by class, then path, so that an index means the
 * same image on every rank. Of each class a part is held out for evaluation (source.h): those whose names draw the
 * least numbers, at least one where there are two. One rank lists the folders; all others get
 *
 *   for each class: its name | how many images it has | the path of each below the class
 */
#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "apps/data/formats.h"
#include "apps/data/listed.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/rng.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16 };
static const double usual_share = 0.2;

typedef struct image {
    char *path; /* below DIR */
    int32_t label;
} image;

typedef struct folders_state {
    char *root;
    image *image;
    int64_t images;
} folders_state;

/* ---- recognising ---- */

static int is_split_name(const char *name)
{
    return !strcmp(name, "train") || !strcmp(name, "val") || !strcmp(name, "test");
}

/* Whether a folder holds an image at some depth, and no folder of a split. */
static int has_images(const char *folder, int depth)
{
    tutti_names files = {0}, folders = {0};
    int error = tutti_names_list(folder, tutti_names_image, &files), found = !error && files.count;
    if (!found && depth < DEEPEST) error = tutti_names_list(folder, tutti_names_folder, &folders);
    for (size_t i = 0; i < folders.count && !found; i++) {
        char *below = is_split_name(folders.names[i])
                          ? NULL
                          : tutti_path_format("%s/%s", folder, folders.names[i]);
        if (!below) break;
        found = has_images(below, depth + 1);
        free(below);
    }
    tutti_names_free(&files);
    tutti_names_free(&folders);
    return found;
}

/* Two classes or more. */
static int folders_recognise(const char *path)
{
    tutti_names classes = {0};
    int with_images = 0, split = 0;
    if (tutti_names_list(path, tutti_names_folder, &classes)) return TUTTI_FORMAT_NO;
    for (size_t c = 0; c < classes.count; c++) split |= is_split_name(classes.names[c]);
    for (size_t c = 0; c < classes.count && with_images < 2 && !split; c++) {
        char *folder = tutti_path_format("%s/%s", path, classes.names[c]);
        with_images += folder && has_images(folder, 1);
        free(folder);
    }
    tutti_names_free(&classes);
    return with_images == 2 ? TUTTI_FORMAT_CONTENT : TUTTI_FORMAT_NO;
}

/* ---- listing, on one rank ---- */

static tutti_status list_class(
    const char *root, const char *class, tutti_left_out *left, tutti_bytes *list)
{
    char number[32];
    tutti_names images = {0};
    char *folder = tutti_path_format("%s/%s", root, class);
    int error = folder ? tutti_names_list_below(folder, tutti_names_image, &images) : ENOMEM;
    tutti_status status = error ? tutti_names_fail(folder ? folder : root, error, "") : TUTTI_OK;
    if (!status && !images.count)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: this class holds no %s file: remove the folder, or put images into it", folder,
            tutti_names_image_endings());
    tutti_left_out_add(left, class, &images);
    snprintf(number, sizeof number, "%zu", images.count);
    if (!status) status = tutti_listed_put_text(list, class);
    if (!status) status = tutti_listed_put_text(list, number);
    for (size_t i = 0; i < images.count && !status; i++)
        status = tutti_listed_put_text(list, images.names[i]);
    tutti_names_free(&images);
    free(folder);
    return status;
}

/* A user who names this format, which is not recognised then, may mean another one. */
static tutti_status check_classes(const char *path, const tutti_names *classes)
{
    for (size_t c = 0; c < classes->count; c++)
        if (is_split_name(classes->names[c]))
            return tutti_fail(TUTTI_ERR_FORMAT,
                "%s: has a folder %s, which the format folders would take for a class: leave out "
                "--format, or rename the folder if it is one",
                path, classes->names[c]);
    if (classes->count < 2)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: holds %s folder of a class; there must be two or more", path,
            classes->count ? "one" : "no");
    return TUTTI_OK;
}

static tutti_status folders_list(
    const char *path, tutti_split split, const tutti_dataset *asked, tutti_bytes *list)
{
    tutti_left_out left = {0};
    tutti_names classes;
    (void)asked;
    int error = tutti_names_list(path, tutti_names_folder, &classes);
    if (error) return tutti_names_fail(path, error, "");
    tutti_left_out_add(&left, "", &classes);
    tutti_status status = check_classes(path, &classes);
    for (size_t c = 0; c < classes.count && !status; c++)
        status = list_class(path, classes.names[c], &left, list);
    if (!status && split == TUTTI_TRAIN)
        tutti_left_out_warn(&left, path, tutti_names_image_endings(), "the folders of classes");
    tutti_names_free(&classes);
    return status;
}

/* ---- opening, on all ranks ---- */

static tutti_status fail_memory(const char *root)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for the list of its images", root);
}

/* An image of a class, in the order in which they are drawn. */
typedef struct draw {
    uint64_t number;
    int64_t index;
} draw;

static int by_number(const void *a, const void *b)
{
    const draw *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Chooses the images of a class, whose paths follow each other in `paths`, for a split: takes[i]. */
static tutti_status choose(const tutti_dataset *dataset, tutti_split split, const char *class,
    const char *const *path, int64_t images, char takes[])
{
    const double share = dataset->held_out > 0 ? dataset->held_out : usual_share;
    draw *drawn = calloc((size_t)images + 1, sizeof *drawn);
    if (!drawn) return fail_memory(class);
    int64_t held = llround(share * (double)images);
    if (held < 1) held = 1;
    if (held > images - 1) held = images - 1;
    for (int64_t i = 0; i < images; i++)
        drawn[i] = (draw){tutti_rng_u64(dataset->held_out_seed, tutti_rng_stream(class),
                              tutti_rng_stream(path[i])),
            i};
    qsort(drawn, (size_t)images, sizeof *drawn, by_number);
    for (int64_t i = 0; i < images; i++)
        takes[drawn[i].index] = (i < held) == (split == TUTTI_TEST);
    free(drawn);
    return TUTTI_OK;
}

static tutti_status take_images(folders_state *state, const char *class, int32_t label,
    const char *const *path, const char *takes, int64_t images)
{
    for (int64_t i = 0; i < images; i++) {
        if (!takes[i]) continue;
        char *copy = tutti_path_format("%s/%s", class, path[i]);
        if (!copy) return fail_memory(state->root);
        state->image[state->images++] = (image){copy, label};
    }
    return TUTTI_OK;
}

/* The next class that rank 0 has sent. */
static tutti_status take_class(
    tutti_dataset *dataset, tutti_split split, tutti_listed *from, int64_t *all)
{
    folders_state *state = dataset->state;
    int64_t images = 0;
    const char *class = tutti_listed_text(from), *number = class ? tutti_listed_text(from) : NULL;
    if (!number || !tutti_number_int(number, &images) || images < 1 ||
        images > from->end - from->at)
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "%s: the list of its images is not what rank 0 has sent", state->root);
    const char **path = calloc((size_t)images, sizeof *path);
    char *takes = calloc((size_t)images, 1);
    image *larger = realloc(state->image, (size_t)(state->images + images) * sizeof *larger);
    if (larger) state->image = larger;
    tutti_status status = path && takes && larger ? TUTTI_OK : fail_memory(state->root);
    for (int64_t i = 0; i < images && !status; i++)
        if (!(path[i] = tutti_listed_text(from)))
            status = tutti_fail(TUTTI_ERR_INTERNAL,
                "%s: the list of its images is not what rank 0 has sent", state->root);
    if (!status) status = choose(dataset, split, class, path, images, takes);
    if (!status) status = take_images(state, class, dataset->classes, path, takes, images);
    dataset->classes++;
    *all += images;
    free(path);
    free(takes);
    return status;
}

static char *path_of(const folders_state *state, int64_t index)
{
    return tutti_path_format("%s/%s", state->root, state->image[index].path);
}

static tutti_status check_images(const folders_state *state)
{
    char *first = path_of(state, 0), *last = path_of(state, state->images - 1);
    tutti_status status = tutti_names_compare(state->root, first, last);
    free(first);
    free(last);
    return status;
}

static void folders_close(tutti_dataset *dataset)
{
    folders_state *state = dataset->state;
    for (int64_t i = 0; i < state->images; i++) free(state->image[i].path);
    free(state->image);
    free(state->root);
    free(state);
}

static tutti_status folders_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    folders_state *state = dataset->state = calloc(1, sizeof *state);
    const char *bytes = (const char *)dataset->listed->bytes;
    tutti_listed from = {bytes, bytes + dataset->listed->count};
    int64_t all = 0;
    if (!state || !(state->root = strdup(path))) {
        free(state);
        return fail_memory(path);
    }
    tutti_status status = TUTTI_OK;
    dataset->channels = 3;
    while (!status && from.at < from.end) status = take_class(dataset, split, &from, &all);
    dataset->count = state->images;
    if (!status && !state->images)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: each class has only one image, so none can be held out for evaluation", path);
    if (!status) status = check_images(state);
    if (!status && dataset->tells && split == TUTTI_TEST)
        tutti_log(TUTTI_LOG_INFO,
            "%s: %" PRId64 " images in %d classes; %" PRId64
            " of them, chosen by name, are held out for evaluation (--split %g,%" PRIu64 ")",
            path, all, dataset->classes, state->images,
            dataset->held_out > 0 ? dataset->held_out : usual_share, dataset->held_out_seed);
    if (status) folders_close(dataset);
    return status;
}

static tutti_status folders_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const folders_state *state = dataset->state;
    char *path = path_of(state, index);
    if (!path) return fail_memory(state->root);
    tutti_status status = tutti_sample_load(path, sample);
    sample->label = state->image[index].label;
    free(path);
    return status;
}

const tutti_image_source tutti_image_source_folders = {
    .name = "folders",
    .summary = "photographs in a folder for each class: <class>/*.jpg; --split holds a part "
               "of them out for evaluation",
    .photographs = 1,
    .by_class = 1,
    .splits = 1,
    .recognise = folders_recognise,
    .list = folders_list,
    .open = folders_open,
    .fetch = folders_fetch,
    .close = folders_close,
};
