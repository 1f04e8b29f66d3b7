#include "apps/svm/read.h"

#include "apps/svm/memory.h"
#include "apps/svm/same.h"
#include "dag/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a line ---- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns 0. */
static int refuse(char *reason, const char *what, const char *word, size_t length, const char *why)
{
    char copy[40], shown[120];
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 39 ? length : 39), word);
    tutti_text_show(copy, shown, sizeof shown);
    snprintf(reason, TUTTI_SVM_REASON, "the %s '%s' %s", what, shown, why);
    return 0;
}

/* A finite decimal number that is the whole word. Also one that is rounded to a denormal number or to 0, as models
 * with scaled values may have; and with all the digits of the largest double. */
static int parse_number(const char *at, size_t length, double *value)
{
    char copy[400], *end;
    if (length >= sizeof copy) return 0;
    memcpy(copy, at, length);
    copy[length] = '\0';
    if (!length || strspn(copy, "0123456789+-.eE") != length) return 0;
    *value = strtod(copy, &end);
    return end == copy + length && isfinite(*value);
}

/* The index of "INDEX:VALUE": 0 when it is refused. */
static uint32_t parse_index(const char *at, size_t length)
{
    uint64_t index = 0;
    if (!length || length > 10) return 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(at[i])) return 0;
        index = index * 10 + (uint64_t)(at[i] - '0');
    }
    return index <= INT32_MAX ? (uint32_t)index : 0;
}

/* Appends one value; 1, 0 or -1 as tutti_svm_parse_line. */
static int parse_pair(
    const char *word, size_t length, uint32_t *before, tutti_rows *rows, char *reason)
{
    const char *colon = memchr(word, ':', length);
    if (!colon) return refuse(reason, "word", word, length, "is not INDEX:VALUE");
    const size_t digits = (size_t)(colon - word), rest = length - digits - 1;
    const uint32_t index = parse_index(word, digits);
    double value;
    if (!index)
        return refuse(reason, "index", word, digits, "is not a number from 1 to 2147483647");
    if (index <= *before)
        return refuse(reason, "index", word, digits,
            "does not follow a smaller one: indices of a line ascend");
    if (!parse_number(colon + 1, rest, &value))
        return refuse(reason, "value", colon + 1, rest, "is not a finite decimal number");
    *before = index;
    return tutti_rows_put(rows, index, value) ? -1 : 1;
}

/* Finds the next word of the line. Returns its length; 0 at the end of the line. */
static size_t next_word(const char **at, const char *end, const char **word)
{
    while (*at < end && is_blank(**at)) ++*at;
    for (*word = *at; *at < end && !is_blank(**at); ++*at) continue;
    return (size_t)(*at - *word);
}

int tutti_svm_parse_line(
    const char *line, size_t length, tutti_rows *rows, char reason[TUTTI_SVM_REASON])
{
    const char *at = line, *end = line + length, *word;
    const int64_t columns = rows->columns;
    uint32_t before = 0;
    double label;
    size_t n = next_word(&at, end, &word);
    if (!parse_number(word, n, &label))
        return refuse(reason, "label", word, n, "is not a finite decimal number");
    if (tutti_rows_add(rows, label)) return -1;
    int good = 1;
    while (good > 0 && (n = next_word(&at, end, &word)))
        good = parse_pair(word, n, &before, rows, reason);
    if (good > 0) return good;
    tutti_rows_drop(rows);
    rows->columns = columns;
    return good;
}

/* ---- text ---- */

static int is_empty(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_blank(line[i])) return 0;
    return 1;
}

tutti_status tutti_svm_parse_text(
    const char *text, size_t bytes, tutti_svm_text *found, tutti_rows *rows)
{
    const char *at = text, *end = text + bytes;
    tutti_status status = TUTTI_OK;
    *found = (tutti_svm_text){.empty = -1, .last = -1, .bad = -1};
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        const int64_t number = found->lines++;
        if (is_empty(at, length)) {
            if (found->empty < 0) found->empty = number;
        } else {
            found->last = number;
        }
        if (!status && found->last == number) {
            const int good = tutti_svm_parse_line(at, length, rows, found->reason);
            if (good < 0) return TUTTI_ERR_NOMEM;
            if (!good) {
                found->bad = number;
                status = TUTTI_ERR_FORMAT;
            }
        }
        at += length + 1;
    }
    return status;
}

/* ---- a file ---- */

typedef struct part {
    const char *path;
    int fd;
    int64_t size;
    char *text; /* of this rank's lines */
    size_t bytes;
} part;

static tutti_status fail_read(const char *path, const char *why)
{
    return tutti_fail(TUTTI_ERR_IO, "the data file %s cannot be read: %s", path, why);
}

