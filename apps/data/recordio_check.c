#include "apps/data/recordio_check.h"

#include "apps/data/formats.h"
#include "apps/data/recordio_index.h"
#include "dag/base/little_endian.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 4, HEAD = 2 * WORD, ABOUT = 24, PART_BITS = 29 };
enum { WHOLE, FIRST, MIDDLE, LAST };
static const uint8_t magic[WORD] = {0x0a, 0x23, 0xd7, 0xce};
#define RECORD_BYTES_MAX ((int64_t)64 << 20)

typedef struct place {
    int64_t offset;
    int64_t listed; /* in the index */
} place;

typedef struct places {
    place *list;
    size_t count, room;
} places;

int tutti_recordio_recognise(const uint8_t head[4])
{
    return !memcmp(head, magic, WORD);
}

static tutti_status fail(const tutti_data_file *file, int64_t at, const char *why)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: byte %lld: %s", file->path, (long long)at, why);
}

/* Appends the part at *at, which is moved on. */
static tutti_status take_part(
    const tutti_data_file *file, int64_t *at, uint32_t *part, tutti_sample *record)
{
    uint8_t head[HEAD];
    if (file->bytes - *at < HEAD) return fail(file, *at, "a record is truncated");
    tutti_status status = tutti_data_file_read(file, *at, head, sizeof head);
    if (status) return status;
    if (memcmp(head, magic, WORD) != 0) return fail(file, *at, "this is no record of RecordIO");
    *part = tutti_little_u32(head + WORD) >> PART_BITS;
    int64_t length = tutti_little_u32(head + WORD) & ((1u << PART_BITS) - 1);
    int64_t room = (length + WORD - 1) / WORD * WORD;
    if (*part > LAST) return fail(file, *at, "a record has a part of an unknown kind");
    if (room > file->bytes - *at - HEAD) return fail(file, *at, "a record is truncated");
    size_t before = record->count;
    if ((int64_t)before + length > RECORD_BYTES_MAX)
        return fail(file, *at, "a record is too large for an image");
    status = tutti_sample_reserve(record, before + (size_t)length);
    if (!status)
        status = tutti_data_file_read(file, *at + HEAD, record->bytes + before, (size_t)length);
    *at += HEAD + room;
    return status;
}

/* Joins the parts of the record at *at by the number at which it was cut. */
static tutti_status take_record(const tutti_data_file *file, int64_t *at, tutti_sample *record)
{
    uint32_t part = WHOLE;
    int64_t from = *at;
    record->count = 0;
    tutti_status status = take_part(file, at, &part, record);
    if (!status && part != WHOLE && part != FIRST)
        return fail(file, from, "a record begins in its middle");
    while (!status && part != WHOLE && part != LAST) {
        from = *at;
        status = tutti_sample_reserve(record, record->count + WORD);
        if (status) return status;
        memcpy(record->bytes + record->count - WORD, magic, WORD);
        status = take_part(file, at, &part, record);
        if (!status && part != MIDDLE && part != LAST)
            return fail(file, from, "a record begins before the last one ended");
    }
    return status;
}

/* Leaves the image's bytes in the sample. *is_image 0: it has labels alone, as where InsightFace keeps
 * counts: in the first record, and in others with several labels. */
static tutti_status read_label(
    const tutti_data_file *file, int64_t at, tutti_sample *record, int32_t *label, int *is_image)
{
    size_t labels = record->count >= ABOUT ? tutti_little_u32(record->bytes) : 0;
    size_t about = ABOUT + labels * WORD;
    if (record->count < about) return fail(file, at, "a record is too short for an image");
    *is_image = record->count > about || (at && !labels);
    if (!*is_image) return TUTTI_OK;
    float value = tutti_little_f32(record->bytes + (labels ? ABOUT : WORD));
    if (!(value >= 0 && value < TUTTI_CLASSES_MAX) || value != floorf(value))
        return fail(file, at, "a label is not the number of a class");
    *label = (int32_t)value;
    record->count -= about;
    memmove(record->bytes, record->bytes + about, record->count);
    return TUTTI_OK;
}

static tutti_status note(places *all, int64_t offset)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 1024;
        place *more = realloc(all->list, room * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %zu records", room);
        all->list = more;
        all->room = room;
    }
    all->list[all->count++] = (place){.offset = offset};
    return TUTTI_OK;
}

static int by_offset(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static tutti_status take_line(const tutti_lines *lines, int64_t offset, places *all)
{
    place wanted = {.offset = offset};
    place *at =
        all->count ? bsearch(&wanted, all->list, all->count, sizeof *all->list, by_offset) : NULL;
    if (!at) return tutti_lines_fail(lines, "no record begins at its offset");
    if (at->listed++) return tutti_lines_fail(lines, "its record was listed before");
    return TUTTI_OK;
}

static tutti_status check_index(const tutti_data_file *file, const char *index, places *all)
{
    tutti_lines lines;
    int64_t offset;
    tutti_status status = tutti_lines_open(index, &lines);
    if (status) return status;
    while (!(status = tutti_recordio_index_next(&lines, &offset)) && offset >= 0)
        if ((status = take_line(&lines, offset, all))) break;
    tutti_lines_close(&lines);
    for (size_t i = 0; i < all->count && !status; i++)
        if (!all->list[i].listed)
            status =
                tutti_fail(TUTTI_ERR_FORMAT, "%s: has no line for the record at byte %lld of %s",
                    index, (long long)all->list[i].offset, file->path);
    return status;
}

tutti_status tutti_recordio_check(
    const tutti_data_file *file, const char *index, int *indexed, tutti_shard_tally *tally)
{
    places all = {0};
    char head;
    tutti_status status = TUTTI_OK;
    for (int64_t at = 0; at < file->bytes && !status;) {
        int64_t begin = at;
        int32_t label = 0;
        int is_image = 1;
        status = note(&all, begin);
        if (!status) status = take_record(file, &at, &tally->sample);
        if (!status) status = read_label(file, begin, &tally->sample, &label, &is_image);
        if (!status && is_image) status = tutti_shard_take(tally, file, begin, label);
        tally->others += !status && !is_image;
    }
    *indexed = tutti_data_file_peek(index, &head, 1) >= 0;
    if (!status && *indexed) status = check_index(file, index, &all);
    free(all.list);
    return status;
}
