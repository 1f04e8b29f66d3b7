#include "collectives/boot.h"

#include "collectives/transport/mpi.h"
#include "collectives/transport/mpi_lock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int levels[] = {
    [TUTTI_THREAD_SINGLE] = MPI_THREAD_SINGLE,
    [TUTTI_THREAD_FUNNELED] = MPI_THREAD_FUNNELED,
    [TUTTI_THREAD_SERIALIZED] = MPI_THREAD_SERIALIZED,
    [TUTTI_THREAD_MULTIPLE] = MPI_THREAD_MULTIPLE,
};

const char *tutti_thread_level_name(tutti_thread_level level)
{
    static const char *const names[] = {
        [TUTTI_THREAD_SINGLE] = "MPI_THREAD_SINGLE",
        [TUTTI_THREAD_FUNNELED] = "MPI_THREAD_FUNNELED",
        [TUTTI_THREAD_SERIALIZED] = "MPI_THREAD_SERIALIZED",
        [TUTTI_THREAD_MULTIPLE] = "MPI_THREAD_MULTIPLE",
    };
    return (unsigned)level <= TUTTI_THREAD_MULTIPLE ? names[level] : "unknown";
}

/* The highest level not above MPI's number. */
static tutti_thread_level level_of(int mpi_level)
{
    tutti_thread_level level = TUTTI_THREAD_SINGLE;
    for (int i = TUTTI_THREAD_SINGLE; i <= (int)TUTTI_THREAD_MULTIPLE; i++)
        if (levels[i] <= mpi_level) level = (tutti_thread_level)i;
    return level;
}

/* Open MPI 4 crashes where HOME is not set and the user has no name. */
static void set_home(void)
{
    if (!getenv("HOME") && !getpwuid(getuid())) setenv("HOME", "/", 0);
}

/* Starts MPI unless it is running, and records the granted level. */
static tutti_status start_mpi(tutti_thread_level needed, tutti_boot *boot)
{
    int running = 0, ended = 0, granted = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&ended);
    if (ended)
        return tutti_fail(
            TUTTI_ERR_UNSUPPORTED, "MPI has been finalised in this program and cannot start again");
    if (!running) set_home();
    int code = running ? MPI_Query_thread(&granted)
                       : MPI_Init_thread(NULL, NULL, levels[needed], &granted);
    if (code != MPI_SUCCESS)
        return tutti_mpi_fail(code, running ? "MPI_Query_thread" : "MPI_Init_thread");
    boot->initialised_here = !running;
    boot->granted = level_of(granted);
    return TUTTI_OK;
}

static tutti_status check_level(tutti_thread_level needed, const tutti_boot *boot)
{
    int main_thread = 1;
    if (boot->granted < needed)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "MPI grants %s where %s is needed: %s",
            tutti_thread_level_name(boot->granted), tutti_thread_level_name(needed),
            boot->initialised_here
                ? "choose a design that needs less, or an MPI built with thread support"
                : "the program should initialise MPI with MPI_Init_thread and that level");
    MPI_Is_thread_main(&main_thread);
    if (boot->granted <= TUTTI_THREAD_FUNNELED && !main_thread)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "MPI grants %s, which lets only the thread that initialised it call it, and this is "
            "another "
            "thread: initialise MPI with MPI_THREAD_SERIALIZED",
            tutti_thread_level_name(boot->granted));
    return TUTTI_OK;
}

/* Duplicates with errors returned as codes: the default handler would end the process. The caller
 * holds tutti_mpi_lock. */
static int copy_comm(MPI_Comm from, MPI_Comm *comm)
{
    MPI_Errhandler before;
    MPI_Request request;
    int code = MPI_Comm_get_errhandler(from, &before);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_idup(from, comm, &request);
    if (code == MPI_SUCCESS) code = tutti_mpi_await(&request);
    MPI_Comm_set_errhandler(from, before);
    MPI_Errhandler_free(&before);
    return code;
}

/* Makes a private communicator, so that our messages never match others. The caller holds
 * tutti_mpi_lock. */
