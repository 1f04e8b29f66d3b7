/* CIFAR-10 and CIFAR-100, binary versions: records of label bytes and 3 planes (R, G, B) of 32x32
 * pixels. Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images", and the
 * data set's page. */
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 32,
    PLANE = SIDE * SIDE,
    IMAGE = 3 * PLANE,
    FILES_MAX = 5,
    LABELS_MAX = 2,
    CHUNK = 64
};

typedef struct cifar_part {
    const char *name;
    tutti_split split;
    int64_t original; /* records in the published file */
} cifar_part;

typedef struct cifar_format {
    const cifar_part *parts; /* ends with a NULL name */
    int labels;              /* label bytes before the pixels; the last one is the class */
    int bounds[LABELS_MAX];  /* labels of each kind */
} cifar_format;

static const cifar_part parts10[] = {
    {"data_batch_1.bin", TUTTI_TRAIN, 10000},
    {"data_batch_2.bin", TUTTI_TRAIN, 10000},
    {"data_batch_3.bin", TUTTI_TRAIN, 10000},
    {"data_batch_4.bin", TUTTI_TRAIN, 10000},
    {"data_batch_5.bin", TUTTI_TRAIN, 10000},
    {"test_batch.bin", TUTTI_TEST, 10000},
    {NULL, TUTTI_TEST, 0},
};
static const cifar_part parts100[] = {
    {"train.bin", TUTTI_TRAIN, 50000},
    {"test.bin", TUTTI_TEST, 10000},
    {NULL, TUTTI_TEST, 0},
};
static const cifar_format format10 = {parts10, 1, {10}};
static const cifar_format format100 = {parts100, 2, {20, 100}};

typedef struct cifar_state {
    const cifar_format *format;
    tutti_data_file files[FILES_MAX];
    int64_t records[FILES_MAX];
    int used;
} cifar_state;

static int64_t record_bytes(const cifar_format *format)
{
    return format->labels + IMAGE;
}

/* The index of the first label out of range, or -1. */
static int bad_label(const cifar_format *format, const uint8_t *record)
{
    for (int l = 0; l < format->labels; l++)
        if (record[l] >= format->bounds[l]) return l;
    return -1;
}

static tutti_status check_labels(
    const cifar_format *format, const char *path, int64_t record, const uint8_t *bytes)
{
    int l = bad_label(format, bytes);
    if (l < 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s: record %lld (byte %lld): label %d is out of range 0..%d; the file is damaged or "
        "another format",
        path, (long long)record, (long long)(record * record_bytes(format) + l), bytes[l],
        format->bounds[l] - 1);
}

static int64_t peek(const char *folder, const char *name, void *head, size_t bytes)
{
    char *path = tutti_path_format("%s/%s", folder, name);
    int64_t size = path ? tutti_data_file_peek(path, head, bytes) : -1;
    free(path);
    return size;
}

static int recognise(const char *path, const cifar_format *format)
{
    int fit = TUTTI_FORMAT_NO;
    for (const cifar_part *part = format->parts; part->name; part++) {
        uint8_t head[LABELS_MAX];
        int64_t bytes = peek(path, part->name, head, sizeof head);
        if (bytes < 0) continue;
        fit = TUTTI_FORMAT_NAMES;
        if (bytes > 0 && bytes % record_bytes(format) == 0 && bad_label(format, head) < 0)
            return TUTTI_FORMAT_CONTENT;
    }
    return fit;
}

/* Whether any file has its published size: then the data set is the original, and all files must have theirs. */
static int is_original(const char *path, const cifar_format *format)
{
    for (const cifar_part *part = format->parts; part->name; part++) {
        uint8_t head;
        if (peek(path, part->name, &head, 1) == part->original * record_bytes(format)) return 1;
    }
    return 0;
}

static tutti_status check_size(const cifar_format *format, const cifar_part *part, int original,
    const tutti_data_file *file, int64_t *records)
{
    int64_t record = record_bytes(format), rest = file->bytes % record;
    *records = file->bytes / record;
    if (rest || file->bytes == 0)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: truncated: %lld bytes are %lld records of %lld bytes and %lld bytes of record "
            "%lld; the original has "
            "%lld records; download it again",
            file->path, (long long)file->bytes, (long long)*records, (long long)record,
            (long long)rest, (long long)*records, (long long)part->original);
    if (original && *records != part->original)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: %s: it holds %lld records, the original %lld, like the files next to it; download "
            "it again",
            file->path, *records < part->original ? "truncated" : "too long", (long long)*records,
            (long long)part->original);
    return TUTTI_OK;
}

