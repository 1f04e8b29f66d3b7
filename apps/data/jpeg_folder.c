/* A folder of JPEG files for each class: DIR/{train,test}/<class>/<any>.jpg. Classes are train's
 * folders, sorted by name (bytes, not locale); images are sorted by class, then name, so that an
 * index means the same image on every rank. The first training image determines the size of all. */
#include "apps/data/decode.h"
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "dag/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* No picture with sides up to TUTTI_IMAGE_SIDE_MAX needs more; a larger file is something else. */
#define FILE_BYTES_MAX ((int64_t)64 << 20)

typedef struct name_list {
    char **names; /* sorted */
    size_t count;
    size_t others;   /* unwanted entries, without hidden ones */
    char other[256]; /* one of them */
} name_list;

typedef struct class_files {
    name_list files;
    int64_t first; /* index of its first image */
} class_files;

typedef struct folder_state {
    char *root; /* DIR/train or DIR/test */
    name_list classes;
    class_files *images; /* per class */
} folder_state;

static void free_names(name_list *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->names[i]);
    free(list->names);
    *list = (name_list){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* DT_DIR or DT_REG, links followed; DT_UNKNOWN for anything else. */
static int entry_type(const char *folder, const struct dirent *entry)
{
    if (entry->d_type == DT_DIR || entry->d_type == DT_REG) return entry->d_type;
    struct stat st;
    char *path = tutti_path_format("%s/%s", folder, entry->d_name);
    int rc = path ? stat(path, &st) : -1;
    free(path);
    if (rc) return DT_UNKNOWN;
    return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

static int is_class(const char *folder, const struct dirent *entry)
{
    return entry_type(folder, entry) == DT_DIR;
}

static int is_jpeg(const char *folder, const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || (strcasecmp(dot, ".jpg") && strcasecmp(dot, ".jpeg"))) return 0;
    return entry_type(folder, entry) == DT_REG;
}

static int append_name(name_list *list, size_t *room, const char *name)
{
    if (list->count == *room) {
        size_t more = *room ? 2 * *room : 64;
        char **names = realloc(list->names, more * sizeof *names);
        if (!names) return ENOMEM;
        list->names = names;
        *room = more;
    }
    char *copy = strdup(name);
    if (!copy) return ENOMEM;
    list->names[list->count++] = copy;
    return 0;
}

/* Lists the wanted entries of a folder, without hidden ones. 0 or an errno value; logs nothing. */
static int list_names(
    const char *folder, int (*wanted)(const char *, const struct dirent *), name_list *list)
{
    *list = (name_list){0};
    DIR *dir = opendir(folder);
    if (!dir) return errno;
    int error = 0;
    size_t room = 0;
    while (!error) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            error = errno;
            break;
        }
        if (*entry->d_name == '.') continue;
        if (wanted(folder, entry)) {
            error = append_name(list, &room, entry->d_name);
        } else if (!list->others++) {
            memcpy(list->other, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    closedir(dir);
    if (error)
        free_names(list);
    else if (list->count)
        qsort(list->names, list->count, sizeof *list->names, by_name);
    return error;
}

static tutti_status fail_list(const char *folder, int error)
{
    return tutti_fail(error == ENOMEM ? TUTTI_ERR_NOMEM : TUTTI_ERR_IO,
        "%s: cannot list the folder: %s%s", folder, strerror(error),
        error == ENOENT ? "; a JPEG data set is DIR/{train,test}/<class>/*.jpg" : "");
}

/* Whether a class folder of `root` holds a file that is a JPEG by name (NAMES), or also by its first bytes
 * (CONTENT). */
static int look_into_classes(const char *root, const name_list *classes)
{
    int fit = TUTTI_FORMAT_NO;
    for (size_t c = 0; c < classes->count && !fit; c++) {
        name_list files = {0};
        char *folder = tutti_path_format("%s/%s", root, classes->names[c]);
        if (folder && !list_names(folder, is_jpeg, &files) && files.count) {
            uint8_t head[3];
            char *path = tutti_path_format("%s/%s", folder, files.names[0]);
            int64_t bytes = path ? tutti_data_file_peek(path, head, sizeof head) : 0;
            fit = bytes > 0 && head[0] == 0xff && head[1] == 0xd8 && head[2] == 0xff
                      ? TUTTI_FORMAT_CONTENT
                      : TUTTI_FORMAT_NAMES;
            free(path);
        }
        free_names(&files);
        free(folder);
    }
    return fit;
}

static int folder_recognise(const char *path)
{
    int fit = TUTTI_FORMAT_NO;
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST && fit < TUTTI_FORMAT_CONTENT;
         split++) {
        name_list classes;
        char *root = tutti_path_format("%s/%s", path, tutti_split_name(split));
        if (root && !list_names(root, is_class, &classes)) {
            int found = look_into_classes(root, &classes);
            /* the folder itself is a name */
            fit = found > TUTTI_FORMAT_NAMES ? found : TUTTI_FORMAT_NAMES;
            free_names(&classes);
        }
        free(root);
    }
    return fit;
}

/* Reads a whole file into a sample. */
static tutti_status slurp(const char *path, tutti_sample *sample)
{
    tutti_data_file file = {0};
    tutti_status status = tutti_data_file_open(path, &file);
    if (status) return status;
    if (file.bytes > FILE_BYTES_MAX)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: %lld bytes cannot be an image of a data set",
            path, (long long)file.bytes);
    if (!status) status = tutti_sample_reserve(sample, (size_t)file.bytes);
    if (!status) status = tutti_data_file_read(&file, 0, sample->bytes, sample->count);
    tutti_data_file_close(&file);
    sample->kind = TUTTI_SAMPLE_FILE;
    snprintf(sample->name, sizeof sample->name, "%s", path);
    return status;
}

