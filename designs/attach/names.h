/* What the data of an attached program are called: a name for each address. [M]
 *
 * Names are copied, and stay until close, as collectives that were named may still be under way. */
#ifndef TUTTI_NAMES_H
#define TUTTI_NAMES_H

#include "dag/base/status.h"

typedef struct tutti_names tutti_names;

tutti_status tutti_names_open(tutti_names **names); /* NOMEM */
void tutti_names_close(tutti_names *names);         /* accepts NULL */
/* Replaces an earlier name; NULL: it has none any more. NOMEM. */
tutti_status tutti_names_give(tutti_names *names, const void *data, const char *name);
/* NULL: it has none. */
const char *tutti_names_find(const tutti_names *names, const void *data);

#endif
