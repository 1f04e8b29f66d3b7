/* Windows and files: their collective calls. What one-sided communication moves is not looked at. */
#include "apps/check/call.h"
#include "apps/check/collective.h"
#include "apps/check/table.h"

#define LIST(...) __VA_ARGS__

static void window_made(int rc, const tutti_collective *call, MPI_Win win)
{
    MPI_Group group;
    if (rc != MPI_SUCCESS || !call->on) return;
    PMPI_Win_get_group(win, &group);
    tutti_comm_made_of(TUTTI_KEY(win), group, tutti_comm_mix(call->on->id, call->sequence),
        tutti_call_name(), tutti_call_site());
    PMPI_Group_free(&group);
}

#define WINDOW(name, parameters, arguments)                                                        \
    int MPI_##name(parameters, MPI_Win *win)                                                       \
    {                                                                                              \
        TUTTI_WRAP(name, (arguments, win));                                                        \
        tutti_collective call = {.kind = #name, .comm = comm, .blocking = true};                   \
        tutti_collective_begin(&call);                                                             \
        int rc = PMPI_##name(arguments, win);                                                      \
        window_made(rc, &call, *win);                                                              \
        TUTTI_RETURN(rc);                                                                          \
    }

WINDOW(Win_create, LIST(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm),
    LIST(base, size, unit, info, comm))
WINDOW(Win_create_dynamic, LIST(MPI_Info info, MPI_Comm comm), LIST(info, comm))
WINDOW(Win_allocate, LIST(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base),
    LIST(size, unit, info, comm, base))
WINDOW(Win_allocate_shared, LIST(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base),
    LIST(size, unit, info, comm, base))

static void on_window(const char *kind, MPI_Win win)
{
    tutti_collective call = {
        .kind = kind, .on = tutti_comm_at(TUTTI_KEY(win)), .blocking = true, .comm = MPI_COMM_NULL};
    if (call.on) tutti_collective_begin(&call);
}

int MPI_Win_fence(int assertion, MPI_Win win)
{
    TUTTI_WRAP(Win_fence, (assertion, win));
    on_window("Win_fence", win);
    TUTTI_RETURN(PMPI_Win_fence(assertion, win));
}

int MPI_Win_free(MPI_Win *win)
{
    TUTTI_WRAP(Win_free, (win));
    on_window("Win_free", *win);
    tutti_comm_gone_at(TUTTI_KEY(*win));
    TUTTI_RETURN(PMPI_Win_free(win));
}

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    TUTTI_WRAP(File_open, (comm, name, mode, info, file));
    tutti_collective call = {.kind = "File_open", .comm = comm, .blocking = true};
    tutti_collective_begin(&call);
    TUTTI_RETURN(PMPI_File_open(comm, name, mode, info, file));
}
