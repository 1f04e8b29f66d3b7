/* Where the values of a program's settings came from, so that a message names what the user wrote: an
 * error about "--layout" says TUTTI_LAYOUT where the value is that variable's. dag/base/conf.h fills the
 * list from a command line, and errors and warnings (dag/base/log.h) are worded by it. Like the log's
 * prefix it belongs to the process. A library function has no options and leaves the list empty.
 *
 * Threads: clear and add are [M], before the program starts a thread that may log; the rest is [A]. */
#ifndef TUTTI_ORIGIN_H
#define TUTTI_ORIGIN_H

#include <stddef.h>

typedef enum tutti_origin {
    TUTTI_ORIGIN_OPTION, /* the command line; what is not in the list */
    TUTTI_ORIGIN_VARIABLE,
    TUTTI_ORIGIN_SOURCE, /* defaults that the user chose: "recipe goyal" */
    TUTTI_ORIGIN_DEFAULT,
} tutti_origin;

void tutti_origin_clear(void);
/* option: "layout" for --layout; text: the name of the variable or source. Both are borrowed. */
void tutti_origin_add(const char *option, tutti_origin origin, const char *text);

/* Copies a sentence about options. "--layout" becomes TUTTI_LAYOUT where that variable has set it; not in
 * advice such as "use --layout stages=2", since an option counts more. At the beginning of
 * a sentence "--layout X:" becomes "TUTTI_LAYOUT='X':", and "--lr" may become "recipe goyal's --lr" or "the
 * default --lr". Cuts what has no room. */
void tutti_origin_word(const char *sentence, char *worded, size_t size);

#endif