static tutti_status duplicate_comm(MPI_Comm from, tutti_boot *boot)
{
    MPI_Comm *comm = malloc(sizeof *comm);
    if (!comm) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a communicator");
    int code = copy_comm(from, comm);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(*comm, &boot->rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(*comm, &boot->size);
    if (code != MPI_SUCCESS) {
        free(comm);
        return tutti_mpi_fail(code, "duplicating the communicator");
    }
    boot->comm = comm;
    return TUTTI_OK;
}

/* Errors of a test or a wait on several requests are not raised on our communicators: MPI 4.0 (9.3)
 * raises them on MPI_COMM_SELF, MPICH 4.0 on MPI_COMM_WORLD, and both would end the process. */
static tutti_status return_errors(void)
{
    int code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    return code == MPI_SUCCESS ? TUTTI_OK : tutti_mpi_fail(code, "MPI_Comm_set_errhandler");
}

/* An attribute of MPI_COMM_SELF, which MPI_Finalize deletes first. */
typedef struct tutti_boot_end {
    void (*call)(void *ctx);
    void *ctx;
    int keyval;
    atomic_int called, over; /* MPI_Finalize has called it; tutti_boot_finalize has run */
} tutti_boot_end;

static int on_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    tutti_boot_end *end = value;
    (void)comm;
    (void)keyval;
    (void)extra;
    atomic_store(&end->called, 1);
    if (!atomic_load(&end->over)) {
        tutti_mpi_ends();
        end->call(end->ctx);
    }
    free(end);
    return MPI_SUCCESS;
}

/* tutti_mpi_lock is held. */
static tutti_status watch_finalize(tutti_boot *boot, void (*call)(void *ctx), void *ctx)
{
    tutti_boot_end *end = calloc(1, sizeof *end);
    if (!end) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to notice the end of MPI");
    end->call = call;
    end->ctx = ctx;
    int code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &end->keyval, NULL);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_attr(MPI_COMM_SELF, end->keyval, end);
    if (code == MPI_SUCCESS) {
        boot->end = end;
        return TUTTI_OK;
    }
    free(end);
    return tutti_mpi_fail(code, "MPI_Comm_set_attr");
}

/* Asks for one level and accepts `needed`. */
static tutti_status init_mpi(tutti_thread_level asked, tutti_thread_level needed,
    const tutti_boot_program *program, tutti_boot *boot)
{
    tutti_boot b = {.size = 1};
    int process = 0;
    tutti_status status = start_mpi(asked, &b);
    if (status) return status;
    pthread_mutex_lock(tutti_mpi_lock());
    status = check_level(needed, &b);
    if (!status && b.initialised_here) status = return_errors();
    if (!status && program && program->on_end)
        status = watch_finalize(&b, program->on_end, program->ctx);
    const MPI_Comm *comm = program ? program->comm : NULL;
    if (!status) status = duplicate_comm(comm ? *comm : MPI_COMM_WORLD, &b);
    MPI_Comm_rank(MPI_COMM_WORLD, &process); /* however many communicators it opens */
    pthread_mutex_unlock(tutti_mpi_lock());
    if (status) {
        tutti_boot_finalize(&b);
        return status;
    }
    tutti_log_set_rank(process);
    *boot = b;
    return TUTTI_OK;
}

/* Checks that MPI is running and that the program's communicator can be used. */
static tutti_status check_attached(const MPI_Comm *comm)
{
    int running = 0, ended = 0, inter = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&ended);
    if (!running || ended)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "MPI %s: attach between MPI_Init_thread and MPI_Finalize",
            ended ? "has been finalised" : "is not initialised");
    if (MPI_Comm_test_inter(*comm, &inter) == MPI_SUCCESS && !inter) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "the communicator is an intercommunicator: pass an "
                                             "intracommunicator, whose ranks are one group");
}

tutti_status tutti_boot_attach(
    tutti_thread_level needed, const tutti_boot_program *program, tutti_boot *boot)
{
    if ((unsigned)needed > TUTTI_THREAD_MULTIPLE)
        return tutti_fail(TUTTI_ERR_INVAL, "unknown MPI thread level %d", (int)needed);
    tutti_status status = program->comm ? check_attached(program->comm) : TUTTI_OK;
    return status ? status : init_mpi(needed, needed, program, boot);
}

tutti_status tutti_boot_init(tutti_thread_level needed, const void *comm, tutti_boot *boot)
{
    return tutti_boot_attach(needed, &(tutti_boot_program){.comm = comm}, boot);
}

tutti_status tutti_boot_init_highest(tutti_boot *boot)
{
    return init_mpi(TUTTI_THREAD_MULTIPLE, TUTTI_THREAD_SINGLE, NULL, boot);
}

