#include "apps/mpicheck/start.h"

#include "apps/mpicheck/channel.h"
#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/judge.h"
#include "apps/mpicheck/lookup.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/wait.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    int socket;
    pid_t pid;
    mpicheck_judge *judge; /* rank 0 */
    pthread_t listener;
    bool started; /* MPI_Init was called through this library */
} own = {.socket = -1};

/* Handles a frame from the judge. */
static void heard(mpicheck_frame *frame)
{
    mpicheck_process *self = mpicheck_process_self();
    switch (mpicheck_frame_kind_of(frame)) {
    case MPICHECK_FRAME_GO: {
        uint64_t comm = (uint64_t)mpicheck_frame_get(frame);
        mpicheck_comm_grant(comm, (uint64_t)mpicheck_frame_get(frame));
        break;
    }
    case MPICHECK_FRAME_PROBE:
        self->probe = mpicheck_frame_get(frame);
        break;
    case MPICHECK_FRAME_END:
        self->status = (int)mpicheck_frame_get(frame);
        self->ended = 1;
        break;
    case MPICHECK_FRAME_ABORT:
        self->aborting = (int)mpicheck_frame_get(frame);
        break;
    default:
        break;
    }
}

/* Listens to the judge. A program that computes does not check `aborting`: the listener ends it. */
static void *listen_to_judge(void *unused)
{
    const mpicheck_process *self = mpicheck_process_self();
    (void)unused;
    mpicheck_frame input = {0}, frame;
    while (mpicheck_frame_receive(&input, own.socket)) {
        while (mpicheck_frame_take(&input, &frame)) heard(&frame);
        mpicheck_frame_drop(&input);
        if (input.bad) break;
        if (self->aborting != 0) {
            sleep(1);
            _exit(self->aborting);
        }
    }
    mpicheck_frame_free(&input);
    if (!self->ended && mpicheck_process_active()) {
        /* Rank 0 has died. Normally the launcher ends the others; without a judge they cannot be checked. */
        sleep(5);
        if (mpicheck_process_active()) _exit(MPICHECK_STATUS);
    }
    return NULL;
}

/* Starts a thread with all signals blocked: they are for the program. */
static int start_thread(pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Whether all ranks are in one place. MPI compares host names, which two hosts may share. */
static bool all_local(void)
{
    uint64_t place = mpicheck_channel_place(), ends[2] = {place, ~place}, least[2] = {0};
    PMPI_Allreduce(ends, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return least[0] == ~least[1];
}

static bool connect_all(void)
{
    const mpicheck_process *self = mpicheck_process_self();
    mpicheck_card card = {0};
    bool local = all_local();
    if (self->rank == 0) {
        int listener = mpicheck_channel_listen(&card, local);
        if (listener >= 0) own.judge = mpicheck_judge_start(listener, &card, self->size);
    }
    PMPI_Bcast(&card, sizeof(card), MPI_BYTE, 0, MPI_COMM_WORLD);
    own.socket = card.port == 0 ? -1 : mpicheck_channel_connect(&card, self->rank);
    mpicheck_process_connected(own.socket);
    int mine = own.socket >= 0, all = 0;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) return true;
    /* The judge ends first, so that it takes no rank for dead. */
    mpicheck_judge_quit(own.judge);
    own.judge = NULL;
    PMPI_Barrier(MPI_COMM_WORLD);
    if (own.socket >= 0) close(own.socket);
    own.socket = -1;
    mpicheck_process_connected(-1);
    return false;
}

/* Whether a library is loaded through which Fortran calls bypass this one: Open MPI's calls the PMPI functions. */
static int is_unseen(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    if (strstr(object->dlpi_name, "/libmpi_mpifh")) *(int *)found = 1;
    return 0;
}

static int calls_unseen(void)
{
    int found = 0;
    dl_iterate_phdr(is_unseen, &found);
    return found;
}

static struct {
    pid_t pid;
    bool told; /* that nothing is checked */
} loaded;

/* The rank that is 0 says it. The launcher has told the process its rank; MPI may be gone, or not there yet. */
static void nothing_checked(const char *why)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (!rank || strcmp(rank, "0") == 0)
        fprintf(stderr, "tutti-mpicheck: %s; nothing is checked\n", why);
    loaded.told = true;
}

