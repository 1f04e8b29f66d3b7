/* A folder of image files for each class, in two formats:
 *
 *   jpeg       DIR/{train,test}/<class>/<any>.jpg; the first training image determines the size of
 *              all, unless a size of views is given
 *   imagenet   DIR/{train,val}/<class>/<any>.JPEG, photographs of any size, as ILSVRC has them; val
 *              may also hold the images themselves, and a file their labels (val_labels.h)
 *
 * Classes are train's folders, sorted by name; images are sorted by class, then name, so that an
 * index means the same image on every rank. One rank lists them, with the help of an index on disk
 * (folder_index.h); the others get
 *
 *   "height width classes flat" | an entry (listed.h) for each class [| one for val itself, if flat]
 */
#include "apps/data/decode.h"
#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "apps/data/folder_index.h"
#include "apps/data/formats.h"
#include "apps/data/listed.h"
#include "apps/data/val_labels.h"
#include "apps/data/webp.h"
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
    return tutti_names_fail(folder, error,
        "; a data set of images is DIR/{train,test}/<class>/*.jpg, or "
        "DIR/{train,val}/<class>/*.JPEG");
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
        if (status)
            tutti_fail(status,
                "%s; all images must have the size of this one, the first: repair or remove it, or "
                "give --size N",
                tutti_decoder_fault(decoder));
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

/* What is listed, and where. */
typedef struct survey {
    const char *path; /* DIR */
    char *train, *root;
    tutti_split split;
    int imagenet, flat;
    tutti_names classes;
    tutti_folder_index *index;
    int64_t images;
    tutti_left_out left_out;
} survey;

static const char *wanted_names(int imagenet)
{
    return imagenet ? tutti_names_image_endings() : ".jpg or .jpeg";
}

/* A class without images, whether its files come from the disk or from an index. */
static tutti_status fail_empty(
    const char *root, const char *name, int imagenet, const tutti_names *files)
{
    static const struct {
        const char *before, *after;
    } kinds[TUTTI_OTHERS] = {[TUTTI_OTHER_FOLDER] = {", only folders such as ",
                                 "; put images into the class's own folder"},
        [TUTTI_OTHER_PICTURE] = {", only pictures of other kinds such as ", "; convert them"},
        [TUTTI_OTHER_FILE] = {", only others such as ", ""},
        [TUTTI_OTHER_ODD] = {", only broken links or special files such as ", ""}};
    static const tutti_other order[] = {
        TUTTI_OTHER_PICTURE, TUTTI_OTHER_FOLDER, TUTTI_OTHER_FILE, TUTTI_OTHER_ODD};
    size_t k = 0;
    while (k < TUTTI_OTHERS && !files->others[order[k]]) k++;
    int is_empty = k == TUTTI_OTHERS;
    return tutti_fail(TUTTI_ERR_FORMAT, "%s/%s: this class holds no %s file%s%s%s", root, name,
        wanted_names(imagenet), is_empty ? "" : kinds[order[k]].before,
        is_empty ? "" : files->other[order[k]], is_empty ? "" : kinds[order[k]].after);
}

/* A class that is only in the test set has no label. With imagenet, one that is only in the training set is an error,
 * too: a part of the images is missing. */
