/* Names of an attached program's data, by address. [M]
 *
 * Texts are copied, each once, and stay until close, because collectives that use them may still be in
 * flight. A name that is removed takes no time or memory of its own any more. */
#ifndef TUTTI_NAMES_H
#define TUTTI_NAMES_H

#include "dag/base/status.h"

typedef struct tutti_names tutti_names;

tutti_status tutti_names_open(tutti_names **names); /* NOMEM */
void tutti_names_close(tutti_names *names);         /* accepts NULL */
/* Replaces an earlier name; NULL removes it. NOMEM. */
tutti_status tutti_names_give(tutti_names *names, const void *data, const char *name);
/* NULL: no name. */
const char *tutti_names_find(tutti_names *names, const void *data);

#endif
