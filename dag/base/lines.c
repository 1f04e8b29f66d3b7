#include "dag/base/lines.h"

#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int begins_with(const tutti_lines *l, const char *mark, size_t count)
{
    return (size_t)(l->end - l->at) >= count && !memcmp(l->at, mark, count);
}

/* Marks of UTF-16 (and UTF-32, which begins alike); or a first character of ASCII without one. */
static int is_utf16(const tutti_lines *l)
{
    return begins_with(l, "\xff\xfe", 2) || begins_with(l, "\xfe\xff", 2) ||
           (l->end - l->at >= 2 && !l->at[0] != !l->at[1]);
}

tutti_status tutti_lines_of(const char *path, char *text, size_t count, tutti_lines *lines)
{
    static const char utf8[] = "\xef\xbb\xbf";
    *lines = (tutti_lines){.path = path, .at = text, .end = text + count};
    if (begins_with(lines, utf8, sizeof utf8 - 1)) lines->at += sizeof utf8 - 1;
    if (!is_utf16(lines)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s: line 1: is UTF-16, not UTF-8: convert the file (iconv -f UTF-16 -t UTF-8)", path);
}

/* The text of an open file, with a 0 behind it; *count: its bytes. */
static tutti_status read_text(int fd, const char *path, char **text, size_t *count)
{
    struct stat st;
    if (fstat(fd, &st))
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot examine it: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return tutti_fail(TUTTI_ERR_IO, "%s: is not a regular file", path);
    *text = malloc((size_t)st.st_size + 1);
    if (!*text)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "%s: no memory for its %lld bytes", path, (long long)st.st_size);
    for (*count = 0; *count < (size_t)st.st_size;) {
        ssize_t n = read(fd, *text + *count, (size_t)st.st_size - *count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tutti_fail(TUTTI_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
        if (!n) return tutti_fail(TUTTI_ERR_IO, "%s: has become shorter while it was read", path);
        *count += (size_t)n;
    }
    (*text)[*count] = '\0';
    return TUTTI_OK;
}

tutti_status tutti_lines_open(const char *path, tutti_lines *lines)
{
    char *text = NULL;
    size_t count = 0;
    *lines = (tutti_lines){0};
    /* O_NONBLOCK: opening a pipe without a writer returns at once. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot open: %s%s", path, strerror(errno),
            errno == ENOENT ? "; check the name" : "");
    tutti_status status = read_text(fd, path, &text, &count);
    close(fd);
    if (!status) status = tutti_lines_of(path, text, count, lines);
    lines->owned = text;
    if (status) tutti_lines_close(lines);
    return status;
}

tutti_status tutti_lines_copy(const char *path, const char *text, tutti_lines *lines)
{
    char *copy = strdup(text);
    *lines = (tutti_lines){0};
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its text", path);
    tutti_status status = tutti_lines_of(path, copy, strlen(copy), lines);
    lines->owned = copy;
    if (status) tutti_lines_close(lines);
    return status;
}

void tutti_lines_close(tutti_lines *lines)
{
    free(lines->owned);
    *lines = (tutti_lines){0};
}

tutti_status tutti_lines_fail(const tutti_lines *lines, const char *format, ...)
{
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (!lines->number) return tutti_fail(TUTTI_ERR_FORMAT, "%s: %s", lines->path, why);
    return tutti_fail(
        TUTTI_ERR_FORMAT, "%s: line %lld: %s", lines->path, (long long)lines->number, why);
}

/* Cuts off the next line; its end becomes a zero. */
static char *cut_line(tutti_lines *l, size_t *length)
{
    char *line = l->at, *end = line;
    while (end < l->end && *end != '\n' && *end != '\r') end++;
    *length = (size_t)(end - line);
    l->at = end;
    if (l->at < l->end) l->at += *end == '\r' && end + 1 < l->end && end[1] == '\n' ? 2 : 1;
    *end = '\0';
    l->number++;
    return line;
}

tutti_status tutti_lines_next(tutti_lines *lines, char **line)
{
    *line = NULL;
    while (lines->at < lines->end) {
        size_t length;
        char *text = cut_line(lines, &length);
        if (memchr(text, '\0', length))
            return tutti_lines_fail(
                lines, "has a zero byte: the file is damaged, or no text in UTF-8");
        char *comment = lines->comment ? memchr(text, lines->comment, length) : NULL;
        if (comment) text[length = (size_t)(comment - text)] = '\0';
        while (length && tutti_lines_is_blank(text[length - 1])) text[--length] = '\0';
        while (tutti_lines_is_blank(*text)) text++;
        if (!*text) continue;
        *line = text;
        return TUTTI_OK;
    }
    return TUTTI_OK;
}

char *tutti_lines_cut_word(char **line)
{
    char *word = *line, *end;
    while (tutti_lines_is_blank(*word)) word++;
    for (end = word; *end && !tutti_lines_is_blank(*end);) end++;
    *line = *end ? end + 1 : end;
    *end = '\0';
    return end > word ? word : NULL;
}

tutti_status tutti_lines_words(tutti_lines *lines, char **word, int most, int *words)
{
    char *line;
    *words = 0;
    tutti_status status = tutti_lines_next(lines, &line);
    if (status || !line) return status;
    for (char *next; (next = tutti_lines_cut_word(&line));) {
        if (*words == most) return tutti_lines_fail(lines, "more than %d words", most);
        word[(*words)++] = next;
    }
    return TUTTI_OK;
}

char *tutti_lines_last_blank(char *line)
{
    char *at = line + strlen(line);
    while (at > line && !tutti_lines_is_blank(at[-1])) at--;
    while (at > line && tutti_lines_is_blank(at[-1])) at--;
    return at > line ? at : NULL;
}
