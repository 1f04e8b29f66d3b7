#include "apps/data/tar_sample.h"

#include "apps/data/formats.h"
#include "apps/data/webp.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NONE = -1, LABEL_BYTES = 64, LABEL_DIGITS = 9 };
/* No description of a photograph needs more; a larger file is something else. */
#define JSON_BYTES_MAX ((int64_t)1 << 20)

static const tutti_tar_sample empty = {.image = NONE, .label_at = NONE, .json_at = NONE};

static tutti_status fail(
    const tutti_tar_reader *r, int64_t at, const char *key, const char *why, const char *ending)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: byte %lld: %s %s (%s%s)", r->file->path, (long long)at,
        key, why, key, ending);
}

static tutti_status add_fault(const tutti_tar_reader *r, tutti_shard_fault kind, int64_t at)
{
    return tutti_shard_faults_add(r->faults, kind, r->file->path, at, r->next.key);
}

/* ---- names ---- */

/* Whether a component of a path is one that programs add, and people do not see. */
static int is_added(const char *component, size_t length)
{
    static const char mac[] = "__MACOSX", pax[] = "PaxHeader";
    if (*component == '.') return length > 2 || (length == 2 && component[1] != '.');
    return (length == strlen(mac) && !memcmp(component, mac, length)) ||
           (length >= strlen(pax) && !memcmp(component, pax, strlen(pax)));
}

static int is_hidden(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, "/");
        if (is_added(name, length)) return 1;
        if (!name[length]) return 0;
        name += length + 1;
    }
}

static char *find_dot(char *name)
{
    char *slash = strrchr(name, '/');
    return strchr(slash ? slash + 1 : name, '.');
}

static int is_image(const char *ending)
{
    return !strcasecmp(ending, "jpg") || !strcasecmp(ending, "jpeg") ||
           !strcasecmp(ending, "png") || (tutti_webp_reads() && !strcasecmp(ending, "webp"));
}

static int is_label(const char *ending)
{
    return !strcmp(ending, "cls");
}

/* ---- labels ---- */

/* Decimal digits, and nothing else but blanks and ends of lines. Returns -1 for anything else. */
static int32_t parse_label(tutti_lines *lines)
{
    char *line, *more = NULL;
    if (tutti_lines_next(lines, &line) || !line) return NONE;
    size_t digits = strspn(line, "0123456789");
    if (line[digits] || digits > LABEL_DIGITS || tutti_lines_next(lines, &more) || more)
        return NONE;
    long value = atol(line);
    return value < TUTTI_CLASSES_MAX ? (int32_t)value : NONE;
}

static tutti_status read_label(
    const tutti_data_file *file, const tutti_tar_entry *entry, int32_t *label)
{
    char text[LABEL_BYTES + 1] = "", name[TUTTI_FAULT_EXAMPLE];
    tutti_lines lines;
    tutti_status status = TUTTI_OK;
    *label = NONE;
    snprintf(name, sizeof name, "%s: byte %lld", file->path, (long long)entry->offset);
    if (entry->bytes <= LABEL_BYTES)
        status = tutti_data_file_read(file, entry->offset, text, (size_t)entry->bytes);
    if (!status && entry->bytes <= LABEL_BYTES)
        status = tutti_lines_of(name, text, (size_t)entry->bytes, &lines);
    else if (!status)
        return TUTTI_OK;
    if (!status) *label = parse_label(&lines);
    return status;
}

static tutti_status take_label(tutti_tar_reader *r, const tutti_tar_entry *entry)
{
    tutti_tar_sample *s = &r->next;
    int32_t label;
    tutti_status status = read_label(r->file, entry, &label);
    if (status) return status;
    if (label == NONE)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: byte %lld: %s has a label that is not the number of a class, 0 to %d",
            r->file->path, (long long)entry->offset, s->key, TUTTI_CLASSES_MAX - 1);
    if (s->label_at != NONE)
        status = add_fault(r,
            s->label == label ? TUTTI_FAULT_TWO_LABELS : TUTTI_FAULT_LABELS_DIFFER, entry->offset);
    s->label_at = entry->offset;
    s->label = label;
    return status;
}

