#include "apps/data/recordio_write.h"

#include "apps/data/recordio_read.h"
#include "dag/base/little_endian.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORD = TUTTI_RECORDIO_WORD, HEAD = TUTTI_RECORDIO_HEAD, ABOUT = TUTTI_RECORDIO_ABOUT };

/* flag 0: one label, which stands here. */
static void put_about(uint8_t about[ABOUT], int32_t label, uint64_t id)
{
    float value = (float)label;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t *to = tutti_little_put(about, 0, WORD);
    to = tutti_little_put(to, bits, WORD);
    to = tutti_little_put(to, id, 2 * WORD);
    tutti_little_put(to, 0, 2 * WORD);
}

/* The place of the next word that is the magic number itself, or `count`. Words are counted from the
 * begin of the record. */
static size_t find_magic(const uint8_t *bytes, size_t from, size_t count)
{
    uint8_t word[WORD];
    tutti_little_put(word, TUTTI_RECORDIO_MAGIC, WORD);
    for (size_t at = from; at + WORD <= count; at += WORD)
        if (!memcmp(bytes + at, word, WORD)) return at;
    return count;
}

static tutti_status append_part(
    tutti_bytes *to, uint32_t part, const uint8_t *contents, size_t count)
{
    uint8_t head[HEAD];
    tutti_little_put(head, TUTTI_RECORDIO_MAGIC, WORD);
    tutti_little_put(head + WORD, (uint64_t)part << TUTTI_RECORDIO_PART_BITS | count, WORD);
    tutti_status status = tutti_bytes_append(to, head, sizeof head);
    if (!status) status = tutti_bytes_append(to, contents, count);
    if (!status && count % WORD) status = tutti_bytes_append(to, NULL, WORD - count % WORD);
    return status;
}

/* The record is cut at every magic number in it, which is left out. */
static tutti_status append_parts(tutti_bytes *to, const uint8_t *record, size_t count)
{
    tutti_status status = TUTTI_OK;
    for (size_t begin = 0, more = 1; more && !status;) {
        size_t end = find_magic(record, begin, count);
        more = end < count;
        uint32_t part = more ? (begin ? TUTTI_RECORDIO_MIDDLE : TUTTI_RECORDIO_FIRST)
                             : (begin ? TUTTI_RECORDIO_LAST : TUTTI_RECORDIO_WHOLE);
        status = append_part(to, part, record + begin, end - begin);
        begin = end + WORD;
    }
    return status;
}

tutti_status tutti_recordio_append(
    tutti_bytes *to, int32_t label, uint64_t id, const void *image, size_t count)
{
    uint8_t about[ABOUT];
    tutti_bytes record = {0};
    size_t before = to->count;
    if (count >= ((size_t)1 << TUTTI_RECORDIO_PART_BITS) - ABOUT)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "an image of %zu bytes is too large for a record of RecordIO", count);
    put_about(about, label, id);
    tutti_status status = tutti_bytes_append(&record, about, sizeof about);
    if (!status) status = tutti_bytes_append(&record, image, count);
    if (!status) status = append_parts(to, record.bytes, record.count);
    if (status) to->count = before;
    tutti_bytes_free(&record);
    return status;
}

int tutti_recordio_line(uint64_t id, int64_t offset, char line[TUTTI_RECORDIO_LINE])
{
    return snprintf(line, TUTTI_RECORDIO_LINE, "%" PRIu64 "\t%" PRId64 "\n", id, offset);
}
