/* Windows and files: their collective calls. One-sided data transfers and positions in files are not checked. */
#include "apps/mpicheck/call.h"
#include "apps/mpicheck/collective.h"
#include "apps/mpicheck/table.h"

#define LIST(...) __VA_ARGS__

/* To the judge, a window or file is a separate communicator; frees the group. */
static void handle_made(const mpicheck_collective *call, uint64_t key, MPI_Group group)
{
    mpicheck_comm_made_of(key, group, mpicheck_comm_mix(call->on->id, call->sequence),
        mpicheck_call_name(), mpicheck_call_site());
    PMPI_Group_free(&group);
}

static mpicheck_collective on_handle(const char *kind, uint64_t key, bool blocking)
{
    mpicheck_collective call = {
        .kind = kind, .on = mpicheck_comm_at(key), .blocking = blocking, .comm = MPI_COMM_NULL};
    if (call.on) mpicheck_collective_begin(&call);
    return call;
}

/* ---- windows ---- */

static void window_made(int rc, const mpicheck_collective *call, MPI_Win win)
{
    MPI_Group group;
    if (rc != MPI_SUCCESS || !call->on) return;
    PMPI_Win_get_group(win, &group);
    handle_made(call, MPICHECK_KEY(win), group);
}

#define WINDOW(name, parameters, arguments)                                                        \
    int MPI_##name(parameters, MPI_Win *win)                                                       \
    {                                                                                              \
        MPICHECK_WRAP(name, (arguments, win));                                                     \
        mpicheck_collective call = {.kind = #name, .comm = comm, .blocking = true};                \
        mpicheck_collective_begin(&call);                                                          \
        int rc = PMPI_##name(arguments, win);                                                      \
        window_made(rc, &call, *win);                                                              \
        MPICHECK_RETURN(rc);                                                                       \
    }

WINDOW(Win_create, LIST(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm),
    LIST(base, size, unit, info, comm))
WINDOW(Win_create_dynamic, LIST(MPI_Info info, MPI_Comm comm), LIST(info, comm))
WINDOW(Win_allocate, LIST(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base),
    LIST(size, unit, info, comm, base))
WINDOW(Win_allocate_shared, LIST(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base),
    LIST(size, unit, info, comm, base))

int MPI_Win_fence(int assertion, MPI_Win win)
{
    MPICHECK_WRAP(Win_fence, (assertion, win));
    on_handle("Win_fence", MPICHECK_KEY(win), true);
    MPICHECK_RETURN(PMPI_Win_fence(assertion, win));
}

int MPI_Win_free(MPI_Win *win)
{
    MPICHECK_WRAP(Win_free, (win));
    on_handle("Win_free", MPICHECK_KEY(*win), true);
    mpicheck_comm_gone_at(MPICHECK_KEY(*win));
    MPICHECK_RETURN(PMPI_Win_free(win));
}

/* ---- files ---- */

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    MPICHECK_WRAP(File_open, (comm, name, mode, info, file));
    MPI_Group group;
    mpicheck_collective call = {.kind = "File_open", .comm = comm, .blocking = true};
    mpicheck_collective_begin(&call);
    int rc = PMPI_File_open(comm, name, mode, info, file);
    if (rc == MPI_SUCCESS && call.on && PMPI_File_get_group(*file, &group) == MPI_SUCCESS)
        handle_made(&call, MPICHECK_KEY(*file), group);
    MPICHECK_RETURN(rc);
}

int MPI_File_close(MPI_File *file)
{
    MPICHECK_WRAP(File_close, (file));
    on_handle("File_close", MPICHECK_KEY(*file), true);
    mpicheck_comm_gone_at(MPICHECK_KEY(*file));
    MPICHECK_RETURN(PMPI_File_close(file));
}

/* A collective call on a file. It blocks, except for the first half of a split one. */
#define ON_FILE(name, blocks, parameters, arguments)                                               \
    int MPI_##name(MPI_File file parameters)                                                       \
    {                                                                                              \
        MPICHECK_WRAP(name, (file arguments));                                                     \
        on_handle(#name, MPICHECK_KEY(file), blocks);                                              \
        MPICHECK_RETURN(PMPI_##name(file arguments));                                              \
    }

ON_FILE(File_set_size, true, LIST(, MPI_Offset size), LIST(, size))
ON_FILE(File_preallocate, true, LIST(, MPI_Offset size), LIST(, size))
ON_FILE(File_set_info, true, LIST(, MPI_Info info), LIST(, info))
ON_FILE(File_set_view, true,
    LIST(, MPI_Offset from, MPI_Datatype element, MPI_Datatype type, const char *representation,
        MPI_Info info),
    LIST(, from, element, type, representation, info))
ON_FILE(File_seek_shared, true, LIST(, MPI_Offset offset, int whence), LIST(, offset, whence))
ON_FILE(File_set_atomicity, true, LIST(, int flag), LIST(, flag))
ON_FILE(File_sync, true, , )

#define DATA LIST(data, int count, MPI_Datatype type)
ON_FILE(File_read_ordered, true, LIST(, void *DATA, MPI_Status *status),
    LIST(, data, count, type, status))
ON_FILE(File_write_ordered, true, LIST(, const void *DATA, MPI_Status *status),
    LIST(, data, count, type, status))

/* Begin and end of a split collective. */
#define SPLIT(name, parameters, arguments, what)                                                   \
    ON_FILE(name##_begin, false, LIST(parameters), LIST(arguments))                                \
    ON_FILE(name##_end, true, LIST(, what *data, MPI_Status *status), LIST(, data, status))

SPLIT(File_read_all, LIST(, void *DATA), LIST(, data, count, type), void)
SPLIT(File_write_all, LIST(, const void *DATA), LIST(, data, count, type), const void)
SPLIT(File_read_ordered, LIST(, void *DATA), LIST(, data, count, type), void)
SPLIT(File_write_ordered, LIST(, const void *DATA), LIST(, data, count, type), const void)
SPLIT(File_read_at_all, LIST(, MPI_Offset offset, void *DATA), LIST(, offset, data, count, type),
    void)
SPLIT(File_write_at_all, LIST(, MPI_Offset offset, const void *DATA),
    LIST(, offset, data, count, type), const void)

/* A blocking call and its nonblocking form. */
#define BOTH(name, iname, parameters, arguments)                                                   \
    ON_FILE(name, true, LIST(parameters, MPI_Status *status), LIST(arguments, status))             \
    int MPI_##iname(MPI_File file parameters, MPI_Request *request)                                \
    {                                                                                              \
        MPICHECK_WRAP(iname, (file arguments, request));                                           \
        mpicheck_collective call = on_handle(#name, MPICHECK_KEY(file), false);                    \
        int rc = PMPI_##iname(file arguments, request);                                            \
        mpicheck_collective_made(&call, rc, request);                                              \
        MPICHECK_RETURN(rc);                                                                       \
    }

BOTH(File_read_all, File_iread_all, LIST(, void *DATA), LIST(, data, count, type))
BOTH(File_write_all, File_iwrite_all, LIST(, const void *DATA), LIST(, data, count, type))
BOTH(File_read_at_all, File_iread_at_all, LIST(, MPI_Offset offset, void *DATA),
    LIST(, offset, data, count, type))
BOTH(File_write_at_all, File_iwrite_at_all, LIST(, MPI_Offset offset, const void *DATA),
    LIST(, offset, data, count, type))
