/* MXNet's RecordIO: DIR/train.rec and DIR/val.rec, each with an index (.idx) beside it or without.
 *
 * recordio_read.h describes a record. The index has a line "KEY<tab>OFFSET" for each record, in the
 * order of images; without one, it is the order in the file. A record without an image is left out. */
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "apps/data/recordio_index.h"
#include "apps/data/recordio_read.h"
#include "apps/data/shard_faults.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>

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

static const char *split_file(tutti_split split)
{
    return split == TUTTI_TRAIN ? "train" : "val";
}

static int records_recognise(const char *path)
{
    uint8_t head[TUTTI_RECORDIO_WORD];
    char *file = tutti_path_format("%s/train.rec", path);
    int64_t bytes = file ? tutti_data_file_peek(file, head, sizeof head) : -1;
    free(file);
    if (bytes < 0) return TUTTI_FORMAT_NO;
    return tutti_recordio_recognise(head) ? TUTTI_FORMAT_CONTENT : TUTTI_FORMAT_NAMES;
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

/* Lists the record at `at`. *next: where the next one begins. */
static tutti_status take_record(record_file *r, int64_t at, int64_t *next)
{
    tutti_recordio_record found;
    record image = {.offset = at};
    int is_image = 0;
    tutti_status status = tutti_recordio_find(&r->file, at, &found);
    if (!status) status = tutti_recordio_label(&r->file, &found, &image.label, &is_image);
    if (status) return status;
    *next = found.next;
    if (is_image) return append_record(r, &image);
    return tutti_shard_faults_add(&r->faults, TUTTI_FAULT_NO_IMAGE, r->file.path, at, "a record");
}

static tutti_status take_all(record_file *r)
{
    tutti_status status = TUTTI_OK;
    for (int64_t at = 0, next = 0; at < r->file.bytes && !status; at = next)
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
    while (at < end) {
        tutti_recordio_record found;
        tutti_status status = tutti_recordio_find(&r->file, at, &found);
        if (!status)
            status = tutti_shard_faults_add(
                &r->faults, TUTTI_FAULT_NOT_LISTED, r->file.path, at, "a record");
        if (status) return status;
        at = found.next;
    }
    return TUTTI_OK;
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

static tutti_status records_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const record_file *r = dataset->state;
    const record *wanted = &r->records[index];
    tutti_recordio_record found;
    tutti_status status = tutti_recordio_find(&r->file, wanted->offset, &found);
    if (!status) status = tutti_recordio_load(&r->file, &found, sample);
    if (status) return status;
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
