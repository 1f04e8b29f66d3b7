/* The lines of a text file that people, or programs of others, have written. Every text file of a
 * data set is read here, so that all of them may have
 *
 *   lines of any length that end in LF, CRLF or CR, the last one also in nothing
 *   the mark that some editors put in front of UTF-8
 *   blanks and tabs at both ends of a line, and empty lines anywhere: neither is passed on
 *
 * UTF-16 and zero bytes are refused, with the file and the line. Threads: [A], one per object. */
#ifndef TUTTI_DATA_LINES_H
#define TUTTI_DATA_LINES_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_lines {
    const char *path; /* borrowed: what messages call the text */
    char *owned;      /* the text, if it was read from a file */
    char *at, *end;
    int64_t number; /* of the line that was taken last, from 1 */
} tutti_lines;

/* Reads a file, whose path must live until close. IO, FORMAT, NOMEM (logged). */
tutti_status tutti_lines_open(const char *path, tutti_lines *lines);
/* Lines of `count` bytes in memory, which are changed, and followed by one more byte that may be
 * changed, too. FORMAT (logged). */
tutti_status tutti_lines_of(const char *path, char *text, size_t count, tutti_lines *lines);
/* The next line that is not empty, without its end and the blanks around it; *line NULL: there is
 * none. FORMAT (logged): it has a zero byte. */
tutti_status tutti_lines_next(tutti_lines *lines, char **line);
/* Logs "FILE: line N: " and the sentence. Returns FORMAT. */
tutti_status tutti_lines_fail(const tutti_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Accepts a zeroed object. */
void tutti_lines_close(tutti_lines *lines);

/* Where the blanks before the last word of a line begin; NULL: it is one word. [P] */
char *tutti_lines_last_blank(char *line);
static inline int tutti_lines_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

#endif