/* tutti_mpi_lock is held. */
static void unwatch_finalize(tutti_boot *boot, int ended)
{
    tutti_boot_end *end = boot->end;
    boot->end = NULL;
    if (!end || ended || atomic_load(&end->called)) return; /* MPI frees it */
    int keyval = end->keyval;
    atomic_store(&end->over, 1);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    MPI_Comm_free_keyval(&keyval);
}

void tutti_boot_finalize(tutti_boot *boot)
{
    int ended = 0;
    if (!boot) return;
    MPI_Finalized(&ended);
    pthread_mutex_lock(tutti_mpi_lock());
    unwatch_finalize(boot, ended);
    if (boot->comm && !ended) MPI_Comm_free(boot->comm);
    pthread_mutex_unlock(tutti_mpi_lock());
    free(boot->comm);
    boot->comm = NULL;
    if (boot->initialised_here && !ended) MPI_Finalize();
    boot->initialised_here = 0;
}

const char *tutti_boot_refuses_gpus(void)
{
    int takes = 0;
    pthread_mutex_lock(tutti_mpi_lock());
#if defined OMPI_HAVE_MPI_EXT_CUDA && OMPI_HAVE_MPI_EXT_CUDA
    takes = MPIX_Query_cuda_support();
#elif defined MPIX_GPU_SUPPORT_CUDA
    if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes) != MPI_SUCCESS) takes = 0;
#endif
    pthread_mutex_unlock(tutti_mpi_lock());
    return takes ? NULL : "MPI does not report support for GPU memory (CUDA-aware)";
}

tutti_status tutti_boot_probe(tutti_thread_level *highest, const char **refuses_gpus)
{
    tutti_boot boot = {0};
    tutti_status status = start_mpi(TUTTI_THREAD_MULTIPLE, &boot);
    if (status) return status;
    *highest = boot.granted;
    *refuses_gpus = tutti_boot_refuses_gpus();
    tutti_boot_finalize(&boot);
    return TUTTI_OK;
}

/* The largest value of any rank. In this and the next function the caller holds tutti_mpi_lock. */
static int reduce_max(MPI_Comm comm, int *value)
{
    MPI_Request request;
    int code = MPI_Iallreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_MAX, comm, &request);
    return code == MPI_SUCCESS ? tutti_mpi_await(&request) : code;
}

/* Broadcasts rank 0's data. */
static int broadcast_from_zero(MPI_Comm comm, void *data, int count, MPI_Datatype type)
{
    MPI_Request request;
    int code = MPI_Ibcast(data, count, type, 0, comm, &request);
    return code == MPI_SUCCESS ? tutti_mpi_await(&request) : code;
}

static tutti_status compare_texts(const tutti_boot *boot, const char *mine)
{
    MPI_Comm comm = *(const MPI_Comm *)boot->comm;
    int length = (int)strlen(mine);
    int code = broadcast_from_zero(comm, &length, 1, MPI_INT);
    if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "comparing the ranks");
    char *text = calloc(1, (size_t)length + 1);
    int short_of_memory = !text, differs = 0;
    code = reduce_max(comm, &short_of_memory);
    if (code == MPI_SUCCESS && !short_of_memory) {
        if (boot->rank == 0) memcpy(text, mine, (size_t)length);
        code = broadcast_from_zero(comm, text, length, MPI_CHAR);
        differs = strcmp(text, mine) != 0;
        /* Said before the others know of it: a launcher may end this rank once one of them has failed. */
        tutti_conf_difference d;
        if (code == MPI_SUCCESS && differs && tutti_conf_compare(text, mine, &d))
            tutti_fail(TUTTI_ERR_USAGE,
                "the ranks were started with different options: %s is \"%s\" on rank 0 and \"%s\" on "
                "rank %d",
                d.name, d.a, d.b, boot->rank);
        if (code == MPI_SUCCESS) code = reduce_max(comm, &differs);
    }
    if (code != MPI_SUCCESS || short_of_memory) {
        free(text);
        if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "comparing the ranks");
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a text of %d characters", length);
    }
    free(text);
    return differs ? TUTTI_ERR_USAGE : TUTTI_OK;
}

tutti_status tutti_boot_compare(const tutti_boot *boot, const char *settings)
{
    pthread_mutex_lock(tutti_mpi_lock());
    tutti_status status = compare_texts(boot, settings);
    pthread_mutex_unlock(tutti_mpi_lock());
    return status;
}

