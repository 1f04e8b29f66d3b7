#include "apps/data/tar.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Extended headers may hold attributes of any kind; more than this is damage. */
enum { BLOCK = TUTTI_TAR_BLOCK, LONG_MAX_BYTES = 64 << 20 };
/* Fields of a header: where, how long. */
enum { NAME = 0, NAME_BYTES = 100, SIZE = 124, NUMBER_BYTES = 12, SUM = 148, SUM_BYTES = 8 };
enum { TYPE = 156, MAGIC = 257, PREFIX = 345, PREFIX_BYTES = 155 };
/* GNU's sparse files: whether another block tells of pieces, in the header and in such a block. */
enum { SPARSE_MORE = 482, SPARSE_NEXT = 504 };

/* What entries before a file say about it. */
typedef struct extended {
    char name[TUTTI_TAR_NAME]; /* "": nothing */
    int64_t bytes;             /* -1: nothing */
    int is_sparse;
} extended;

/* Octal digits, or GNU's binary numbers; -1 for anything else. */
static int64_t number(const uint8_t *field, int bytes)
{
    int64_t value = 0;
    int i = 0;
    if (field[0] == 0x80) {
        for (i = 1; i < bytes; i++) {
            if (value >> 54) return -1;
            value = value << 8 | field[i];
        }
        return value;
    }
    while (i < bytes && field[i] == ' ') i++;
    int first = i;
    for (; i < bytes && field[i] >= '0' && field[i] <= '7'; i++) value = value * 8 + field[i] - '0';
    return i == first || (i < bytes && field[i] && field[i] != ' ') ? -1 : value;
}

/* The sum of all bytes, with blanks in the place of the sum. */
static int64_t sum_of(const uint8_t *block)
{
    int64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) sum += i >= SUM && i < SUM + SUM_BYTES ? ' ' : block[i];
    return sum;
}

static int is_zero(const uint8_t *block)
{
    int i = 0;
    while (i < BLOCK && !block[i]) i++;
    return i == BLOCK;
}

int tutti_tar_recognise(const uint8_t block[TUTTI_TAR_BLOCK])
{
    return !memcmp(block + MAGIC, "ustar", 5) && number(block + SUM, SUM_BYTES) == sum_of(block);
}

static tutti_status fail(const tutti_data_file *file, int64_t at, const char *why)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: byte %lld: %s; copy or pack the file again",
        file->path, (long long)at, why);
}

static void header_name(const uint8_t *block, char name[TUTTI_TAR_NAME])
{
    const char *own = (const char *)block + NAME, *prefix = (const char *)block + PREFIX;
    int is_posix = !memcmp(block + MAGIC, "ustar\0", 6);
    snprintf(name, TUTTI_TAR_NAME, "%.*s%s%.*s", is_posix ? PREFIX_BYTES : 0, prefix,
        is_posix && *prefix ? "/" : "", NAME_BYTES, own);
}

static tutti_status set_name(
    const tutti_data_file *file, int64_t at, const char *name, extended *about)
{
    if (strlen(name) >= TUTTI_TAR_NAME) return fail(file, at, "an entry's name is too long");
    memcpy(about->name, name, strlen(name) + 1);
    return TUTTI_OK;
}

/* A record is "KEY=VALUE". Sparse files have their true name in it. */
static tutti_status take_pax(
    const tutti_data_file *file, int64_t at, const char *record, extended *about)
{
    static const char path[] = "path=", size[] = "size=", sparse[] = "GNU.sparse.",
                      name[] = "name=";
    if (!strncmp(record, size, strlen(size)))
        about->bytes = strtoll(record + strlen(size), NULL, 10);
    if (!strncmp(record, path, strlen(path)) && !about->is_sparse)
        return set_name(file, at, record + strlen(path), about);
    if (strncmp(record, sparse, strlen(sparse)) != 0) return TUTTI_OK;
    about->is_sparse = 1;
    record += strlen(sparse);
    return strncmp(record, name, strlen(name)) ? TUTTI_OK
                                               : set_name(file, at, record + strlen(name), about);
}

/* Records "LENGTH KEY=VALUE\n". Those that are no such thing end the list. */
static tutti_status read_pax(
    const tutti_data_file *file, int64_t at, char *text, size_t count, extended *about)
{
    tutti_status status = TUTTI_OK;
    for (char *record = text, *end = text + count; record < end && !status;) {
        char *key;
        long length = strtol(record, &key, 10);
        if (length < 5 || length > end - record || *key != ' ') break;
        record[length - 1] = '\0';
        status = take_pax(file, at, key + 1, about);
        record += length;
    }
    return status;
}

