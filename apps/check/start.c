#include "apps/check/start.h"

#include "apps/check/channel.h"
#include "apps/check/comms.h"
#include "apps/check/judge.h"
#include "apps/check/process.h"
#include "apps/check/wait.h"

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
    tutti_judge *judge; /* rank 0 */
    pthread_t ear;
} own = {.socket = -1};

/* What the judge says to this rank. */
static void heard(tutti_frame *frame)
{
    tutti_process *self = tutti_process_self();
    switch (tutti_frame_kind_of(frame)) {
    case TUTTI_FRAME_GO: {
        uint64_t comm = (uint64_t)tutti_frame_get(frame);
        tutti_comm_grant(comm, (uint64_t)tutti_frame_get(frame));
        break;
    }
    case TUTTI_FRAME_PROBE:
        self->probe = tutti_frame_get(frame);
        break;
    case TUTTI_FRAME_END:
        self->status = (int)tutti_frame_get(frame);
        self->ended = 1;
        break;
    case TUTTI_FRAME_ABORT:
        self->aborting = (int)tutti_frame_get(frame);
        break;
    default:
        break;
    }
}

/* Listens to the judge. A program that computes does not look at `aborting`: the ear ends it. */
static void *ear(void *unused)
{
    const tutti_process *self = tutti_process_self();
    (void)unused;
    tutti_frame input = {0}, frame;
    while (tutti_frame_receive(&input, own.socket)) {
        while (tutti_frame_take(&input, &frame)) heard(&frame);
        tutti_frame_drop(&input);
        if (input.bad) break;
        if (self->aborting != 0) {
            sleep(1);
            _exit(self->aborting);
        }
    }
    tutti_frame_free(&input);
    if (!self->ended && tutti_process_active()) {
        /* Rank 0 has died; the launcher ends the others, and if it does not, nobody can check them. */
        sleep(5);
        if (tutti_process_active()) _exit(TUTTI_CHECK_STATUS);
    }
    return NULL;
}

/* Starts a thread that takes none of the program's signals. */
static int start_thread(pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Whether all ranks are in one place. Two hosts may have one name; MPI goes by that. */
static bool all_local(void)
{
    uint64_t place = tutti_channel_place(), ends[2] = {place, ~place}, least[2] = {0};
    PMPI_Allreduce(ends, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return least[0] == ~least[1];
}

static bool connect_all(void)
{
    const tutti_process *self = tutti_process_self();
    tutti_card card = {0};
    bool local = all_local();
    if (self->rank == 0) {
        int listener = tutti_channel_listen(&card, local);
        if (listener >= 0) own.judge = tutti_judge_start(listener, &card, self->size);
    }
    PMPI_Bcast(&card, sizeof(card), MPI_BYTE, 0, MPI_COMM_WORLD);
    own.socket = card.port == 0 ? -1 : tutti_channel_connect(&card, self->rank);
    tutti_process_connected(own.socket);
    int mine = own.socket >= 0, all = 0;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) return true;
    /* The judge goes first, so that it takes nobody for dead. */
    tutti_judge_quit(own.judge);
    own.judge = NULL;
    PMPI_Barrier(MPI_COMM_WORLD);
    if (own.socket >= 0) close(own.socket);
    own.socket = -1;
    tutti_process_connected(-1);
    return false;
}

/* Whether a library is loaded through which Fortran calls MPI past this one: Open MPI's calls the PMPI functions. */
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

/* A Fortran program does not come to MPI_Init here, so this is said when it is loaded, by what is rank 0. */
__attribute__((constructor)) static void warn_of_fortran(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank && strcmp(rank, "0") == 0 && calls_unseen())
        fprintf(stderr, "tutti-check: the program calls MPI from Fortran, which cannot be seen "
                        "with this MPI; nothing is checked\n");
}

static bool setting(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* What is no number of seconds ends the program: nobody would notice another limit. */
static double seconds(const char *name, double otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (!text) return otherwise;
    double value = strtod(text, &end);
    int plain = *text && !text[strspn(text, "0123456789.eE+-")];
    if (plain && !*end && value >= 0 && value <= 1e6) return value;
    fprintf(stderr, "tutti-check: %s='%s': seconds from 0 to 1000000 are wanted, 0 for never\n", name,
        text);
    _exit(TUTTI_CHECK_STATUS);
}

void tutti_process_start(const tutti_threads *before)
{
    tutti_process *self = tutti_process_self();
    tutti_threads after;
    int level = MPI_THREAD_SINGLE, mine = calls_unseen(), unseen = 0;
    /* Half of a program's calls is worse than none: all ranks leave it alone. */
    PMPI_Allreduce(&mine, &unseen, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (unseen) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &self->size);
    PMPI_Query_thread(&level);
    self->threads = level == MPI_THREAD_MULTIPLE;
    self->buffered = setting("TUTTI_CHECK_BUFFERING");
    self->verbose = setting("TUTTI_CHECK_VERBOSE");
    self->leaks = setting("TUTTI_CHECK_LEAKS");
    self->timeout_s = seconds("TUTTI_CHECK_TIMEOUT", 15);
    own.pid = getpid();
    if (!connect_all()) {
        if (self->rank == 0)
            fprintf(stderr, "tutti-check: the ranks cannot reach each other; nothing is checked\n");
        return;
    }
    if (start_thread(&own.ear, ear) != 0) _exit(TUTTI_CHECK_STATUS);
    after = tutti_threads_now();
    const tutti_threads others = tutti_threads_new(&after, before);
    tutti_process_on(&others);
    tutti_comm_start();
}

void tutti_process_stop(void)
{
    const tutti_process *self = tutti_process_self();
    tutti_wait wait = tutti_wait_for((tutti_item){.kind = TUTTI_ITEM_FINALIZE, .peer = -1});
    while (!self->ended) tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    tutti_process_off(true);
    shutdown(own.socket, SHUT_RDWR);
    pthread_join(own.ear, NULL);
    if (own.judge) tutti_judge_join(own.judge);
    close(own.socket);
    own.socket = -1;
    tutti_process_connected(-1);
}

/* When the process ends: one that has not called MPI_Finalize says so, and one whose program has an
 * error does not end as if it had none. */
__attribute__((destructor)) static void leave(void)
{
    const tutti_process *self = tutti_process_self();
    if (getpid() != own.pid) return;
    if (tutti_process_active() && self->aborting == 0) {
        tutti_frame *frame = tutti_process_open(TUTTI_FRAME_LEAVE);
        tutti_frame_put(frame, 1);
        tutti_process_post();
        tutti_process_off(false);
        fflush(NULL);
        for (int i = 0; i < 20 && self->aborting == 0; i++) usleep(100000);
        _exit(TUTTI_CHECK_STATUS);
    }
    if (self->ended && self->status != 0) {
        fflush(NULL);
        _exit(self->status);
    }
}