tutti_status tutti_boot_agree(const tutti_boot *boot, tutti_status mine)
{
    int worst = mine;
    pthread_mutex_lock(tutti_mpi_lock());
    int code = reduce_max(*(const MPI_Comm *)boot->comm, &worst);
    pthread_mutex_unlock(tutti_mpi_lock());
    return code == MPI_SUCCESS ? (tutti_status)worst : tutti_mpi_fail(code, "comparing the ranks");
}

static tutti_status split_comm(const tutti_boot *boot, int colour, tutti_boot *part)
{
    tutti_boot p = {.granted = boot->granted};
    MPI_Comm *comm = malloc(sizeof *comm);
    if (!comm) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a communicator");
    int code = MPI_Comm_split(*(const MPI_Comm *)boot->comm, colour, boot->rank, comm);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(*comm, &p.rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(*comm, &p.size);
    if (code != MPI_SUCCESS) {
        free(comm);
        return tutti_mpi_fail(code, "MPI_Comm_split");
    }
    p.comm = comm;
    *part = p;
    return TUTTI_OK;
}

tutti_status tutti_boot_split(const tutti_boot *boot, int colour, tutti_boot *part)
{
    pthread_mutex_lock(tutti_mpi_lock());
    tutti_status status = split_comm(boot, colour, part);
    pthread_mutex_unlock(tutti_mpi_lock());
    return status;
}

tutti_status tutti_boot_sum(const tutti_boot *boot, float *x, int64_t count)
{
    pthread_mutex_lock(tutti_mpi_lock());
    int code = MPI_Allreduce(
        MPI_IN_PLACE, x, (int)count, MPI_FLOAT, MPI_SUM, *(const MPI_Comm *)boot->comm);
    pthread_mutex_unlock(tutti_mpi_lock());
    return code == MPI_SUCCESS ? TUTTI_OK : tutti_mpi_fail(code, "MPI_Allreduce");
}

static tutti_status gather_host(
    const tutti_boot *boot, const void *mine, size_t bytes, void **all, int *ranks, int *rank)
{
    MPI_Comm host;
    char *gathered = NULL;
    int code = MPI_Comm_split_type(
        *(const MPI_Comm *)boot->comm, MPI_COMM_TYPE_SHARED, boot->rank, MPI_INFO_NULL, &host);
    if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "MPI_Comm_split_type");
    code = MPI_Comm_rank(host, rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(host, ranks);
    int short_of_memory = code != MPI_SUCCESS || !(gathered = malloc((size_t)*ranks * bytes));
    if (code == MPI_SUCCESS) code = reduce_max(host, &short_of_memory);
    if (code == MPI_SUCCESS && !short_of_memory)
        code = MPI_Allgather(mine, (int)bytes, MPI_BYTE, gathered, (int)bytes, MPI_BYTE, host);
    MPI_Comm_free(&host);
    if (code == MPI_SUCCESS && !short_of_memory) {
        *all = gathered;
        return TUTTI_OK;
    }
    free(gathered);
    if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "gathering from the ranks of this host");
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks of this host", *ranks);
}

tutti_status tutti_boot_gather_host(
    const tutti_boot *boot, const void *mine, size_t bytes, void **all, int *ranks, int *rank)
{
    pthread_mutex_lock(tutti_mpi_lock());
    tutti_status status = gather_host(boot, mine, bytes, all, ranks, rank);
    pthread_mutex_unlock(tutti_mpi_lock());
    return status;
}

enum { MOST_SECONDS_OF_ABORT = 2 };

_Noreturn void tutti_boot_abort(int exit_code)
{
    int running = 0, ended = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&ended);
    signal(SIGALRM, SIG_DFL);
    alarm(MOST_SECONDS_OF_ABORT); /* another thread may hold what MPI_Abort needs */
    tutti_log_resolve(TUTTI_LOG_ERROR);
    if (running && !ended) MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
}

_Noreturn void tutti_boot_quit(int exit_code)
{
    tutti_log_resolve(TUTTI_LOG_ERROR);
    _exit(exit_code);
}

static char version[MPI_MAX_LIBRARY_VERSION_STRING];

/* Keeps only the first line: some MPIs append how they were configured. */
static void read_version(void)
{
    int length = 0;
    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) strcpy(version, "unknown MPI");
    version[strcspn(version, "\n")] = '\0';
}

const char *tutti_boot_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_version);
    return version;
}