/* A long name, or pax's records. */
static tutti_status read_extended(
    const tutti_data_file *file, char type, int64_t offset, int64_t bytes, extended *about)
{
    if (bytes > LONG_MAX_BYTES) return fail(file, offset, "an extended header is too long");
    char *text = calloc(1, (size_t)bytes + 1);
    if (!text) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", file->path);
    tutti_status status = tutti_data_file_read(file, offset, text, (size_t)bytes);
    if (!status && type == 'L') status = set_name(file, offset, text, about);
    if (!status && type != 'L') status = read_pax(file, offset, text, (size_t)bytes, about);
    free(text);
    return status;
}

static tutti_status read_header(const tutti_data_file *file, int64_t at, uint8_t *block)
{
    if (file->bytes - at < BLOCK)
        return fail(file, at, "the file ends here, without tar's mark of the end: it is truncated");
    tutti_status status = tutti_data_file_read(file, at, block, BLOCK);
    if (status || is_zero(block)) return status;
    if (number(block + SUM, SUM_BYTES) != sum_of(block))
        return fail(file, at, "this is no tar header");
    return TUTTI_OK;
}

/* Blocks that follow the header of a sparse file, before its contents. */
static tutti_status skip_sparse(const tutti_data_file *file, const uint8_t *header, int64_t *offset)
{
    int more = header[SPARSE_MORE];
    while (more) {
        uint8_t block[BLOCK];
        if (file->bytes - *offset < BLOCK)
            return fail(file, *offset, "a sparse file's header is truncated");
        tutti_status status = tutti_data_file_read(file, *offset, block, BLOCK);
        if (status) return status;
        more = block[SPARSE_NEXT];
        *offset += BLOCK;
    }
    return TUTTI_OK;
}

/* After a mark of the end: zeros, and perhaps another archive. *found: whether there is one, at *at. */
static tutti_status find_joined(const tutti_data_file *file, int64_t *at, int *found)
{
    uint8_t block[BLOCK];
    tutti_status status = TUTTI_OK;
    int64_t from = *at;
    *found = 0;
    while (!status && file->bytes - from >= BLOCK) {
        status = tutti_data_file_read(file, from, block, BLOCK);
        if (status || !is_zero(block)) break;
        from += BLOCK;
    }
    if (status || file->bytes - from < BLOCK || is_zero(block)) return status;
    *found = number(block + SUM, SUM_BYTES) == sum_of(block);
    if (*found) *at = from;
    return TUTTI_OK;
}

static int is_folder(const uint8_t *block, char type, const char *name)
{
    static const char types[] = {'5', 'D', 'V'}; /* also lists of folders, and labels of volumes */
    size_t length = strlen(name);
    int is_old = !type && memcmp(block + MAGIC, "ustar", 5) != 0;
    return memchr(types, type, sizeof types) || (is_old && length && name[length - 1] == '/');
}

/* One header and what it announces; *at moves on. *found: whether it is an entry of its own. */
static tutti_status take_header(const tutti_data_file *file, const uint8_t *block, int64_t *at,
    extended *about, tutti_tar_entry *entry, int *found)
{
    static const char about_types[] = {'L', 'x', 'X'}, passed_over[] = {'K', 'N', 'g'};
    char type = (char)block[TYPE];
    int is_about = memchr(about_types, type, sizeof about_types) != NULL;
    int is_entry = !is_about && !memchr(passed_over, type, sizeof passed_over);
    int64_t offset = *at + BLOCK, bytes = number(block + SIZE, NUMBER_BYTES);
    tutti_status status = TUTTI_OK;
    if (is_entry && about->bytes >= 0) bytes = about->bytes;
    if (bytes < 0) return fail(file, *at, "an entry's size is not a number");
    if (type == 'S') status = skip_sparse(file, block, &offset);
    if (status) return status;
    if (bytes > file->bytes - offset)
        return fail(file, *at, "an entry goes beyond the end of the file: it is truncated");
    entry->header = *at;
    *at = offset + (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (is_about) return read_extended(file, type, offset, bytes, about);
    if (!is_entry) return TUTTI_OK;
    header_name(block, entry->name);
    if (*about->name) memcpy(entry->name, about->name, sizeof about->name);
    entry->type = !type || type == '7' ? '0' : type;
    if (about->is_sparse) entry->type = 'S';
    entry->offset = offset;
    entry->bytes = bytes;
    *found = !is_folder(block, type, entry->name);
    *about = (extended){.bytes = -1};
    return TUTTI_OK;
}

tutti_status tutti_tar_next(
    const tutti_data_file *file, int64_t *at, tutti_tar_entry *entry, int *found)
{
    extended about = {.bytes = -1};
    *found = 0;
    entry->joined = 0;
    while (!*found) {
        uint8_t block[BLOCK];
        int more = 1;
        tutti_status status = read_header(file, *at, block);
        if (!status && is_zero(block)) {
            status = find_joined(file, at, &more);
            if (status || !more) return status;
            entry->joined = 1;
            about = (extended){.bytes = -1};
            status = read_header(file, *at, block);
        }
        if (!status) status = take_header(file, block, at, &about, entry, found);
        if (status) return status;
    }
    return TUTTI_OK;
}
