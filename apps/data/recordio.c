/* MXNet's RecordIO: DIR/train.rec and DIR/val.rec, each with an index (.idx) beside it or without.
 *
 * A record is   0xced7230a, part << 29 | length, `length` bytes, zeros up to a multiple of 4
 * and holds     flag, label (float), id, id2 (64 bits each), `flag` more labels (floats), an image
 * with numbers least significant byte first. Where an image holds the first number itself, at a
 * multiple of 4, the record is cut there into parts (1 first, 2 middle, 3 last), and the number is
 * left out. The index has a line "KEY<tab>OFFSET" for each record, in the order of images; without
 * one, it is the order in the file. With several labels, the first one counts. A record without an
 * image, as InsightFace's record 0 with its counts, is left out.
 *
 * Source: dmlc-core, include/dmlc/recordio.h; MXNet, src/io/image_recordio.h. */
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "apps/data/recordio_index.h"
#include "apps/data/shard_faults.h"
#include "dag/base/little_endian.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 4, HEAD = 2 * WORD, ABOUT = 24, LABEL_AT = 4, PART_BITS = 29 };
enum { WHOLE, FIRST, MIDDLE, LAST };
static const uint32_t magic = 0xced7230a, length_mask = (1u << PART_BITS) - 1;
/* No photograph needs more; a larger record is something else. */
#define IMAGE_BYTES_MAX ((int64_t)64 << 20)

typedef struct record {
    int64_t offset;
    int32_t label;
} record;

typedef struct record_file {
    tutti_data_file file;
    record *records;
    int64_t count, room;
    int32_t most; /* the largest label */
    tutti_shard_faults faults;
} record_file;

/* Where a record is that an index has. */
typedef struct span {
    int64_t begin, end;
} span;

typedef struct spans {
    span *list;
    size_t count, room;
} spans;

static tutti_status fail(const tutti_data_file *file, int64_t at, const char *why)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: byte %lld: %s; copy or pack the file again",
        file->path, (long long)at, why);
}

static const char *split_file(tutti_split split)
{
    return split == TUTTI_TRAIN ? "train" : "val";
}

static int records_recognise(const char *path)
{
    uint8_t head[WORD];
    char *file = tutti_path_format("%s/train.rec", path);
    int64_t bytes = file ? tutti_data_file_peek(file, head, sizeof head) : -1;
    free(file);
    if (bytes < 0) return TUTTI_FORMAT_NO;
    return tutti_little_u32(head) == magic ? TUTTI_FORMAT_CONTENT : TUTTI_FORMAT_NAMES;
}

/* One part of a record: its kind, and how long its contents are. */
static tutti_status read_head(
    const tutti_data_file *file, int64_t at, uint32_t *part, int64_t *length)
{
    uint8_t head[HEAD];
    if (at < 0 || at > file->bytes - HEAD) return fail(file, at, "a record is truncated");
    tutti_status status = tutti_data_file_read(file, at, head, sizeof head);
    if (status) return status;
    if (tutti_little_u32(head) != magic) return fail(file, at, "this is no record of RecordIO");
    *part = tutti_little_u32(head + WORD) >> PART_BITS;
    *length = tutti_little_u32(head + WORD) & length_mask;
    if (*part > LAST) return fail(file, at, "a record has a part of an unknown kind");
    if (*length > file->bytes - at - HEAD) return fail(file, at, "a record is truncated");
    return TUTTI_OK;
}

static int64_t after(int64_t at, int64_t length)
{
    return at + HEAD + (length + WORD - 1) / WORD * WORD;
}

/* The label of the record whose contents begin at `at`. whole: it is in one part. *is_image 0: it has
 * labels alone, as where InsightFace keeps counts: in the first record, and in others with several. */
static tutti_status read_label(const tutti_data_file *file, int64_t at, int64_t length, int whole,
    int32_t *label, int *is_image)
{
    uint8_t about[ABOUT + WORD];
    if (length < ABOUT) return fail(file, at, "a record is too short for an image");
    size_t bytes = length < (int64_t)sizeof about ? ABOUT : sizeof about;
    tutti_status status = tutti_data_file_read(file, at, about, bytes);
    if (status) return status;
    uint32_t several = tutti_little_u32(about);
    *is_image = !whole || length != ABOUT + (int64_t)several * WORD || (at > HEAD && !several);
    if (!*is_image) return TUTTI_OK;
    if (several && bytes == ABOUT) return fail(file, at, "a record is too short for its labels");
    float value = tutti_little_f32(about + (several ? ABOUT : LABEL_AT));
    if (!(value >= 0 && value < TUTTI_CLASSES_MAX) || value != floorf(value))
        return fail(file, at, "a label is not the number of a class");
    *label = (int32_t)value;
    return TUTTI_OK;
}

