/* Shards: DIR/train*.tar and DIR/val*.tar, uncompressed, as WebDataset has them: an image is the
 * files KEY.jpg (.jpeg, .png, .webp) and KEY.cls, which has the number of its class (tar_sample.h). Opening
 * reads the headers, and the labels; an image is then read at its offset. Images are numbered in the
 * order of shards by name, and in a shard in the order of entries. */
#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "apps/data/formats.h"
#include "apps/data/shard_faults.h"
#include "apps/data/shard_folders.h"
#include "apps/data/tar_sample.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shard_image {
    int64_t offset, bytes;
    int32_t shard, label;
} shard_image;

typedef struct shards {
    tutti_data_file *files;
    size_t file_count;
    shard_image *images;
    int64_t count, room;
    int32_t most; /* the largest label */
} shards;

static int is_shard_of(const struct dirent *entry, const char *split)
{
    size_t length = strlen(entry->d_name), begin = strlen(split);
    return length > begin + 4 && !strncmp(entry->d_name, split, begin) &&
           !strcmp(entry->d_name + length - 4, ".tar");
}

static int wanted_train(const char *folder, const struct dirent *entry)
{
    (void)folder;
    return is_shard_of(entry, "train");
}

static int wanted_val(const char *folder, const struct dirent *entry)
{
    (void)folder;
    return is_shard_of(entry, "val");
}

static int shards_recognise(const char *path)
{
    tutti_names names = {0};
    int fit = TUTTI_FORMAT_NO;
    if (!tutti_names_list(path, wanted_train, &names) && names.count) {
        uint8_t head[TUTTI_TAR_BLOCK];
        char *file = tutti_path_format("%s/%s", path, names.names[0]);
        int64_t bytes = file ? tutti_data_file_peek(file, head, sizeof head) : -1;
        fit = bytes > 0 && tutti_tar_recognise(head) ? TUTTI_FORMAT_CONTENT : TUTTI_FORMAT_NAMES;
        free(file);
    }
    tutti_names_free(&names);
    return fit;
}

static void close_shards(shards *s)
{
    for (size_t f = 0; f < s->file_count; f++) tutti_data_file_close(&s->files[f]);
    free(s->files);
    free(s->images);
    free(s);
}

static void shards_close(tutti_dataset *dataset)
{
    close_shards(dataset->state);
}

static tutti_status append(shards *s, const shard_image *image)
{
    if (s->count == s->room) {
        int64_t room = s->room ? 2 * s->room : 1024;
        shard_image *more = realloc(s->images, (size_t)room * sizeof *more);
        if (!more)
            return tutti_fail(
                TUTTI_ERR_NOMEM, "no memory for a list of %lld images", (long long)room);
        s->images = more;
        s->room = room;
    }
    s->images[s->count++] = *image;
    if (image->label > s->most) s->most = image->label;
    return TUTTI_OK;
}

/* What is found out while a split is read. */
typedef struct findings {
    tutti_shard_faults faults;
    tutti_shard_folders folders;
} findings;

static tutti_status read_shard(shards *s, size_t shard, findings *found_out)
{
    tutti_tar_reader reader = {.file = &s->files[shard], .faults = &found_out->faults};
    tutti_tar_sample sample;
    int found = 1;
    tutti_status status = TUTTI_OK;
    while (!status && found) {
        status = tutti_tar_sample_next(&reader, &sample, &found);
        const shard_image image = {sample.image, sample.image_bytes, (int32_t)shard, sample.label};
        if (!status && found) status = append(s, &image);
        if (!status && found)
            status = tutti_shard_folders_add(
                &found_out->folders, sample.key, sample.label, (int32_t)shard, sample.image);
    }
    return status;
}

