#include "apps/check/process.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static tutti_process self;

/* The rest of the process's state: what only this file needs. */
static struct {
    _Atomic bool active;
    atomic_flag ending;
    MPI_Comm
        quiet; /* where no message ever comes. On MPI_COMM_SELF MPICH does nothing for other ranks */
    int socket;
    tutti_threads others; /* threads that MPI or the tool has started */
    pthread_mutex_t line; /* protects socket (writing) and frame; the innermost lock */
    tutti_frame frame;
} own = {.ending = ATOMIC_FLAG_INIT, .socket = -1, .line = PTHREAD_MUTEX_INITIALIZER};

tutti_process *tutti_process_self(void)
{
    return &self;
}

bool tutti_process_active(void)
{
    return own.active;
}

void tutti_process_connected(int socket)
{
    own.socket = socket;
}

void tutti_process_on(const tutti_threads *others)
{
    own.others = *others;
    PMPI_Comm_dup(MPI_COMM_WORLD, &own.quiet);
    own.active = true;
}

void tutti_process_off(bool orderly)
{
    own.active = false;
    if (orderly) PMPI_Comm_free(&own.quiet);
}

tutti_frame *tutti_process_open(tutti_frame_kind kind)
{
    pthread_mutex_lock(&own.line);
    tutti_frame_begin(&own.frame, kind);
    return &own.frame;
}

void tutti_process_post(void)
{
    /* When the judge is gone, the ear sees the end of the stream and ends the process. */
    (void)tutti_frame_send(&own.frame, own.socket);
    pthread_mutex_unlock(&own.line);
}

int tutti_process_progress(void)
{
    int flag;
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own.quiet, &flag, MPI_STATUS_IGNORE);
}

int tutti_process_threads(void)
{
    return self.threads ? tutti_threads_awake(&own.others) : 1;
}

void tutti_process_obey(void)
{
    int status = self.aborting;
    if (status == 0) return;
    /* One thread ends the process, and it does not come back; MPI_Abort is for one at a time. */
    if (atomic_flag_test_and_set(&own.ending)) {
        sleep(5);
        _exit(status);
    }
    fflush(NULL);
    usleep(50000); /* the other ranks flush, too */
    own.active = false;
    PMPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

void tutti_process_await_verdict(void)
{
    for (int i = 0; i < 30; i++) {
        tutti_process_obey();
        usleep(100000);
    }
    self.aborting = TUTTI_CHECK_STATUS;
    tutti_process_obey();
    _exit(TUTTI_CHECK_STATUS);
}
