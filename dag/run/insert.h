/* Inserts collective nodes into the task graph of a StarPU program that runs already (see
 * designs/attach.h). [M] */
#ifndef TUTTI_INSERT_H
#define TUTTI_INSERT_H

#include "dag/base/dtype.h"
#include "dag/run/run.h"

typedef struct tutti_insert tutti_insert;
/* starpu_data_handle_t without its header. */
typedef struct _starpu_data_state *tutti_insert_handle;

/* StarPU must be running (UNSUPPORTED otherwise). chain: every inserted node is a link
 * of one chain (TUTTI_CHAIN). */
tutti_status tutti_insert_open(const tutti_run_hooks *hooks, int chain, tutti_insert **insert);
/* How many elements of this type the handle's data have. INVAL when its interface is none of
 * vector, variable, matrix and block, when it has gaps, or when its size is no multiple of the
 * type's. `what` names it in messages. */
tutti_status tutti_insert_count(
    tutti_insert_handle data, tutti_dtype dtype, const char *what, int64_t *count);
/* Submits a collective node with this descriptor (copied) on these data. */
tutti_status tutti_insert_collective(tutti_insert *insert, const char *name, const void *desc,
    size_t desc_bytes, int handles, const tutti_insert_handle handle[], const tutti_mode mode[]);
/* As a runner's wait, for everything inserted so far; after a failure other than TIMEOUT all of it
 * has ended, too, unless something was lost: its data may be unregistered. */
tutti_status tutti_insert_wait(tutti_insert *insert, double timeout_s);
int tutti_insert_ended(tutti_insert *insert); /* whether everything inserted has */
/* Everything inserted has ended. Accepts NULL. */
void tutti_insert_close(tutti_insert *insert);

#endif
