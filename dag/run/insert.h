/* Inserts collective nodes into the task graph of a running StarPU program (see
 * designs/attach/attach.h). [M] */
#ifndef TUTTI_INSERT_H
#define TUTTI_INSERT_H

#include "dag/run/handle.h"
#include "dag/run/run.h"

typedef struct tutti_insert tutti_insert;

/* StarPU must be running (UNSUPPORTED otherwise). chain: every inserted node is a link
 * of its chain (TUTTI_CHAIN). */
tutti_status tutti_insert_open(const tutti_run_hooks *hooks, int chain, tutti_insert **insert);
/* A collective, with its descriptor (copied) and the priority of its place. */
typedef struct tutti_insert_node {
    const char *name; /* kept until it ends */
    const void *desc;
    size_t desc_bytes;
    int priority;
    int brief; /* its start is (held.h), where nothing is chained */
    int chain; /* which, where collectives are chained: each counts for itself */
} tutti_insert_node;

/* Submits a collective node on these data: at most 18 handles. */
tutti_status tutti_insert_collective(tutti_insert *insert, const tutti_insert_node *node,
    int handles, const tutti_insert_handle handle[], const tutti_mode mode[]);
/* As a runner's wait, for everything inserted so far. With any status but TIMEOUT, all of it has
 * ended and its data may be unregistered. After a failure this may take a few seconds beyond
 * timeout_s; it is TIMEOUT (logged), too, when another rank keeps it from ending. After a stall that
 * has failed with TIMEOUT, all has ended, too, unless a rank is missing (tutti_insert_ended). */
tutti_status tutti_insert_wait(tutti_insert *insert, double timeout_s);
/* The same for what was inserted on these data. */
tutti_status tutti_insert_wait_for(
    tutti_insert *insert, tutti_insert_handle data, double timeout_s);
int tutti_insert_ended(tutti_insert *insert); /* whether everything inserted has ended */
/* The status of the first one that has failed; OK: none has. What later nodes were to compute is then not right.
 * [A] */
tutti_status tutti_insert_failure(tutti_insert *insert);
/* Requires that everything inserted has ended. Accepts NULL. */
void tutti_insert_close(tutti_insert *insert);

#endif