/* The label that a description has, as a number; -1: none. */
static int64_t find_json_label(const char *text, size_t count)
{
    static const char *const names[] = {"label", "cls", "class", "class_id", "target"};
    json_t *root = json_loadb(text, count, 0, NULL);
    int64_t label = NONE;
    for (size_t n = 0; n < sizeof names / sizeof *names && label == NONE; n++) {
        const json_t *value = json_object_get(root, names[n]);
        if (json_is_integer(value)) label = (int64_t)json_integer_value(value);
    }
    json_decref(root);
    return label >= 0 && label < TUTTI_CLASSES_MAX ? label : NONE;
}

static tutti_status take_json(tutti_tar_reader *r, const tutti_tar_entry *entry)
{
    if (entry->bytes > JSON_BYTES_MAX) return TUTTI_OK;
    char *text = malloc((size_t)entry->bytes + 1);
    if (!text) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", r->file->path);
    tutti_status status = tutti_data_file_read(r->file, entry->offset, text, (size_t)entry->bytes);
    int64_t label = status ? NONE : find_json_label(text, (size_t)entry->bytes);
    free(text);
    if (label == NONE) return status;
    r->next.json = (int32_t)label;
    r->next.json_at = entry->offset;
    return TUTTI_OK;
}

/* ---- samples ---- */

static tutti_status take_image(tutti_tar_reader *r, const tutti_tar_entry *entry)
{
    tutti_tar_sample *s = &r->next;
    tutti_status status = TUTTI_OK;
    if (entry->bytes > TUTTI_IMAGE_BYTES_MAX)
        return tutti_fail(TUTTI_ERR_FORMAT, "%s: byte %lld: %s: %lld bytes cannot be an image",
            r->file->path, (long long)entry->offset, s->key, (long long)entry->bytes);
    if (s->image != NONE) status = add_fault(r, TUTTI_FAULT_TWO_IMAGES, entry->offset);
    s->image = entry->offset;
    s->image_bytes = entry->bytes;
    return status;
}

/* The files of a key have all come. *whole: whether they are a sample. */
static tutti_status end_sample(const tutti_tar_reader *r, int *whole)
{
    const tutti_tar_sample *s = &r->next;
    int has_image = s->image != NONE, has_label = s->label_at != NONE;
    *whole = has_image && has_label;
    if (*whole && s->json_at != NONE && s->json != s->label)
        return add_fault(r, TUTTI_FAULT_LABELS_DIFFER, s->json_at);
    if (s->unread || has_image == has_label) return TUTTI_OK;
    return has_image ? fail(r, s->image, s->key, "has an image, but no label", ".cls")
                     : fail(r, s->label_at, s->key, "has a label, but no image", ".jpg");
}

/* Its contents are elsewhere, or not all of them are here. */
static tutti_status take_odd(tutti_tar_reader *r, const tutti_tar_entry *entry, const char *name)
{
    static const struct {
        char type;
        const char *word;
    } words[] = {{'1', "a hard link"}, {'2', "a link"}, {'3', "a device"}, {'4', "a device"},
        {'6', "a pipe"}, {'S', "a sparse file"}, {'M', "a part of a file"}};
    char what[TUTTI_TAR_NAME + 32];
    size_t w = 0, count = sizeof words / sizeof *words;
    while (w < count && words[w].type != entry->type) w++;
    snprintf(what, sizeof what, "%s (%s)", name, w < count ? words[w].word : "an unknown type");
    return tutti_shard_faults_add(
        r->faults, TUTTI_FAULT_NO_FILE, r->file->path, entry->offset, what);
}

