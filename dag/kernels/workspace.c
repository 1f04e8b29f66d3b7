#include "dag/kernels/workspace.h"

#include "dag/base/log.h"

#include <stdint.h>
#include <stdlib.h>

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
    const size_t bytes = shared.workspace ? shared.workspace->bytes : 0;
    tutti_workspace_leave(shared.workspace);
    shared.on = 0;
    shared.workspace = NULL;
    return bytes;
}

/* Nothing runs: what is in it is not missed. */
static tutti_status grow(
    const char *op, size_t bytes, const tutti_workspace_source *source, tutti_workspace *workspace)
{
    workspace->give(workspace->memory);
    workspace->memory = NULL;
    workspace->bytes = bytes;
    if (shared.on && bytes > shared.most) return TUTTI_OK;
    return source->take(op, bytes, &workspace->memory);
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
    tutti_status status = bytes > s->bytes ? grow(op, bytes, source, s) : TUTTI_OK;
    if (status)
        tutti_workspace_leave(s);
    else
        *workspace = s;
    return status;
}

void tutti_workspace_leave(tutti_workspace *workspace)
{
    if (!workspace || --workspace->users) return;
    workspace->give(workspace->memory);
    free(workspace);
}
