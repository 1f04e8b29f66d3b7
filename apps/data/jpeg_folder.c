/* A folder of image files for each class, in two formats:
 *
 *   jpeg       DIR/{train,test}/<class>/<any>.jpg; the first training image determines the size of
 *              all, unless a size of views is given
 *   imagenet   DIR/{train,val}/<class>/<any>.JPEG, photographs of any size, as ILSVRC has them; val
 *              may also hold the images themselves, and a file their labels (val_labels.h)
 *
 * Classes are train's folders, sorted by name; images are sorted by class, then name, so that an
 * index means the same image on every rank. */
#include "apps/data/decode.h"
#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "apps/data/formats.h"
#include "apps/data/val_labels.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct class_files {
    tutti_names files;
    int64_t first; /* index of its first image */
} class_files;

typedef struct folder_state {
    char *root; /* DIR/train, DIR/test or DIR/val */
    tutti_names classes;
    class_files *images; /* per class; NULL: the images are in `root` itself */
    tutti_names flat;
    int32_t *labels; /* of these */
} folder_state;

/* Whether this is the format imagenet. */
static int is_imagenet(const tutti_dataset *dataset)
{
    return dataset->source->photographs;
}

static const char *folder_name(int imagenet, tutti_split split)
{
    return imagenet && split == TUTTI_TEST ? "val" : tutti_split_name(split);
}

static tutti_names_wanted wanted_in(int imagenet)
{
    return imagenet ? tutti_names_image : tutti_names_jpeg;
}

static tutti_status fail_list(const char *folder, int error)
{
    return tutti_fail(error == ENOMEM ? TUTTI_ERR_NOMEM : TUTTI_ERR_IO,
        "%s: cannot list the folder: %s%s", folder, strerror(error),
        error == ENOENT ? "; a data set of images is DIR/{train,test}/<class>/*.jpg, or "
                          "DIR/{train,val}/<class>/*.JPEG"
                        : "");
}

/* Whether a class folder of `root` holds a file that is a JPEG by name (NAMES), or also by its first bytes
 * (CONTENT). */
static int look_into_classes(const char *root, const tutti_names *classes)
{
    int fit = TUTTI_FORMAT_NO;
    for (size_t c = 0; c < classes->count && !fit; c++) {
        tutti_names files = {0};
        char *folder = tutti_path_format("%s/%s", root, classes->names[c]);
        if (folder && !tutti_names_list(folder, tutti_names_jpeg, &files) && files.count) {
            uint8_t head[3];
            char *path = tutti_path_format("%s/%s", folder, files.names[0]);
            int64_t bytes = path ? tutti_data_file_peek(path, head, sizeof head) : 0;
            fit = bytes > 0 && head[0] == 0xff && head[1] == 0xd8 && head[2] == 0xff
                      ? TUTTI_FORMAT_CONTENT
                      : TUTTI_FORMAT_NAMES;
            free(path);
        }
        tutti_names_free(&files);
        free(folder);
    }
    return fit;
}

/* A folder of this name beside train, with folders in it. */
static int has_classes(const char *path, const char *name)
{
    tutti_names classes = {0};
    char *root = tutti_path_format("%s/%s", path, name);
    int found = root && !tutti_names_list(root, tutti_names_folder, &classes) && classes.count;
    tutti_names_free(&classes);
    free(root);
    return found;
}

static int exists(const char *path, const char *name)
{
    char *root = tutti_path_format("%s/%s", path, name);
    DIR *folder = root ? opendir(root) : NULL;
    if (folder) closedir(folder);
    free(root);
    return folder != NULL;
}

/* ILSVRC also has a folder test, without labels. */
static int recognise_imagenet(const char *path)
{
    if (!exists(path, "val") || has_classes(path, "test")) return TUTTI_FORMAT_NO;
    return has_classes(path, "train") ? TUTTI_FORMAT_CONTENT : TUTTI_FORMAT_NAMES;
}