/* A file of the sample `next`. */
static tutti_status take_file(tutti_tar_reader *r, const tutti_tar_entry *entry, const char *ending)
{
    if (is_label(ending)) return take_label(r, entry);
    return is_image(ending) ? take_image(r, entry) : take_json(r, entry);
}

/* What follows the last entry: two blocks of zeros at least, and nothing else. */
static tutti_status check_end(const tutti_tar_reader *r)
{
    enum { MARK = 2 * TUTTI_TAR_BLOCK };
    const tutti_data_file *file = r->file;
    if (file->bytes - r->at < MARK)
        return tutti_shard_faults_add(
            r->faults, TUTTI_FAULT_SHORT_END, file->path, r->at, "the file");
    for (int64_t from = r->at; from < file->bytes;) {
        uint8_t block[TUTTI_TAR_BLOCK];
        int64_t rest = file->bytes - from;
        size_t count = rest < (int64_t)sizeof block ? (size_t)rest : sizeof block;
        tutti_status status = tutti_data_file_read(file, from, block, count);
        if (status) return status;
        for (size_t i = 0; i < count; i++, from++)
            if (block[i])
                return tutti_shard_faults_add(
                    r->faults, TUTTI_FAULT_AFTER_END, file->path, from, "something");
    }
    return TUTTI_OK;
}

/* 2019.cls, of rex.2019.cls: a label whose image would have to be rex.jpg. */
static int is_label_of_none(const char *ending)
{
    const char *last = strrchr(ending, '.');
    return last && is_label(last + 1);
}

/* Puts an entry where it belongs. *whole: it is of another key than those before, which were a sample:
 * this is in *sample. */
static tutti_status take_entry(
    tutti_tar_reader *r, tutti_tar_entry *entry, tutti_tar_sample *sample, int *whole)
{
    tutti_status status = TUTTI_OK;
    *whole = 0;
    r->joined |= entry->joined;
    if (entry->joined)
        status = tutti_shard_faults_add(
            r->faults, TUTTI_FAULT_JOINED, r->file->path, entry->header, entry->name);
    int hidden = is_hidden(entry->name), is_odd = entry->type != '0';
    if (!status && is_odd && !hidden) status = take_odd(r, entry, entry->name);
    char *dot = find_dot(entry->name);
    const char *ending = dot ? dot + 1 : "";
    if (hidden || !(is_image(ending) || is_label(ending) || !strcmp(ending, "json"))) {
        r->others += !is_odd;
        return !status && !hidden && !is_odd && is_label_of_none(ending)
                   ? tutti_shard_faults_add(
                         r->faults, TUTTI_FAULT_DOTS, r->file->path, entry->header, entry->name)
                   : status;
    }
    *dot = '\0';
    if (!status && (r->joined || strcmp(entry->name, r->next.key) != 0)) {
        r->joined = 0;
        status = end_sample(r, whole);
        if (!status && *whole) *sample = r->next;
        r->next = empty;
        memcpy(r->next.key, entry->name, strlen(entry->name) + 1);
    }
    if (status) return status;
    r->others += !strcmp(ending, "json");
    r->next.unread |= is_odd;
    return is_odd ? TUTTI_OK : take_file(r, entry, ending);
}

tutti_status tutti_tar_sample_next(tutti_tar_reader *r, tutti_tar_sample *sample, int *found)
{
    tutti_status status = TUTTI_OK;
    *found = 0;
    if (!r->began) r->next = empty;
    r->began = 1;
    while (!status && !*found && !r->ended) {
        tutti_tar_entry entry;
        int more;
        status = tutti_tar_next(r->file, &r->at, &entry, &more);
        if (!status && more) {
            status = take_entry(r, &entry, sample, found);
        } else if (!status) {
            r->ended = 1;
            status = end_sample(r, found);
            if (!status && *found) *sample = r->next;
            if (!status) status = check_end(r);
        }
    }
    if (status) *found = 0;
    return status;
}
