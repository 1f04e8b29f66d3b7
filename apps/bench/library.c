#include "apps/bench/library.h"

#include "collectives/transport/mpi_lock.h"
#include "dag/base/log.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of Open MPI's control variables. */
typedef struct variable {
    MPI_T_cvar_handle handle;
    MPI_T_enum words;
} variable;

void tutti_library_prepare(void)
{
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
}

/* Opens coll_tuned_KIND_WHAT; returns 0 if this MPI has none. The interface stays open until close_variable. */
static int open_variable(tutti_coll_kind kind, const char *what, variable *v)
{
    char wanted[64];
    int level, n = 0, of = 0;
    snprintf(wanted, sizeof wanted, "coll_tuned_%s_%s",
        kind == TUTTI_BROADCAST ? "bcast" : "reduce", what);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS) return 0;
    if (MPI_T_cvar_get_num(&n) != MPI_SUCCESS) n = 0;
    for (int i = 0; i < n; i++) {
        char name[64];
        int size = sizeof name, unused = 0, ignored;
        MPI_Datatype type;
        if (MPI_T_cvar_get_info(i, name, &size, &ignored, &type, &v->words, NULL, &unused, &ignored,
                &ignored) != MPI_SUCCESS ||
            strcmp(name, wanted) != 0 || type != MPI_INT)
            continue;
        if (MPI_T_cvar_handle_alloc(i, NULL, &v->handle, &of) == MPI_SUCCESS && of == 1) return 1;
    }
    MPI_T_finalize();
    return 0;
}

static void close_variable(variable *v)
{
    MPI_T_cvar_handle_free(&v->handle);
    MPI_T_finalize();
}

static int set_variable(tutti_coll_kind kind, const char *what, int value)
{
    variable v;
    if (!open_variable(kind, what, &v)) return 0;
    int done = MPI_T_cvar_write(v.handle, &value) == MPI_SUCCESS;
    close_variable(&v);
    return done;
}

/* Numbers 1 to this are algorithms. */
static int count_algorithms(tutti_coll_kind kind)
{
    variable v;
    int names = 0; /* with 0, which leaves it to MPI */
    if (!open_variable(kind, "algorithm_count", &v)) return 0;
    if (MPI_T_cvar_read(v.handle, &names) != MPI_SUCCESS) names = 0;
    close_variable(&v);
    return names > 0 ? names - 1 : 0;
}

static void name_way(tutti_coll_kind kind, int algorithm, int segment, char *name)
{
    char word[24] = "";
    variable v;
    snprintf(name, TUTTI_LIBRARY_NAME, "own choice");
    if (!algorithm) return;
    if (open_variable(kind, "algorithm", &v)) {
        int value, length = sizeof word, n = 0;
        if (v.words == MPI_T_ENUM_NULL ||
            MPI_T_enum_get_info(v.words, &n, NULL, &(int){0}) != MPI_SUCCESS || algorithm >= n ||
            MPI_T_enum_get_item(v.words, algorithm, &value, word, &length) != MPI_SUCCESS)
            word[0] = '\0';
        close_variable(&v);
    }
    snprintf(name, TUTTI_LIBRARY_NAME, "%d %.24s%s", algorithm, word, segment ? ", cut" : "");
}

static tutti_status report_failure(int code, const char *what)
{
    return tutti_fail(TUTTI_ERR_COMM, "%s failed: MPI error %d", what, code);
}

/* Variables count while a communicator is made; after that they are as before. */
static tutti_status dup_comm(
    const tutti_boot *boot, tutti_coll_kind kind, int algorithm, int segment, MPI_Comm *comm)
{
    if (algorithm && (!set_variable(kind, "algorithm", algorithm) ||
                         !set_variable(kind, "algorithm_segmentsize", segment)))
        return tutti_fail(TUTTI_ERR_COMM, "MPI's algorithm %d cannot be chosen", algorithm);
    int code = MPI_Comm_dup(*(const MPI_Comm *)boot->comm, comm);
    if (algorithm) {
        set_variable(kind, "algorithm", 0);
        set_variable(kind, "algorithm_segmentsize", 0);
    }
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    return code == MPI_SUCCESS ? TUTTI_OK : report_failure(code, "MPI_Comm_dup");
}

static tutti_status add_way(const tutti_boot *boot, tutti_coll_kind kind, int algorithm,
    int segment, tutti_library *library)
{
    tutti_library_way *way = &library->way[library->ways];
    MPI_Comm *comm = malloc(sizeof *comm);
    if (!comm) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a communicator");
    pthread_mutex_lock(tutti_mpi_lock());
    name_way(kind, algorithm, segment, way->name);
    tutti_status status = dup_comm(boot, kind, algorithm, segment, comm);
    pthread_mutex_unlock(tutti_mpi_lock());
    if (status) {
        free(comm);
        return status;
    }
    way->boot = (tutti_boot){
        .rank = boot->rank, .size = boot->size, .granted = boot->granted, .comm = comm};
    library->ways++;
    return TUTTI_OK;
}

tutti_status tutti_library_open(
    const tutti_boot *boot, tutti_coll_kind kind, tutti_library *library)
{
    enum {
        SEGMENT = 60 << 10,
        CUTS_FROM = 2,
        CUTS_TO = 5
    }; /* of both kinds: chain, pipeline, trees */
    library->ways = 0;
    pthread_mutex_lock(tutti_mpi_lock());
    int algorithms = count_algorithms(kind);
    pthread_mutex_unlock(tutti_mpi_lock());
    tutti_status status = TUTTI_OK;
    for (int a = 0; a <= algorithms && !status && library->ways < TUTTI_LIBRARY_MOST; a++)
        status = add_way(boot, kind, a, 0, library);
    for (int a = CUTS_FROM;
         a <= CUTS_TO && a <= algorithms && !status && library->ways < TUTTI_LIBRARY_MOST; a++)
        status = add_way(boot, kind, a, SEGMENT, library);
    return status;
}

void tutti_library_close(tutti_library *library)
{
    while (library->ways) tutti_boot_finalize(&library->way[--library->ways].boot);
}

tutti_status tutti_library_run(
    const tutti_library_way *way, tutti_coll_kind kind, float *x, int64_t count, int root)
{
    MPI_Comm comm = *(const MPI_Comm *)way->boot.comm;
    const int is_root = way->boot.rank == root;
    pthread_mutex_lock(tutti_mpi_lock());
    int code = kind == TUTTI_BROADCAST ? MPI_Bcast(x, (int)count, MPI_FLOAT, root, comm)
                                       : MPI_Reduce(is_root ? MPI_IN_PLACE : x, is_root ? x : NULL,
                                             (int)count, MPI_FLOAT, MPI_SUM, root, comm);
    pthread_mutex_unlock(tutti_mpi_lock());
    return code == MPI_SUCCESS
               ? TUTTI_OK
               : report_failure(code, kind == TUTTI_BROADCAST ? "MPI_Bcast" : "MPI_Reduce");
}