static int recognise_jpeg(const char *path)
{
    int fit = TUTTI_FORMAT_NO;
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST && fit < TUTTI_FORMAT_CONTENT;
         split++) {
        tutti_names classes = {0};
        if (recognise_imagenet(path)) break;
        char *root = tutti_path_format("%s/%s", path, tutti_split_name(split));
        if (root && !tutti_names_list(root, tutti_names_folder, &classes)) {
            int found = look_into_classes(root, &classes);
            /* the folder itself is a name */
            fit = found > TUTTI_FORMAT_NAMES ? found : TUTTI_FORMAT_NAMES;
            tutti_names_free(&classes);
        }
        free(root);
    }
    return fit;
}

static tutti_status look(const char *path, int *width, int *height)
{
    tutti_sample sample = {0};
    tutti_decoder *decoder;
    tutti_status status = tutti_decoder_new(&decoder);
    if (status) return status;
    status = tutti_sample_load(path, &sample);
    if (!status) {
        status = tutti_decoder_look(decoder, &sample, width, height);
        if (status) tutti_fail(status, "%s", tutti_decoder_fault(decoder));
    }
    tutti_sample_free(&sample);
    tutti_decoder_free(decoder);
    return status;
}

/* The size of the first image of the training set. */
static tutti_status first_size(
    const char *train, const tutti_names *classes, int *width, int *height)
{
    tutti_names files = {0};
    char *path = NULL, *folder = tutti_path_format("%s/%s", train, classes->names[0]);
    int error = folder ? tutti_names_list(folder, tutti_names_jpeg, &files) : ENOMEM;
    tutti_status status = TUTTI_OK;
    if (error)
        status = fail_list(folder ? folder : train, error);
    else if (!files.count)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: this class holds no .jpg or .jpeg file", folder);
    else if (!(path = tutti_path_format("%s/%s", folder, files.names[0])))
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open an image", folder);
    else
        status = look(path, width, height);
    free(path);
    free(folder);
    tutti_names_free(&files);
    return status;
}

static tutti_status list_class(
    const char *root, const char *name, int imagenet, int may_be_absent, tutti_names *files)
{
    char *folder = tutti_path_format("%s/%s", root, name);
    int error = folder ? tutti_names_list(folder, wanted_in(imagenet), files) : ENOMEM;
    tutti_status status = TUTTI_OK;
    if (error && !(error == ENOENT && may_be_absent)) {
        status = fail_list(folder ? folder : root, error);
    } else if (!files->count && !may_be_absent) {
        status =
            tutti_fail(TUTTI_ERR_FORMAT, "%s: this class holds no .jpg or .jpeg file%s%s", folder,
                files->others ? ", only others such as " : "", files->others ? files->other : "");
    } else if (files->others) {
        tutti_log(TUTTI_LOG_WARN, "%s: skips %zu files that are not .jpg or .jpeg, such as %s",
            folder, files->others, files->other);
    }
    free(folder);
    return status;
}

/* A class that is only in the test set has no label. With imagenet, one that is only in the training set is an error,
 * too: a part of the images is missing. */
static tutti_status check_test_classes(const char *root, const tutti_names *classes, int imagenet)
{
    tutti_names found;
    int error = tutti_names_list(root, tutti_names_folder, &found);
    if (error) return fail_list(root, error);
    tutti_status status = TUTTI_OK;
    for (size_t c = 0; c < found.count && !status; c++)
        if (tutti_names_find(classes, found.names[c]) < 0)
            status = tutti_fail(TUTTI_ERR_FORMAT, "%s/%s: this class is not in the training set",
                root, found.names[c]);
    for (size_t c = 0; c < classes->count && imagenet && !status; c++)
        if (tutti_names_find(&found, classes->names[c]) < 0)
            status = tutti_fail(TUTTI_ERR_FORMAT,
                "%s: has no folder %s, which train has: some classes were not unpacked", root,
                classes->names[c]);
    tutti_names_free(&found);
    return status;
}

static void folder_close(tutti_dataset *dataset)
{
    folder_state *state = dataset->state;
    for (size_t c = 0; state->images && c < state->classes.count; c++)
        tutti_names_free(&state->images[c].files);
    free(state->images);
    tutti_names_free(&state->flat);
    free(state->labels);
    tutti_names_free(&state->classes);
    free(state->root);
    free(state);
}

