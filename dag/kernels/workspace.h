/* The memory of a GPU that kernels work in: for libraries, and for what one launch of a run leaves to the next.
 * Nothing in it outlives a run, so kernels that run one after the other, on one queue, share it: it is as large as what
 * the one that asks for most asks for. They share the libraries' handles, too, which take memory and time. Each thread
 * opens for itself, as it has a GPU of its own.
 *
 *   begin -> { open }* -> end ... { run }* ... { close }*
 *
 * Errors: NOMEM, logged by the source. Threads: begin, end and join [A]; leave, no two of one workspace at once. */
#ifndef TUTTI_WORKSPACE_H
#define TUTTI_WORKSPACE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The kernels that this thread opens from here on share a workspace of at most `bytes` bytes. Where one of them asks
 * for more, they have none, and may only be closed. Without this call each has one of its own, and there is no
 * limit. */
void tutti_workspace_begin(size_t most);
/* How many bytes it has: what the largest of them asks for, and the counters. */
size_t tutti_workspace_end(void);

/* ---- for kernels ---- */

enum { TUTTI_WORKSPACE_COUNTERS = 1024 };

typedef enum tutti_workspace_library {
    TUTTI_WORKSPACE_CUBLAS,
    TUTTI_WORKSPACE_CUDNN,
    TUTTI_WORKSPACE_LIBRARIES
} tutti_workspace_library;

typedef struct tutti_workspace {
    void *memory; /* where it is while kernels run: opening further ones may move it */
    /* Behind what was asked for: a kernel that counts in one leaves 0 there, so that the next one, and a launch that is
     * repeated, find 0 without clearing it. */
    uint32_t *counter;
    size_t bytes;
    int users;
    void (*give)(void *memory);
    struct {
        void *handle; /* NULL until the first kernel opens it */
        void (*close)(void *handle);
    } library[TUTTI_WORKSPACE_LIBRARIES];
} tutti_workspace;

typedef struct tutti_workspace_source {
    /* The last `zeros` bytes of the memory are 0. op: for messages. */
    tutti_status (*take)(const char *op, size_t bytes, size_t zeros, void **memory);
    void (*give)(void *memory); /* accepts NULL */
} tutti_workspace_source;

/* One of at least this many bytes, until leave. */
tutti_status tutti_workspace_join(const char *op, size_t bytes,
    const tutti_workspace_source *source, tutti_workspace **workspace);
/* At least this many bytes of one that was joined. */
tutti_status tutti_workspace_reserve(
    const char *op, size_t bytes, const tutti_workspace_source *source, tutti_workspace *workspace);
void tutti_workspace_leave(tutti_workspace *workspace); /* accepts NULL */

#endif
