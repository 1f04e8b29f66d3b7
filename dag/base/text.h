/* Text for people that may hold text from outside: names in files, paths, what another program said.
 * The one filter before it reaches a terminal, a log or a page.
 *
 * It shows what a terminal would obey: control characters (C0, DEL, C1), marks that turn the direction
 * of writing, line and paragraph separators, and bytes that are not UTF-8. They become \n, \t, \x1b or
 * \u202e. All other text stays as it is. [P] */
#ifndef TUTTI_TEXT_H
#define TUTTI_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes the text so that it is safe to show, cut to size, between characters; returns `to`. The two
 * must not overlap. */
char *tutti_text_show(const char *text, char *to, size_t size);
/* The same, in a place of its own; the caller frees it. NULL: no memory. */
char *tutti_text_shown(const char *text);

/* As fprintf, for people's tables: all that is printed passes the filter, except newlines at the ends
 * of the format, the only places where it may have any. */
void tutti_text_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the text into HTML or SVG: filtered, and with its markup escaped; at most `most` characters. */
void tutti_text_markup(FILE *out, const char *text, size_t most);

#endif