static tutti_status list_classes(
    folder_state *state, tutti_split split, int imagenet, int64_t *count)
{
    int64_t total = 0;
    state->images = calloc(state->classes.count, sizeof *state->images);
    if (!state->images)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its images", state->root);
    for (size_t c = 0; c < state->classes.count; c++) {
        class_files *images = &state->images[c];
        tutti_status status = list_class(state->root, state->classes.names[c], imagenet,
            split == TUTTI_TEST && !imagenet, &images->files);
        if (status) return status;
        images->first = total;
        total += (int64_t)images->files.count;
    }
    if (!total) return tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no images", state->root);
    *count = total;
    return TUTTI_OK;
}

/* Images without folders of classes. */
static tutti_status list_flat(const char *path, folder_state *state, int64_t *count)
{
    int error = tutti_names_list(state->root, tutti_names_image, &state->flat);
    if (error) return fail_list(state->root, error);
    if (!state->flat.count) return tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no images", state->root);
    state->labels = calloc(state->flat.count, sizeof *state->labels);
    if (!state->labels)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its images", state->root);
    *count = (int64_t)state->flat.count;
    return tutti_val_labels_read(path, &state->classes, &state->flat, state->labels);
}

static tutti_status fill(const char *path, tutti_split split, tutti_dataset *dataset)
{
    folder_state *state = dataset->state;
    int imagenet = is_imagenet(dataset);
    int flat = imagenet && split == TUTTI_TEST && !has_classes(path, "val");
    char *train = tutti_path_format("%s/train", path);
    state->root = tutti_path_format("%s/%s", path, folder_name(imagenet, split));
    int error = train && state->root ? tutti_names_list(train, tutti_names_folder, &state->classes)
                                     : ENOMEM;
    tutti_status status = TUTTI_OK;
    if (error)
        status = fail_list(train ? train : path, error);
    else if (!state->classes.count)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: holds no folder of a class; expected %s/<class>/*.jpg", train, train);
    if (!status && !dataset->resize)
        status = first_size(train, &state->classes, &dataset->width, &dataset->height);
    if (!status && split == TUTTI_TEST && !flat)
        status = check_test_classes(state->root, &state->classes, imagenet);
    free(train);
    if (status) return status;
    dataset->channels = 3;
    dataset->classes = (int)state->classes.count;
    if (flat) return list_flat(path, state, &dataset->count);
    return list_classes(state, split, imagenet, &dataset->count);
}

static tutti_status folder_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    dataset->state = calloc(1, sizeof(folder_state));
    if (!dataset->state) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    tutti_status status = fill(path, split, dataset);
    if (status) folder_close(dataset);
    return status;
}

/* The class of an image: the last that begins at or before it. A class without images begins where the next one
 * does. */
static size_t find_class(const folder_state *state, int64_t index)
{
    size_t low = 0, high = state->classes.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (state->images[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The path of an image, which the caller frees, and its label. */
static char *find_image(const folder_state *state, int64_t index, int32_t *label)
{
    if (!state->images) {
        *label = state->labels[index];
        return tutti_path_format("%s/%s", state->root, state->flat.names[index]);
    }
    size_t class = find_class(state, index);
    const class_files *images = &state->images[class];
    *label = (int32_t) class;
    return tutti_path_format("%s/%s/%s", state->root, state->classes.names[class],
        images->files.names[index - images->first]);
}

static tutti_status folder_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const folder_state *state = dataset->state;
    int32_t label;
    char *path = find_image(state, index, &label);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open an image", state->root);
    tutti_status status = tutti_sample_load(path, sample);
    sample->label = label;
    free(path);
    return status;
}

const tutti_image_source tutti_image_source_jpeg = {
    .name = "jpeg",
    .summary = "a folder of JPEG files for each class: train/<class>/*.jpg and test/<class>/*.jpg",
    .recognise = recognise_jpeg,
    .open = folder_open,
    .fetch = folder_fetch,
    .close = folder_close,
};

const tutti_image_source tutti_image_source_imagenet = {
    .name = "imagenet",
    .summary = "photographs in a folder for each class: train/<class>/*.JPEG and "
               "val/<class>/*.JPEG, or val/*.JPEG with their labels in a file",
    .photographs = 1,
    .recognise = recognise_imagenet,
    .open = folder_open,
    .fetch = folder_fetch,
    .close = folder_close,
};