static tutti_status open_files(
    const char *path, const tutti_names *names, findings *found_out, shards *s)
{
    s->files = calloc(names->count, sizeof *s->files);
    if (!s->files) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its shards", path);
    tutti_status status = TUTTI_OK;
    for (size_t f = 0; f < names->count && !status; f++) {
        char *file = tutti_path_format("%s/%s", path, names->names[f]);
        status = file ? tutti_data_file_open(file, &s->files[f])
                      : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open a shard", path);
        s->file_count = f + 1;
        if (!status) {
            tutti_data_file_scattered(&s->files[f]);
            status = read_shard(s, f, found_out);
        }
        free(file);
    }
    return status;
}

static void report_faults(const char *path, const char *split, const shards *s, findings *found_out)
{
    char *set = tutti_path_format("%s/%s*.tar", path, split);
    tutti_shard_place one;
    int64_t wrong = tutti_shard_folders_find(&found_out->folders, &one);
    if (wrong) /* nothing is strict here, so that it cannot fail */
        (void)tutti_shard_faults_add(&found_out->faults, TUTTI_FAULT_FOLDER,
            s->files[one.shard].path, one.offset, "an image");
    found_out->faults.count[TUTTI_FAULT_FOLDER] = wrong;
    tutti_shard_faults_report(&found_out->faults, set ? set : path);
    free(set);
}

/* Reads where the images of a split are. tells: warns of faults. */
static tutti_status read_split(const char *path, tutti_split split,
    const tutti_dataset_assign *assign, int tells, shards **made)
{
    const char *name = split == TUTTI_TRAIN ? "train" : "val";
    tutti_names names = {0};
    findings found_out = {0};
    int error = tutti_names_list(path, split == TUTTI_TRAIN ? wanted_train : wanted_val, &names);
    shards *s = calloc(1, sizeof *s);
    tutti_status status = TUTTI_OK;
    if (error)
        status = tutti_fail(TUTTI_ERR_IO, "%s: cannot list the folder: %s", path, strerror(error));
    else if (!s)
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    else if (!names.count)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no shard %s*.tar", path, name);
    if (assign) status = assign->assign(assign->ctx, status, path, &names);
    if (!status) status = open_files(path, &names, &found_out, s);
    if (tells && s) report_faults(path, name, s, &found_out);
    tutti_shard_folders_free(&found_out.folders);
    if (!status && !s->count)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: the shards %s*.tar hold no images", path, name);
    tutti_names_free(&names);
    if (!status)
        *made = s;
    else if (s)
        close_shards(s);
    return status;
}

static tutti_status shards_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    shards *s;
    tutti_split first = dataset->assign ? split : TUTTI_TRAIN; /* whose labels are all */
    tutti_status status =
        read_split(path, first, dataset->assign, dataset->tells && split == first, &s);
    if (status) return status;
    int classes = s->most + 1;
    if (split != first) {
        close_shards(s);
        status = read_split(path, split, NULL, dataset->tells, &s);
        if (status) return status;
        if (s->most >= classes) {
            status = tutti_fail(TUTTI_ERR_FORMAT,
                "%s: an image of val*.tar has label %d, but train*.tar has only labels up to %d",
                path, s->most, classes - 1);
            close_shards(s);
            return status;
        }
    }
    dataset->state = s;
    dataset->count = s->count;
    dataset->channels = 3;
    dataset->classes = classes;
    return TUTTI_OK;
}

static tutti_status shards_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const shards *s = dataset->state;
    const shard_image *image = &s->images[index];
    const tutti_data_file *file = &s->files[image->shard];
    tutti_status status = tutti_sample_reserve(sample, (size_t)image->bytes);
    if (!status) status = tutti_data_file_read(file, image->offset, sample->bytes, sample->count);
    sample->kind = TUTTI_SAMPLE_FILE;
    sample->label = image->label;
    snprintf(
        sample->name, sizeof sample->name, "%s: byte %lld", file->path, (long long)image->offset);
    return status;
}

const tutti_image_source tutti_image_source_webdataset = {
    .name = "webdataset",
    .summary = "photographs in shards: train*.tar and val*.tar with KEY.jpg and KEY.cls",
    .photographs = 1,
    .sharded = 1,
    .recognise = shards_recognise,
    .open = shards_open,
    .fetch = shards_fetch,
    .close = shards_close,
};
