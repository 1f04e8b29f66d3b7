#include "apps/data/tar.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = TUTTI_TAR_BLOCK, LONG_MAX_BYTES = 1 << 16 };
/* Fields of a header: where, how long. */
enum { NAME = 0, NAME_BYTES = 100, SIZE = 124, NUMBER_BYTES = 12, SUM = 148, SUM_BYTES = 8 };
enum { TYPE = 156, MAGIC = 257, PREFIX = 345, PREFIX_BYTES = 155 };

/* What entries before a file say about it. */
typedef struct extended {
    char name[TUTTI_TAR_NAME]; /* "": nothing */
    int64_t bytes;             /* -1: nothing */
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

/* Records "LENGTH KEY=VALUE\n". Those that are no such thing end the list. */
static void read_pax(char *text, size_t count, extended *about)
{
    for (char *record = text, *end = text + count; record < end;) {
        char *key;
        long length = strtol(record, &key, 10);
        if (length < 5 || length > end - record || *key != ' ') return;
        record[length - 1] = '\0';
        key++;
        if (!strncmp(key, "path=", 5)) snprintf(about->name, TUTTI_TAR_NAME, "%s", key + 5);
        if (!strncmp(key, "size=", 5)) about->bytes = strtoll(key + 5, NULL, 10);
        record += length;
    }
}

/* A long name, or pax's records. */
static tutti_status read_extended(
    const tutti_data_file *file, char type, int64_t offset, int64_t bytes, extended *about)
{
    if (bytes > LONG_MAX_BYTES) return fail(file, offset, "an entry's name is too long");
    char *text = calloc(1, (size_t)bytes + 1);
    if (!text) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", file->path);
    tutti_status status = tutti_data_file_read(file, offset, text, (size_t)bytes);
    if (!status && type == 'L') snprintf(about->name, TUTTI_TAR_NAME, "%s", text);
    if (!status && type == 'x') read_pax(text, (size_t)bytes, about);
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

tutti_status tutti_tar_next(
    const tutti_data_file *file, int64_t *at, tutti_tar_entry *entry, int *found)
{
    extended about = {.bytes = -1};
    *found = 0;
    for (;;) {
        uint8_t block[BLOCK];
        tutti_status status = read_header(file, *at, block);
        if (status || is_zero(block)) return status;
        char type = (char)block[TYPE];
        int is_file = type == '0' || !type || type == '7', is_about = type == 'L' || type == 'x';
        int64_t offset = *at + BLOCK, bytes = number(block + SIZE, NUMBER_BYTES);
        if (is_file && about.bytes >= 0) bytes = about.bytes;
        if (bytes < 0) return fail(file, *at, "an entry's size is no number");
        if (bytes > file->bytes - offset)
            return fail(file, *at, "an entry goes beyond the end of the file: it is truncated");
        *at = offset + (bytes + BLOCK - 1) / BLOCK * BLOCK;
        if (is_about) status = read_extended(file, type, offset, bytes, &about);
        if (status) return status;
        if (is_file) {
            header_name(block, entry->name);
            if (*about.name) memcpy(entry->name, about.name, sizeof about.name);
            entry->offset = offset;
            entry->bytes = bytes;
            *found = 1;
            return TUTTI_OK;
        }
        if (!is_about && type != 'g') about = (extended){.bytes = -1};
    }
}