static tutti_status open_file(const char *path, part *p)
{
    struct stat s;
    *p = (part){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (p->fd < 0 || fstat(p->fd, &s)) return fail_read(path, strerror(errno));
    if (!S_ISREG(s.st_mode)) return fail_read(path, "it is not a regular file");
    if (!s.st_size) return fail_read(path, "it is empty");
    p->size = s.st_size;
    return TUTTI_OK;
}

static tutti_status read_at(const part *p, char *to, int64_t offset, size_t bytes)
{
    while (bytes) {
        const ssize_t n = pread(p->fd, to, bytes, offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_read(p->path, strerror(errno));
        if (!n) return fail_read(p->path, "it became shorter while it was read");
        to += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TUTTI_OK;
}

/* The first byte of a line at or behind `offset`. */
static tutti_status find_line(const part *p, int64_t offset, int64_t *begin)
{
    char some[4096];
    *begin = offset ? p->size : 0;
    for (int64_t at = offset - 1; offset && at < p->size; at += (int64_t)sizeof some) {
        const int64_t left = p->size - at;
        const size_t n = left < (int64_t)sizeof some ? (size_t)left : sizeof some;
        tutti_status status = read_at(p, some, at, n);
        const char *stop = status ? NULL : memchr(some, '\n', n);
        if (stop) *begin = at + (stop - some) + 1;
        if (stop || status) return status;
    }
    return TUTTI_OK;
}

static tutti_status read_part(const tutti_svm_world *world, part *p)
{
    static const char mark[] = "\xef\xbb\xbf";
    int64_t begin = 0, end = 0;
    tutti_status status = find_line(p, p->size / world->size * world->rank, &begin);
    if (!status && world->rank + 1 == world->size) end = p->size;
    if (!status && world->rank + 1 < world->size)
        status = find_line(p, p->size / world->size * (world->rank + 1), &end);
    if (status) return status;
    p->bytes = (size_t)(end - begin);
    p->text = tutti_svm_new((int64_t)p->bytes, 1);
    if (!p->text) return TUTTI_ERR_NOMEM;
    status = read_at(p, p->text, begin, p->bytes);
    if (!status && !begin && p->bytes >= 3 && !memcmp(p->text, mark, 3)) memset(p->text, ' ', 3);
    if (!status && !begin && p->bytes >= 2 &&
        (!memcmp(p->text, "\xff\xfe", 2) || !memcmp(p->text, "\xfe\xff", 2)))
        status = fail_read(p->path, "it is UTF-16: save it as plain text");
    return status;
}

/* Looks at what all ranks have found, with the numbers of lines in the file. */
static tutti_status check_lines(const char *path, int ranks, const tutti_svm_text all[])
{
    int64_t before = 0, empty = -1;
    for (int r = 0; r < ranks; before += all[r++].lines) {
        const tutti_svm_text *t = &all[r];
        if (empty < 0 && t->empty >= 0) empty = before + t->empty;
        if (empty >= 0 && t->last >= 0 && before + t->last > empty &&
            (t->bad < 0 || empty < before + t->bad))
            return tutti_fail(TUTTI_ERR_FORMAT,
                "%s: line %" PRId64 " is empty, and more lines follow", path, empty + 1);
        if (t->bad >= 0)
            return tutti_fail(
                TUTTI_ERR_FORMAT, "%s: line %" PRId64 ": %s", path, before + t->bad + 1, t->reason);
    }
    return TUTTI_OK;
}

static tutti_status check_text(
    tutti_svm_world *world, const char *path, const tutti_svm_text *text, tutti_rows *rows)
{
    int64_t count = 0;
    double columns = (double)rows->columns;
    tutti_svm_text *all = tutti_svm_new(world->size, sizeof *all);
    tutti_status status = all ? tutti_svm_gather(world, text, sizeof *text, all) : TUTTI_ERR_NOMEM;
    if (!status) status = check_lines(path, world->size, all);
    free(all);
    if (!status) status = tutti_svm_place(world, rows->count, &rows->from, &count);
    if (!status) status = tutti_svm_largest(world, &columns);
    rows->columns = (int64_t)columns;
    if (!status && !count) status = tutti_fail(TUTTI_ERR_FORMAT, "%s has no rows", path);
    return status;
}

tutti_status tutti_svm_read(tutti_svm_world *world, const char *path, tutti_rows *rows)
{
    part p = {.fd = -1};
    tutti_svm_text text = {.empty = -1, .last = -1, .bad = -1};
    tutti_status status = tutti_svm_agree(world, open_file(path, &p));
    if (!status) status = tutti_svm_same_file(world, "the data file", path);
    if (!status) status = read_part(world, &p);
    if (!status) status = tutti_svm_parse_text(p.text, p.bytes, &text, rows);
    free(p.text);
    if (p.fd >= 0) close(p.fd);
    status = tutti_svm_agree(world, status == TUTTI_ERR_FORMAT ? TUTTI_OK : status);
    if (!status) status = check_text(world, path, &text, rows);
    if (status) tutti_rows_free(rows);
    return status;
}
