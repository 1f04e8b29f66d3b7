/* The lines of a text file that people, or programs of others, have written: lists of a data set,
 * topologies, rules, trees. All of them may have
 *
 *   lines of any length that end in LF, CRLF or CR, the last one also in nothing
 *   the mark that some editors put in front of UTF-8
 *   blanks and tabs at both ends of a line, and empty lines anywhere: neither is passed on
 *
 * UTF-16 and zero bytes are refused, with the file and the line. Threads: [A], one per object. */
#ifndef TUTTI_LINES_H
#define TUTTI_LINES_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_lines {
    const char *path; /* borrowed: what messages call the text */
    char *owned;      /* the text, if it was read from a file */
    char *at, *end;
    int64_t number; /* of the line that was taken last, from 1 */
    char comment;   /* a caller may set it: from this character on, a line is not passed on */
} tutti_lines;

/* Reads a regular file, whose path must live until close. The text ends in a 0. IO, FORMAT, NOMEM
 * (logged). */
tutti_status tutti_lines_open(const char *path, tutti_lines *lines);
/* Lines of `count` bytes in memory, which are changed, and followed by one more byte that may be
 * changed, too. FORMAT (logged). */
tutti_status tutti_lines_of(const char *path, char *text, size_t count, tutti_lines *lines);
/* Lines of a copy of a text. FORMAT, NOMEM (logged). */
tutti_status tutti_lines_copy(const char *path, const char *text, tutti_lines *lines);
/* The next line that is not empty, without its end and the blanks around it; *line NULL: there is
 * none. FORMAT (logged): it has a zero byte. */
tutti_status tutti_lines_next(tutti_lines *lines, char **line);
/* The words of the next line that is not empty; *words 0: there is none. FORMAT (logged): it has a
 * zero byte, or more than `most` words. */
tutti_status tutti_lines_words(tutti_lines *lines, char **word, int most, int *words);
/* Logs "FILE: line N: " and the sentence, before the first line "FILE: ". Returns FORMAT. */
tutti_status tutti_lines_fail(const tutti_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Accepts a zeroed object. */
void tutti_lines_close(tutti_lines *lines);

/* Cuts off the first word of a line, which becomes what is behind it; NULL: there is none. [P] */
char *tutti_lines_cut_word(char **line);
/* Where the blanks before the last word of a line begin; NULL: it is one word. [P] */
char *tutti_lines_last_blank(char *line);
static inline int tutti_lines_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

#endif
