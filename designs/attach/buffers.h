/* The buffers of a session that tutti_register has made: memory, and a StarPU vector on it. [M] */
#ifndef TUTTI_BUFFERS_H
#define TUTTI_BUFFERS_H

#include "dag/base/dtype.h"
#include "dag/base/status.h"
#include "dag/run/insert.h"

typedef struct tutti_registered {
    struct tutti_registered *next;
    const void *owner; /* the session or group that has registered it */
    tutti_insert_handle handle;
    void *memory;
    int placed; /* it is the transport's memory */
    tutti_dtype dtype;
    int peer, edge;
} tutti_registered;

/* Zero-initialise; hooks: those of the runs that use it. */
typedef struct tutti_buffers {
    tutti_registered *first;
    tutti_run_hooks hooks;
} tutti_buffers;

/* Adds one like this (owner, dtype, peer, edge) with `count` elements, which are 0. NOMEM (logged). */
tutti_status tutti_buffers_add(tutti_buffers *buffers, const tutti_registered *like, int64_t count,
    tutti_insert_handle *handle);
/* NULL: the owner has no such buffer. */
const tutti_registered *tutti_buffers_find(
    const tutti_buffers *buffers, const void *owner, tutti_insert_handle handle);
/* Ends a buffer that is there. Waits for StarPU's tasks on it: a message has ended before, as its task has. */
void tutti_buffers_remove(tutti_buffers *buffers, tutti_insert_handle handle);
/* The same for all; without StarPU, their memory stays. */
void tutti_buffers_close(tutti_buffers *buffers);

#endif