/* The record at `at`: its first part, and where the next record begins. */
static tutti_status measure(
    const tutti_data_file *file, int64_t at, uint32_t *first, int64_t *length, int64_t *next)
{
    tutti_status status = read_head(file, at, first, length);
    if (status) return status;
    *next = after(at, *length);
    if (*first == MIDDLE || *first == LAST) return fail(file, at, "a record begins in its middle");
    for (uint32_t part = *first; !status && part != WHOLE && part != LAST;) {
        int64_t from = *next, more = 0;
        status = read_head(file, from, &part, &more);
        if (!status && part != MIDDLE && part != LAST)
            status = fail(file, from, "a record begins before the last one ended");
        *next = after(from, more);
    }
    return status;
}

static tutti_status append_record(record_file *r, const record *found)
{
    if (r->count == r->room) {
        int64_t room = r->room ? 2 * r->room : 1024;
        record *more = realloc(r->records, (size_t)room * sizeof *more);
        if (!more)
            return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its images", r->file.path);
        r->records = more;
        r->room = room;
    }
    r->records[r->count++] = *found;
    if (found->label > r->most) r->most = found->label;
    return TUTTI_OK;
}

/* Lists the record at `at`; *next: where the next one begins. */
static tutti_status take_record(record_file *r, int64_t at, int64_t *next)
{
    uint32_t part;
    int64_t length;
    int is_image = 0;
    record found = {.offset = at};
    tutti_status status = measure(&r->file, at, &part, &length, next);
    if (!status)
        status = read_label(&r->file, at + HEAD, length, part == WHOLE, &found.label, &is_image);
    if (status) return status;
    if (is_image) return append_record(r, &found);
    return tutti_shard_faults_add(&r->faults, TUTTI_FAULT_NO_IMAGE, r->file.path, at, "a record");
}

static tutti_status take_all(record_file *r)
{
    tutti_status status = TUTTI_OK;
    for (int64_t at = 0, next; at < r->file.bytes && !status; at = next)
        status = take_record(r, at, &next);
    return status;
}

/* ---- an index ---- */

static tutti_status add_span(spans *all, int64_t begin, int64_t end)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 1024;
        span *more = realloc(all->list, room * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %zu records", room);
        all->list = more;
        all->room = room;
    }
    all->list[all->count++] = (span){begin, end};
    return TUTTI_OK;
}

static int by_begin(const void *a, const void *b)
{
    int64_t x = ((const span *)a)->begin, y = ((const span *)b)->begin;
    return (x > y) - (x < y);
}

/* Counts the records between two that the index has. */
static tutti_status count_gap(record_file *r, int64_t at, int64_t end)
{
    tutti_status status = TUTTI_OK;
    while (!status && at < end) {
        uint32_t part;
        int64_t length, next = end;
        status = measure(&r->file, at, &part, &length, &next);
        if (!status)
            status = tutti_shard_faults_add(
                &r->faults, TUTTI_FAULT_NOT_LISTED, r->file.path, at, "a record");
        at = next;
    }
    return status;
}

/* Whether the index has each record once. */
static tutti_status compare_index(record_file *r, spans *all)
{
    int64_t at = 0;
    tutti_status status = TUTTI_OK;
    if (all->count) qsort(all->list, all->count, sizeof *all->list, by_begin);
    for (size_t i = 0; i < all->count && !status; i++) {
        const span *s = &all->list[i];
        if (s->begin < at)
            status = tutti_shard_faults_add(
                &r->faults, TUTTI_FAULT_LISTED_TWICE, r->file.path, s->begin, "a record");
        else
            status = count_gap(r, at, s->begin);
        if (s->end > at) at = s->end;
    }
    return status ? status : count_gap(r, at, r->file.bytes);
}

static tutti_status take_index(record_file *r, const char *index)
{
    tutti_lines lines;
    spans all = {0};
    int64_t at, next;
    tutti_status status = tutti_lines_open(index, &lines);
    if (status) return status;
    while (!(status = tutti_recordio_index_next(&lines, &at)) && at >= 0) {
        status = take_record(r, at, &next);
        if (!status) status = add_span(&all, at, next);
        if (status) break;
    }
    tutti_lines_close(&lines);
    if (!status) status = compare_index(r, &all);
    free(all.list);
    return status;
}