/* When the library is loaded. A program whose calls pass by it never reaches its MPI_Init, so that is said now. */
__attribute__((constructor)) static void enter(void)
{
    loaded.pid = getpid();
    mpicheck_lookup_redirect();
    if (calls_unseen() && getenv("OMPI_COMM_WORLD_RANK"))
        nothing_checked("the program calls MPI from Fortran, which the library cannot see with "
                        "this MPI");
    else if (mpicheck_lookup_is_inside())
        nothing_checked("the program contains MPI's functions itself, so that the library cannot "
                        "see its calls");
}

/* When the process ends: MPI may have been started without this library's MPI_Init all the same. */
static void warn_of_bypass(void)
{
    int initialized = 0;
    if (loaded.told || own.started || getpid() != loaded.pid) return;
    PMPI_Initialized(&initialized);
    if (initialized)
        nothing_checked("the program started MPI in a way that the library cannot see");
}

static bool setting(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* A value that is not a number of seconds ends the program: nobody would notice a wrong limit. */
static double seconds(const char *name, double otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (!text) return otherwise;
    double value = strtod(text, &end);
    int plain = *text && !text[strspn(text, "0123456789.eE+-")];
    if (plain && !*end && value >= 0 && value <= 1e6) return value;
    fprintf(stderr, "tutti-mpicheck: %s='%s': must be seconds from 0 to 1000000, 0 for never\n",
        name, text);
    _exit(MPICHECK_STATUS);
}

void mpicheck_process_start(const mpicheck_threads *before)
{
    mpicheck_process *self = mpicheck_process_self();
    mpicheck_threads after;
    own.started = true;
    int level = MPI_THREAD_SINGLE, mine = calls_unseen(), unseen = 0;
    /* Seeing half of a program's calls is worse than seeing none: all ranks leave it unchecked. */
    PMPI_Allreduce(&mine, &unseen, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (unseen) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &self->size);
    PMPI_Query_thread(&level);
    self->threads = level == MPI_THREAD_MULTIPLE;
    self->buffered = setting("TUTTI_MPICHECK_BUFFERING");
    self->verbose = setting("TUTTI_MPICHECK_VERBOSE");
    self->leaks = setting("TUTTI_MPICHECK_LEAKS");
    self->timeout_s = seconds("TUTTI_MPICHECK_TIMEOUT", 15);
    own.pid = getpid();
    if (!connect_all()) {
        if (self->rank == 0)
            fprintf(
                stderr, "tutti-mpicheck: the ranks cannot reach each other; nothing is checked\n");
        return;
    }
    if (start_thread(&own.listener, listen_to_judge) != 0) _exit(MPICHECK_STATUS);
    after = mpicheck_threads_now();
    const mpicheck_threads others = mpicheck_threads_new(&after, before);
    mpicheck_process_on(&others);
    mpicheck_comm_start();
}

void mpicheck_process_stop(void)
{
    const mpicheck_process *self = mpicheck_process_self();
    mpicheck_wait wait =
        mpicheck_wait_for((mpicheck_item){.kind = MPICHECK_ITEM_FINALIZE, .peer = -1});
    while (!self->ended) mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    mpicheck_process_off(true);
    shutdown(own.socket, SHUT_RDWR);
    pthread_join(own.listener, NULL);
    if (own.judge) mpicheck_judge_join(own.judge);
    close(own.socket);
    own.socket = -1;
    mpicheck_process_connected(-1);
}

/* At process exit: reports a missing MPI_Finalize, and sets the exit status if the program has an
 * error. */
__attribute__((destructor)) static void leave(void)
{
    const mpicheck_process *self = mpicheck_process_self();
    warn_of_bypass();
    if (getpid() != own.pid) return;
    if (mpicheck_process_active() && self->aborting == 0) {
        mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_LEAVE);
        mpicheck_frame_put(frame, 1);
        mpicheck_process_post();
        mpicheck_process_off(false);
        fflush(NULL);
        for (int i = 0; i < 20 && self->aborting == 0; i++) usleep(100000);
        _exit(MPICHECK_STATUS);
    }
    if (self->ended && self->status != 0) {
        fflush(NULL);
        _exit(self->status);
    }
}