/* Reads a file once, so that every label is checked before training starts, and the file is in the page cache. */
static tutti_status check_records(
    const cifar_format *format, const tutti_data_file *file, int64_t records)
{
    int64_t bytes = record_bytes(format);
    uint8_t *chunk = malloc((size_t)(CHUNK * bytes));
    if (!chunk) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to check it", file->path);
    tutti_status status = TUTTI_OK;
    for (int64_t first = 0; first < records && !status; first += CHUNK) {
        int64_t n = records - first < CHUNK ? records - first : CHUNK;
        status = tutti_data_file_read(file, first * bytes, chunk, (size_t)(n * bytes));
        for (int64_t r = 0; r < n && !status; r++)
            status = check_labels(format, file->path, first + r, chunk + r * bytes);
    }
    free(chunk);
    return status;
}

static tutti_status open_part(
    const char *folder, const cifar_part *part, int original, cifar_state *state)
{
    tutti_data_file *file = &state->files[state->used];
    char *path = tutti_path_format("%s/%s", folder, part->name);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", part->name);
    tutti_status status = tutti_data_file_open(path, file);
    free(path);
    if (status) return status;
    int64_t *records = &state->records[state->used++];
    status = check_size(state->format, part, original, file, records);
    if (!status) status = check_records(state->format, file, *records);
    return status;
}

static void cifar_close(tutti_dataset *dataset)
{
    cifar_state *state = dataset->state;
    for (int f = 0; f < state->used; f++) tutti_data_file_close(&state->files[f]);
    free(state);
}

static tutti_status open_format(
    const char *path, tutti_split split, const cifar_format *format, tutti_dataset *dataset)
{
    cifar_state *state = calloc(1, sizeof *state);
    if (!state) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    state->format = format;
    dataset->state = state;
    int original = is_original(path, format);
    for (const cifar_part *part = format->parts; part->name; part++) {
        if (part->split != split) continue;
        tutti_status status = open_part(path, part, original, state);
        if (status) {
            cifar_close(dataset);
            return status;
        }
        dataset->count += state->records[state->used - 1];
    }
    dataset->height = dataset->width = SIDE;
    dataset->resize = 0;
    dataset->channels = 3;
    dataset->classes = format->bounds[format->labels - 1];
    return TUTTI_OK;
}

static tutti_status cifar_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const cifar_state *state = dataset->state;
    const cifar_format *format = state->format;
    int f = 0;
    while (index >= state->records[f]) index -= state->records[f++];
    uint8_t record[LABELS_MAX + IMAGE];
    int64_t bytes = record_bytes(format);
    tutti_status status =
        tutti_data_file_read(&state->files[f], index * bytes, record, (size_t)bytes);
    /* Again: the file may have changed since it was opened. */
    if (!status) status = check_labels(format, state->files[f].path, index, record);
    if (!status) status = tutti_sample_reserve(sample, IMAGE);
    if (status) return status;
    const uint8_t *planes = record + format->labels;
    for (int p = 0; p < PLANE; p++)
        for (int c = 0; c < 3; c++) sample->bytes[3 * p + c] = planes[c * PLANE + p];
    tutti_sample_pixels(dataset, record[format->labels - 1], sample);
    return TUTTI_OK;
}

static int recognise10(const char *path)
{
    return recognise(path, &format10);
}

static int recognise100(const char *path)
{
    return recognise(path, &format100);
}

static tutti_status open10(const char *path, tutti_split split, tutti_dataset *dataset)
{
    return open_format(path, split, &format10, dataset);
}

static tutti_status open100(const char *path, tutti_split split, tutti_dataset *dataset)
{
    return open_format(path, split, &format100, dataset);
}

const tutti_image_source tutti_image_source_cifar10 = {
    .name = "cifar10",
    .summary = "CIFAR-10 binary version: data_batch_1..5.bin and test_batch.bin",
    .recognise = recognise10,
    .open = open10,
    .fetch = cifar_fetch,
    .close = cifar_close,
};

const tutti_image_source tutti_image_source_cifar100 = {
    .name = "cifar100",
    .summary = "CIFAR-100 binary version: train.bin and test.bin",
    .recognise = recognise100,
    .open = open100,
    .fetch = cifar_fetch,
    .close = cifar_close,
};
