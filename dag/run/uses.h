/* Which instances of a ledger use a StarPU handle: the basis for waiting on one handle. Instances
 * that have ended are dropped. [M] */
#ifndef TUTTI_USES_H
#define TUTTI_USES_H

#include "dag/run/handle.h"
#include "dag/run/ledger.h"

/* Initialised with zeros. */
typedef struct tutti_uses {
    struct tutti_use *use;
    int uses, room;
} tutti_uses;

/* Makes room for one more instance with this many handles. NOMEM. */
tutti_status tutti_uses_reserve(tutti_uses *uses, tutti_ledger *ledger, int handles);
/* The instance uses these handles; room was reserved. */
void tutti_uses_add(tutti_uses *uses, int64_t id, int handles, const tutti_insert_handle handle[]);
/* Whether all instances that use the handle have ended. */
int tutti_uses_ended(const tutti_uses *uses, tutti_ledger *ledger, tutti_insert_handle handle);
void tutti_uses_free(tutti_uses *uses);

#endif
