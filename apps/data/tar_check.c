#include "apps/data/tar_check.h"

#include "apps/data/formats.h"
#include "apps/data/tar.h"
#include "apps/data/tar_write.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NONE = -1, LABEL_DIGITS = 5 };
/* As webdataset.c has it. */
#define IMAGE_BYTES_MAX ((int64_t)64 << 20)

/* The files of one key, as far as they have come; the image's bytes are in the tally's sample. */
typedef struct parts {
    char key[TUTTI_TAR_NAME];
    int64_t image, label_at; /* where they begin; NONE */
    int32_t label;
} parts;

static tutti_status fail(const tutti_data_file *file, int64_t at, const char *key, const char *why)
{
    return tutti_fail(
        TUTTI_ERR_FORMAT, "%s: byte %lld: %s %s", file->path, (long long)at, key, why);
}

static tutti_status end_key(const tutti_data_file *file, const parts *p, tutti_shard_tally *tally)
{
    if (p->image == NONE && p->label_at == NONE) return TUTTI_OK;
    if (p->image == NONE)
        return fail(file, p->label_at, p->key, "has a label (.cls), but no image");
    if (p->label_at == NONE)
        return fail(file, p->image, p->key, "has an image, but no label (.cls)");
    return tutti_shard_take(tally, file, p->image, p->label);
}

static tutti_status take_label(const tutti_data_file *file, const tutti_tar_entry *entry, parts *p)
{
    char text[LABEL_DIGITS + 3] = ""; /* digits, an end of line, a zero */
    tutti_status status = TUTTI_OK;
    if (p->label_at != NONE) return fail(file, entry->offset, p->key, "has two labels");
    if (entry->bytes < (int64_t)sizeof text)
        status = tutti_data_file_read(file, entry->offset, text, (size_t)entry->bytes);
    if (status) return status;
    text[strcspn(text, "\r\n")] = '\0';
    if (!*text || text[strspn(text, "0123456789")])
        return fail(file, entry->offset, p->key, "has a label that is not the number of a class");
    p->label_at = entry->offset;
    p->label = (int32_t)atoi(text);
    if (p->label < TUTTI_CLASSES_MAX) return TUTTI_OK;
    return fail(file, entry->offset, p->key, "has a label beyond 99999");
}

static tutti_status take_image(
    const tutti_data_file *file, const tutti_tar_entry *entry, parts *p, tutti_sample *sample)
{
    if (p->image != NONE) return fail(file, entry->offset, p->key, "has two images");
    if (entry->bytes > IMAGE_BYTES_MAX)
        return fail(file, entry->offset, p->key, "is too large for an image");
    p->image = entry->offset;
    tutti_status status = tutti_sample_reserve(sample, (size_t)entry->bytes);
    if (status) return status;
    return tutti_data_file_read(file, entry->offset, sample->bytes, sample->count);
}

static int is_image(const char *ending)
{
    return !strcasecmp(ending, "jpg") || !strcasecmp(ending, "jpeg") || !strcasecmp(ending, "png");
}

static tutti_status take_entry(
    const tutti_data_file *file, tutti_tar_entry *entry, parts *p, tutti_shard_tally *tally)
{
    char *slash = strrchr(entry->name, '/'), *dot = strchr(slash ? slash : entry->name, '.');
    const char *ending = dot ? dot + 1 : "";
    tutti_status status = TUTTI_OK;
    if (dot) *dot = '\0';
    if (strcmp(entry->name, p->key) != 0) {
        status = end_key(file, p, tally);
        *p = (parts){.image = NONE, .label_at = NONE};
        memcpy(p->key, entry->name, strlen(entry->name) + 1);
    }
    if (status) return status;
    if (!strcmp(ending, "cls")) return take_label(file, entry, p);
    if (is_image(ending)) return take_image(file, entry, p, &tally->sample);
    tally->others++;
    return TUTTI_OK;
}

/* Behind the last entry are two blocks of zeros at least, and nothing else. */
static tutti_status check_end(const tutti_data_file *file, int64_t at)
{
    if (file->bytes - at < TUTTI_TAR_END)
        return fail(file, at, "the file", "ends in tar's mark of the end: it is truncated");
    for (int64_t from = at; from < file->bytes;) {
        uint8_t block[TUTTI_TAR_BLOCK];
        int64_t rest = file->bytes - from;
        size_t count = rest < (int64_t)sizeof block ? (size_t)rest : sizeof block;
        tutti_status status = tutti_data_file_read(file, from, block, count);
        if (status) return status;
        for (size_t i = 0; i < count; i++, from++)
            if (block[i])
                return fail(file, from, "something",
                    "follows tar's mark of the end: a header before it was overwritten");
    }
    return TUTTI_OK;
}

tutti_status tutti_tar_check(const tutti_data_file *file, tutti_shard_tally *tally)
{
    parts p = {.image = NONE, .label_at = NONE};
    tutti_tar_entry entry;
    int64_t at = 0;
    int found = 1;
    tutti_status status = TUTTI_OK;
    while (!status && found) {
        status = tutti_tar_next(file, &at, &entry, &found);
        if (!status && found) status = take_entry(file, &entry, &p, tally);
    }
    if (!status) status = end_key(file, &p, tally);
    return status ? status : check_end(file, at);
}