static void close_file(record_file *r)
{
    tutti_data_file_close(&r->file);
    free(r->records);
    free(r);
}

static void records_close(tutti_dataset *dataset)
{
    close_file(dataset->state);
}

static tutti_status read_index(const char *path, tutti_split split, int tells, record_file *r)
{
    char head, *file = tutti_path_format("%s/%s.rec", path, split_file(split));
    char *index = tutti_path_format("%s/%s.idx", path, split_file(split));
    tutti_status status = file && index
                              ? tutti_data_file_open(file, &r->file)
                              : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    if (!status) tutti_data_file_scattered(&r->file);
    if (!status)
        status = tutti_data_file_peek(index, &head, 1) >= 0 ? take_index(r, index) : take_all(r);
    if (tells && file) tutti_shard_faults_report(&r->faults, file);
    if (!status && !r->count) status = tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no images", file);
    free(file);
    free(index);
    return status;
}

static tutti_status open_split(const char *path, tutti_split split, int tells, record_file **made)
{
    record_file *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    tutti_status status = read_index(path, split, tells, r);
    if (status)
        close_file(r);
    else
        *made = r;
    return status;
}

static tutti_status records_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    record_file *r;
    tutti_status status = open_split(path, TUTTI_TRAIN, dataset->tells && split == TUTTI_TRAIN, &r);
    if (status) return status;
    int classes = r->most + 1;
    if (split == TUTTI_TEST) {
        close_file(r);
        status = open_split(path, TUTTI_TEST, dataset->tells, &r);
        if (status) return status;
        if (r->most >= classes) {
            status = tutti_fail(TUTTI_ERR_FORMAT,
                "%s: an image has label %d, but train.rec has only labels up to %d", r->file.path,
                r->most, classes - 1);
            close_file(r);
            return status;
        }
    }
    dataset->state = r;
    dataset->count = r->count;
    dataset->channels = 3;
    dataset->classes = classes;
    return TUTTI_OK;
}

/* Appends `length` bytes of the file to a sample. */
static tutti_status append(
    const tutti_data_file *file, int64_t at, int64_t length, tutti_sample *sample)
{
    size_t before = sample->count;
    if ((int64_t)before + length > IMAGE_BYTES_MAX)
        return fail(file, at, "a record is too long for an image");
    tutti_status status = tutti_sample_reserve(sample, before + (size_t)length);
    if (!status) status = tutti_data_file_read(file, at, sample->bytes + before, (size_t)length);
    return status;
}

/* All parts of a record, joined by the number at which it was cut. */
static tutti_status read_record(const tutti_data_file *file, int64_t at, tutti_sample *sample)
{
    static const uint8_t cut[WORD] = {0x0a, 0x23, 0xd7, 0xce};
    uint32_t part = FIRST;
    tutti_status status = TUTTI_OK;
    sample->count = 0;
    for (int64_t from = at; !status && part != WHOLE && part != LAST;) {
        int64_t length;
        status = read_head(file, from, &part, &length);
        if (!status && from > at) {
            size_t before = sample->count;
            status = tutti_sample_reserve(sample, before + WORD);
            if (!status) memcpy(sample->bytes + before, cut, WORD);
        }
        if (!status) status = append(file, from + HEAD, length, sample);
        from = after(from, length);
    }
    return status;
}

static tutti_status records_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const record_file *r = dataset->state;
    const record *wanted = &r->records[index];
    tutti_status status = read_record(&r->file, wanted->offset, sample);
    if (status) return status;
    size_t labels = sample->count >= ABOUT ? tutti_little_u32(sample->bytes) : 0;
    size_t about = ABOUT + labels * WORD;
    if (sample->count < about) return fail(&r->file, wanted->offset, "a record is too short");
    sample->count -= about;
    memmove(sample->bytes, sample->bytes + about, sample->count);
    sample->kind = TUTTI_SAMPLE_FILE;
    sample->label = wanted->label;
    snprintf(sample->name, sizeof sample->name, "%s: byte %lld", r->file.path,
        (long long)wanted->offset);
    return TUTTI_OK;
}

const tutti_image_source tutti_image_source_recordio = {
    .name = "recordio",
    .summary = "photographs in MXNet's RecordIO: train.rec and val.rec, with or without .idx",
    .photographs = 1,
    .recognise = records_recognise,
    .open = records_open,
    .fetch = records_fetch,
    .close = records_close,
};
