/* Which engine of a library computes what: a table of texts, from what is computed ("conv bf16 ...") to one of the
 * library's engines ("cuDNN 9.19.0 e62 2=1"). Kernels that are opened with a table take the engines that it has; what
 * it lacks is chosen by timing, and added. So a table, given to another rank or a later run as text, stands for the
 * same order of sums, and the same bits. Without a table kernels take what the library's heuristics offer first.
 *
 * Neither text has a line break, and what is computed has no " = ".
 *
 * Threads: one thread per table; begin, end and current [A]. Errors: NOMEM, FORMAT (logged). */
#ifndef TUTTI_ENGINES_H
#define TUTTI_ENGINES_H

#include "dag/base/status.h"

typedef struct tutti_engines tutti_engines;

tutti_status tutti_engines_new(tutti_engines **engines);
void tutti_engines_free(tutti_engines *engines); /* accepts NULL */

int tutti_engines_count(const tutti_engines *engines);
/* Row i, from 0, in the order in which rows were added. Texts live until the table changes. */
void tutti_engines_row(
    const tutti_engines *engines, int i, const char **computed, const char **engine);
/* The engine for this; NULL: the table has none. */
const char *tutti_engines_find(const tutti_engines *engines, const char *computed);
/* Adds a row, or replaces its engine. */
tutti_status tutti_engines_put(tutti_engines *engines, const char *computed, const char *engine);

/* All rows, as lines "computed = engine"; NULL: no memory. The caller frees it. */
char *tutti_engines_print(const tutti_engines *engines);
/* Adds the rows of such a text that the table does not have. FORMAT: a line is no row. */
tutti_status tutti_engines_read(tutti_engines *engines, const char *text);

/* The library whose engines kernels of this build take, with the version that was loaded, as texts of engines begin:
 * "cuDNN 9.19.0"; "" in a build without it. Returns text. [A] */
enum { TUTTI_ENGINES_LIBRARY = 64 };
char *tutti_engines_library(char text[TUTTI_ENGINES_LIBRARY]);

/* The kernels that this thread opens between the two use this table; NULL: none. */
void tutti_engines_begin(tutti_engines *engines);
void tutti_engines_end(void);
tutti_engines *tutti_engines_current(void);

#endif
