#include "dag/kernels/workspace.h"

#include "dag/base/log.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGN = 16, COUNTER_BYTES = TUTTI_WORKSPACE_COUNTERS * sizeof(uint32_t) };

static _Thread_local struct {
    int on; /* between begin and end */
    size_t most;
    tutti_workspace *workspace; /* NULL until a kernel asks */
} shared;

void tutti_workspace_begin(size_t most)
{
    shared.on = 1;
    shared.most = most;
    shared.workspace = NULL;
}

size_t tutti_workspace_end(void)
{
    const size_t asked = shared.workspace ? shared.workspace->bytes : 0;
    tutti_workspace_leave(shared.workspace);
    shared.on = 0;
    shared.workspace = NULL;
    return asked ? asked + COUNTER_BYTES : 0;
}

/* Nothing runs: what is in it is not missed. */
static tutti_status grow(
    const char *op, size_t bytes, const tutti_workspace_source *source, tutti_workspace *workspace)
{
    const size_t aligned = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    workspace->give(workspace->memory);
    workspace->memory = NULL;
    workspace->counter = NULL;
    workspace->bytes = aligned;
    if (shared.on && aligned + COUNTER_BYTES > shared.most) return TUTTI_OK;
    tutti_status status =
        source->take(op, aligned + COUNTER_BYTES, COUNTER_BYTES, &workspace->memory);
    if (!status) workspace->counter = (uint32_t *)((char *)workspace->memory + aligned);
    return status;
}

/* A new one, or the one that is shared. */
static tutti_workspace *find(const tutti_workspace_source *source)
{
    if (shared.workspace) return shared.workspace;
    tutti_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace) return NULL;
    workspace->give = source->give;
    if (shared.on) {
        workspace->users++; /* until end */
        shared.workspace = workspace;
    }
    return workspace;
}

tutti_status tutti_workspace_join(
    const char *op, size_t bytes, const tutti_workspace_source *source, tutti_workspace **workspace)
{
    tutti_workspace *s = find(source);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", op);
    s->users++;
    const tutti_status status = tutti_workspace_reserve(op, bytes, source, s);
    if (status)
        tutti_workspace_leave(s);
    else
        *workspace = s;
    return status;
}

tutti_status tutti_workspace_reserve(
    const char *op, size_t bytes, const tutti_workspace_source *source, tutti_workspace *workspace)
{
    return bytes > workspace->bytes ? grow(op, bytes, source, workspace) : TUTTI_OK;
}

void tutti_workspace_leave(tutti_workspace *workspace)
{
    if (!workspace || --workspace->users) return;
    for (int l = 0; l < TUTTI_WORKSPACE_LIBRARIES; l++)
        if (workspace->library[l].handle) workspace->library[l].close(workspace->library[l].handle);
    workspace->give(workspace->memory);
    free(workspace);
}
