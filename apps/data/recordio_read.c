#include "apps/data/recordio_read.h"

#include "apps/data/formats.h"
#include "dag/base/little_endian.h"
#include "dag/base/log.h"

#include <math.h>
#include <string.h>

enum { WORD = TUTTI_RECORDIO_WORD, HEAD = TUTTI_RECORDIO_HEAD, ABOUT = TUTTI_RECORDIO_ABOUT };

static tutti_status fail(const tutti_data_file *file, int64_t at, const char *why)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: byte %lld: %s; copy or pack the file again",
        file->path, (long long)at, why);
}

int tutti_recordio_recognise(const uint8_t head[4])
{
    return tutti_little_u32(head) == TUTTI_RECORDIO_MAGIC;
}

static int64_t after(int64_t at, int64_t length)
{
    return at + HEAD + (length + WORD - 1) / WORD * WORD;
}

/* One part of a record: its kind, and how long its contents are. */
static tutti_status read_head(
    const tutti_data_file *file, int64_t at, uint32_t *part, int64_t *length)
{
    uint8_t head[HEAD];
    if (at < 0 || at > file->bytes - HEAD) return fail(file, at, "a record is truncated");
    tutti_status status = tutti_data_file_read(file, at, head, sizeof head);
    if (status) return status;
    if (!tutti_recordio_recognise(head)) return fail(file, at, "this is no record of RecordIO");
    *part = tutti_little_u32(head + WORD) >> TUTTI_RECORDIO_PART_BITS;
    *length = tutti_little_u32(head + WORD) & ((1u << TUTTI_RECORDIO_PART_BITS) - 1);
    if (*part > TUTTI_RECORDIO_LAST)
        return fail(file, at, "a record has a part of an unknown kind");
    if (after(at, *length) > file->bytes) return fail(file, at, "a record is truncated");
    return TUTTI_OK;
}

tutti_status tutti_recordio_find(
    const tutti_data_file *file, int64_t at, tutti_recordio_record *record)
{
    uint32_t part;
    int64_t length;
    tutti_status status = read_head(file, at, &part, &length);
    if (status) return status;
    if (part == TUTTI_RECORDIO_MIDDLE || part == TUTTI_RECORDIO_LAST)
        return fail(file, at, "a record begins in its middle");
    *record = (tutti_recordio_record){at, after(at, length), length, length};
    while (part != TUTTI_RECORDIO_WHOLE && part != TUTTI_RECORDIO_LAST) {
        const int64_t from = record->next;
        status = read_head(file, from, &part, &length);
        if (status) return status;
        if (part != TUTTI_RECORDIO_MIDDLE && part != TUTTI_RECORDIO_LAST)
            return fail(file, from, "a record begins before the last one ended");
        record->next = after(from, length);
        record->bytes += WORD + length;
    }
    return TUTTI_OK;
}

/* Copies the first `bytes` bytes of a record's contents; its parts are joined by the number at which it was cut. */
static tutti_status copy(
    const tutti_data_file *file, const tutti_recordio_record *record, int64_t bytes, uint8_t *to)
{
    uint32_t part;
    int64_t at = record->at, length = record->first;
    for (;;) {
        const int64_t count = length < bytes ? length : bytes;
        tutti_status status = tutti_data_file_read(file, at + HEAD, to, (size_t)count);
        to += count;
        bytes -= count;
        if (status || !bytes) return status;
        const int joint = bytes < WORD ? (int)bytes : WORD;
        to = tutti_little_put(to, TUTTI_RECORDIO_MAGIC, joint);
        bytes -= joint;
        at = after(at, length);
        status = read_head(file, at, &part, &length);
        if (status) return status;
    }
}

tutti_status tutti_recordio_label(
    const tutti_data_file *file, const tutti_recordio_record *record, int32_t *label, int *is_image)
{
    uint8_t about[ABOUT + WORD] = {0};
    const int64_t at = record->at + HEAD;
    if (record->bytes < ABOUT) return fail(file, at, "a record is too short for an image");
    const int64_t bytes = record->bytes < ABOUT + WORD ? record->bytes : ABOUT + WORD;
    tutti_status status = copy(file, record, bytes, about);
    if (status) return status;
    const uint32_t several = tutti_little_u32(about);
    const int64_t image_at = ABOUT + (int64_t)several * WORD;
    if (record->bytes < image_at) return fail(file, at, "a record is too short for its labels");
    *is_image = record->bytes > image_at || (record->at && !several);
    if (!*is_image) return TUTTI_OK;
    const float value = tutti_little_f32(about + (several ? ABOUT : WORD));
    if (!(value >= 0 && value < TUTTI_CLASSES_MAX) || value != floorf(value))
        return fail(file, at, "a label is not the number of a class");
    *label = (int32_t)value;
    return TUTTI_OK;
}

tutti_status tutti_recordio_load(
    const tutti_data_file *file, const tutti_recordio_record *record, tutti_sample *sample)
{
    const int64_t at = record->at + HEAD;
    if (record->bytes < ABOUT) return fail(file, at, "a record is too short for an image");
    if (record->bytes > TUTTI_IMAGE_BYTES_MAX)
        return fail(file, at, "a record is too large for an image");
    tutti_status status = tutti_sample_reserve(sample, (size_t)record->bytes);
    if (!status) status = copy(file, record, record->bytes, sample->bytes);
    if (status) return status;
    const size_t image_at = ABOUT + (size_t)tutti_little_u32(sample->bytes) * WORD;
    if (sample->count < image_at) return fail(file, at, "a record is too short for its labels");
    sample->count -= image_at;
    memmove(sample->bytes, sample->bytes + image_at, sample->count);
    return TUTTI_OK;
}