static tutti_status look(const char *path, int *width, int *height)
{
    tutti_sample sample = {0};
    tutti_decoder *decoder;
    tutti_status status = tutti_decoder_new(&decoder);
    if (status) return status;
    status = slurp(path, &sample);
    if (!status) {
        status = tutti_decoder_look(decoder, &sample, width, height);
        if (status) tutti_fail(status, "%s", tutti_decoder_fault(decoder));
    }
    tutti_sample_free(&sample);
    tutti_decoder_free(decoder);
    return status;
}

/* The size of the first image of the training set. */
static tutti_status first_size(const char *train, const name_list *classes, int *width, int *height)
{
    name_list files = {0};
    char *path = NULL, *folder = tutti_path_format("%s/%s", train, classes->names[0]);
    int error = folder ? list_names(folder, is_jpeg, &files) : ENOMEM;
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
    free_names(&files);
    return status;
}

static tutti_status list_class(
    const char *root, const char *name, int may_be_absent, name_list *files)
{
    char *folder = tutti_path_format("%s/%s", root, name);
    int error = folder ? list_names(folder, is_jpeg, files) : ENOMEM;
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

/* A class that is only in the test set has no label. */
static tutti_status check_test_classes(const char *root, const name_list *classes)
{
    name_list found;
    int error = list_names(root, is_class, &found);
    if (error) return fail_list(root, error);
    tutti_status status = TUTTI_OK;
    for (size_t c = 0; c < found.count && !status; c++)
        if (!bsearch(
                &found.names[c], classes->names, classes->count, sizeof *classes->names, by_name))
            status = tutti_fail(TUTTI_ERR_FORMAT, "%s/%s: this class is not in the training set",
                root, found.names[c]);
    free_names(&found);
    return status;
}

static void folder_close(tutti_dataset *dataset)
{
    folder_state *state = dataset->state;
    for (size_t c = 0; state->images && c < state->classes.count; c++)
        free_names(&state->images[c].files);
    free(state->images);
    free_names(&state->classes);
    free(state->root);
    free(state);
}

static tutti_status list_images(folder_state *state, tutti_split split, int64_t *count)
{
    int64_t total = 0;
    for (size_t c = 0; c < state->classes.count; c++) {
        class_files *images = &state->images[c];
        tutti_status status =
            list_class(state->root, state->classes.names[c], split == TUTTI_TEST, &images->files);
        if (status) return status;
        images->first = total;
        total += (int64_t)images->files.count;
    }
    if (!total) return tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no images", state->root);
    *count = total;
    return TUTTI_OK;
}

static tutti_status fill(const char *path, tutti_split split, tutti_dataset *dataset)
{
    folder_state *state = dataset->state;
    char *train = tutti_path_format("%s/train", path);
    state->root = tutti_path_format("%s/%s", path, tutti_split_name(split));
    int error = train && state->root ? list_names(train, is_class, &state->classes) : ENOMEM;
    tutti_status status = TUTTI_OK;
    if (error)
        status = fail_list(train ? train : path, error);
    else if (!state->classes.count)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: holds no folder of a class; expected %s/<class>/*.jpg", train, train);
    if (!status && !dataset->resize)
        status = first_size(train, &state->classes, &dataset->width, &dataset->height);
    if (!status && split == TUTTI_TEST) status = check_test_classes(state->root, &state->classes);
    free(train);
    if (status) return status;
    state->images = calloc(state->classes.count, sizeof *state->images);
    if (!state->images)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its images", path);
    dataset->channels = 3;
    dataset->classes = (int)state->classes.count;
    return list_images(state, split, &dataset->count);
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

static tutti_status folder_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const folder_state *state = dataset->state;
    size_t class = find_class(state, index);
    const class_files *images = &state->images[class];
    char *path = tutti_path_format("%s/%s/%s", state->root, state->classes.names[class],
        images->files.names[index - images->first]);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open an image", state->root);
    tutti_status status = slurp(path, sample);
    sample->label = (int32_t) class;
    free(path);
    return status;
}

const tutti_image_source tutti_image_source_jpeg = {
    .name = "jpeg",
    .summary = "a folder of JPEG files for each class: train/<class>/*.jpg and test/<class>/*.jpg",
    .recognise = folder_recognise,
    .open = folder_open,
    .fetch = folder_fetch,
    .close = folder_close,
};