static tutti_status check_test_classes(survey *s)
{
    tutti_names found;
    int error = tutti_names_list(s->root, tutti_names_folder, &found);
    if (error) return fail_list(s->root, error);
    tutti_left_out_add(&s->left_out, "", &found);
    tutti_status status = TUTTI_OK;
    for (size_t c = 0; c < found.count && !status; c++)
        if (tutti_names_index(&s->classes, found.names[c]) < 0)
            status = tutti_fail(TUTTI_ERR_FORMAT, "%s/%s: this class is not in the training set",
                s->root, found.names[c]);
    for (size_t c = 0; c < s->classes.count && s->imagenet && !status; c++)
        if (tutti_names_index(&found, s->classes.names[c]) < 0)
            status = tutti_fail(TUTTI_ERR_FORMAT,
                "%s: has no folder %s, which train has: some classes were not unpacked", s->root,
                s->classes.names[c]);
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

/* ---- listing, on one rank ---- */

/* The entry of one folder of the root; "": of the root itself. */
static tutti_status list_files(survey *s, const char *name, tutti_bytes *list)
{
    static const tutti_folder_stamp unknown;
    tutti_names files = {0};
    int may_be_absent = s->split == TUTTI_TEST && !s->imagenet;
    int error = tutti_folder_index_list(s->index, name, wanted_in(s->imagenet), &files);
    tutti_status status = TUTTI_OK;
    if (error && !(error == ENOENT && may_be_absent)) {
        char *folder = tutti_path_format("%s/%s", s->root, name);
        status = fail_list(folder && *name ? folder : s->root, error);
        free(folder);
    } else if (*name && !files.count && !may_be_absent) {
        status = fail_empty(s->root, name, s->imagenet, &files);
    }
    if (!*name) files.others[TUTTI_OTHER_FILE] = 0; /* such as val.txt */
    tutti_left_out_add(&s->left_out, name, &files);
    if (!status) status = tutti_listed_put(list, name, &unknown, &files);
    s->images += (int64_t)files.count;
    tutti_names_free(&files);
    return status;
}

/* Entries of all classes, which are empty where images have no folders of classes. */
static tutti_status list_entries(survey *s, tutti_bytes *list)
{
    static const tutti_folder_stamp unknown;
    static const tutti_names none;
    tutti_status status = TUTTI_OK;
    for (size_t c = 0; c < s->classes.count && !status; c++)
        status = s->flat ? tutti_listed_put(list, s->classes.names[c], &unknown, &none)
                         : list_files(s, s->classes.names[c], list);
    if (!status && s->flat) status = list_files(s, "", list);
    if (!status && !s->images)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no images", s->root);
    return status;
}

static tutti_status list_head(const survey *s, const tutti_dataset *asked, tutti_bytes *list)
{
    char head[128];
    int width = asked->width, height = asked->height;
    tutti_status status = TUTTI_OK;
    if (!asked->resize) status = first_size(s->train, &s->classes, &width, &height);
    snprintf(head, sizeof head, "%d %d %zu %d", height, width, s->classes.count, s->flat);
    return status ? status : tutti_listed_put_text(list, head);
}

static tutti_status list_all(survey *s, const tutti_dataset *asked, tutti_bytes *list)
{
    int error =
        s->train && s->root ? tutti_names_list(s->train, tutti_names_folder, &s->classes) : ENOMEM;
    if (error) return fail_list(s->train ? s->train : s->path, error);
    if (!s->classes.count)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: holds no folder of a class; expected %s/<class>/*.jpg", s->train, s->train);
    if (s->split == TUTTI_TRAIN) tutti_left_out_add(&s->left_out, "", &s->classes);
    tutti_status status = list_head(s, asked, list);
    if (!status && s->split == TUTTI_TEST && !s->flat) status = check_test_classes(s);
    const char *kind = s->imagenet && tutti_webp_reads() ? "imagenet, webp" : asked->source->name;
    if (!status)
        status =
            tutti_folder_index_open(s->path, folder_name(s->imagenet, s->split), kind, &s->index);
    if (!status) status = list_entries(s, list);
    if (!status)
        tutti_left_out_warn(&s->left_out, s->root, wanted_names(s->imagenet),
            s->flat ? "it" : "the folders of classes themselves");
    tutti_folder_index_close(s->index, !status);
    return status;
}

static tutti_status folder_list(
    const char *path, tutti_split split, const tutti_dataset *asked, tutti_bytes *list)
{
    int imagenet = is_imagenet(asked);
    survey s = {.path = path,
        .train = tutti_path_format("%s/train", path),
        .root = tutti_path_format("%s/%s", path, folder_name(imagenet, split)),
        .split = split,
        .imagenet = imagenet,
        .flat = imagenet && split == TUTTI_TEST && !has_classes(path, "val")};
    tutti_status status = list_all(&s, asked, list);
    tutti_names_free(&s.classes);
    free(s.train);
    free(s.root);
    return status;
}

/* ---- opening, on all ranks ---- */

static tutti_status fail_bytes(const folder_state *state)
{
    return tutti_fail(
        TUTTI_ERR_INTERNAL, "%s: the list of its images is not what rank 0 has sent", state->root);
}

static tutti_status fail_memory(const folder_state *state)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for the list of its images", state->root);
}

/* One entry, and the name of its folder, where that is wanted. */
static tutti_status take_files(
    const folder_state *state, tutti_listed *from, char **name, tutti_names *files)
{
    const char *folder;
    tutti_folder_stamp stamp;
    int error = tutti_listed_take(from, &folder, &stamp, files);
    if (error) return error == ENOMEM ? fail_memory(state) : fail_bytes(state);
    if (!name || (*name = strdup(folder))) return TUTTI_OK;
    tutti_names_free(files);
    return fail_memory(state);
}

static tutti_status take_classes(
    folder_state *state, tutti_listed *from, size_t count, int64_t *images)
{
    tutti_status status = TUTTI_OK;
    state->classes.names = calloc(count, sizeof *state->classes.names);
    state->images = calloc(count, sizeof *state->images);
    if (!state->classes.names || !state->images) return fail_memory(state);
    while (state->classes.count < count && !status) {
        size_t c = state->classes.count;
        state->images[c].first = *images;
        status = take_files(state, from, &state->classes.names[c], &state->images[c].files);
        if (state->classes.names[c]) state->classes.count++;
        *images += (int64_t)state->images[c].files.count;
    }
    return status;
}

/* Images without folders of classes; each rank reads the file of their labels. */
static tutti_status take_flat(
    const char *path, folder_state *state, tutti_listed *from, int tells, int64_t *images)
{
    for (size_t c = 0; c < state->classes.count; c++) tutti_names_free(&state->images[c].files);
    free(state->images);
    state->images = NULL;
    tutti_status status = take_files(state, from, NULL, &state->flat);
    if (status) return status;
    state->labels = calloc(state->flat.count + 1, sizeof *state->labels);
    if (!state->labels) return fail_memory(state);
    *images = (int64_t)state->flat.count;
    return tutti_val_labels_read(path, &state->classes, &state->flat, tells, state->labels);
}

static tutti_status take_all(const char *path, tutti_dataset *dataset)
{
    folder_state *state = dataset->state;
    const char *bytes = (const char *)dataset->listed->bytes;
    tutti_listed from = {bytes, bytes + dataset->listed->count};
    const char *head = tutti_listed_text(&from);
    size_t count;
    int flat;
    if (!head ||
        sscanf(head, "%d %d %zu %d", &dataset->height, &dataset->width, &count, &flat) != 4 ||
        !count || count > dataset->listed->count)
        return fail_bytes(state);
    dataset->channels = 3;
    dataset->classes = (int)count;
    tutti_status status = take_classes(state, &from, count, &dataset->count);
    if (!status && flat) status = take_flat(path, state, &from, dataset->tells, &dataset->count);
    if (!status && (from.at != from.end || !dataset->count)) status = fail_bytes(state);
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

static tutti_status check_images(const tutti_dataset *dataset)
{
    const folder_state *state = dataset->state;
    int32_t label;
    char *first = find_image(state, 0, &label);
    char *last = find_image(state, dataset->count - 1, &label);
    tutti_status status = tutti_names_compare(state->root, first, last);
    free(first);
    free(last);
    return status;
}

static tutti_status folder_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    folder_state *state = dataset->state = calloc(1, sizeof *state);
    if (state)
        state->root = tutti_path_format("%s/%s", path, folder_name(is_imagenet(dataset), split));
    tutti_status status = TUTTI_OK;
    if (!state || !state->root)
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    if (!status) status = take_all(path, dataset);
    if (!status) status = check_images(dataset);
    if (status && state) folder_close(dataset);
    return status;
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
    .by_class = 1,
    .recognise = recognise_jpeg,
    .list = folder_list,
    .open = folder_open,
    .fetch = folder_fetch,
    .close = folder_close,
};

const tutti_image_source tutti_image_source_imagenet = {
    .name = "imagenet",
    .summary = "photographs in a folder for each class: train/<class>/*.JPEG and "
               "val/<class>/*.JPEG, or val/*.JPEG with their labels in a file",
    .photographs = 1,
    .by_class = 1,
    .recognise = recognise_imagenet,
    .list = folder_list,
    .open = folder_open,
    .fetch = folder_fetch,
    .close = folder_close,
};
