#include "designs/attach/buffers.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The transport's, where it has some for this size: the peer then writes to it. */
static tutti_status take_memory(const tutti_run_hooks *hooks, tutti_registered *b, size_t bytes)
{
    b->memory = hooks->take_memory ? hooks->take_memory(hooks->ctx, bytes) : NULL;
    b->placed = b->memory != NULL;
    if (!b->placed) b->memory = tutti_mem_aligned(bytes);
    if (!b->memory)
        return tutti_fail(TUTTI_ERR_NOMEM, "tutti_register: no memory for %zu bytes", bytes);
    if (b->placed) memset(b->memory, 0, bytes);
    return TUTTI_OK;
}

static void give_memory(const tutti_run_hooks *hooks, const tutti_registered *b)
{
    if (b->placed)
        hooks->give_memory(hooks->ctx, b->memory);
    else
        free(b->memory);
}

tutti_status tutti_buffers_add(tutti_buffers *buffers, const tutti_registered *like, int64_t count,
    tutti_insert_handle *handle)
{
    const size_t each = tutti_dtype_bytes(like->dtype);
    tutti_registered *b = malloc(sizeof *b);
    if (!b) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_register: no memory");
    *b = *like;
    tutti_status status = take_memory(&buffers->hooks, b, tutti_mem_product((size_t)count, each));
    if (status) {
        free(b);
        return status;
    }
    b->handle = tutti_handle_of_vector(b->memory, count, each);
    b->next = buffers->first;
    buffers->first = b;
    *handle = b->handle;
    return TUTTI_OK;
}

const tutti_registered *tutti_buffers_find(
    const tutti_buffers *buffers, const void *owner, tutti_insert_handle handle)
{
    const tutti_registered *b = buffers->first;
    while (b && (b->handle != handle || b->owner != owner)) b = b->next;
    return b;
}

static void end_buffer(const tutti_run_hooks *hooks, tutti_registered *b)
{
    tutti_handle_end(b->handle);
    give_memory(hooks, b);
    free(b);
}

void tutti_buffers_remove(tutti_buffers *buffers, tutti_insert_handle handle)
{
    tutti_registered **at = &buffers->first;
    while ((*at)->handle != handle) at = &(*at)->next;
    tutti_registered *b = *at;
    *at = b->next;
    end_buffer(&buffers->hooks, b);
}

void tutti_buffers_close(tutti_buffers *buffers)
{
    for (tutti_registered *b = buffers->first, *next; b; b = next) {
        next = b->next;
        if (tutti_handle_can_end())
            end_buffer(&buffers->hooks, b);
        else
            free(b);
    }
    buffers->first = NULL;
}
