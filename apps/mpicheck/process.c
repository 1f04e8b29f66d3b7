#include "apps/mpicheck/process.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static mpicheck_process self;

/* The rest of the process's state: what only this file needs. */
static struct {
    _Atomic bool active;
    atomic_flag ending;
    /* Never carries a message. Probing MPI_COMM_SELF instead makes no progress for other ranks in MPICH. */
    MPI_Comm quiet;
    int socket;
    mpicheck_threads others; /* threads that MPI or the tool has started */
    pthread_mutex_t line;    /* protects socket (writing) and frame; the innermost lock */
    mpicheck_frame frame;
} own = {.ending = ATOMIC_FLAG_INIT, .socket = -1, .line = PTHREAD_MUTEX_INITIALIZER};

mpicheck_process *mpicheck_process_self(void)
{
    return &self;
}

bool mpicheck_process_active(void)
{
    return own.active;
}

void mpicheck_process_connected(int socket)
{
    own.socket = socket;
}

void mpicheck_process_on(const mpicheck_threads *others)
{
    own.others = *others;
    PMPI_Comm_dup(MPI_COMM_WORLD, &own.quiet);
    own.active = true;
}

void mpicheck_process_off(bool orderly)
{
    own.active = false;
    if (orderly) PMPI_Comm_free(&own.quiet);
}

mpicheck_frame *mpicheck_process_open(mpicheck_frame_kind kind)
{
    pthread_mutex_lock(&own.line);
    mpicheck_frame_begin(&own.frame, kind);
    return &own.frame;
}

void mpicheck_process_post(void)
{
    /* When the judge is gone, the listener sees the end of the stream and ends the process. */
    (void)mpicheck_frame_send(&own.frame, own.socket);
    pthread_mutex_unlock(&own.line);
}

int mpicheck_process_progress(void)
{
    int flag;
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own.quiet, &flag, MPI_STATUS_IGNORE);
}

int mpicheck_process_awake(void)
{
    return mpicheck_threads_awake(&own.others);
}

void mpicheck_process_obey(void)
{
    int status = self.aborting;
    if (status == 0) return;
    /* One thread ends the process and does not return; MPI_Abort is for one thread at a time. */
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

void mpicheck_process_await_verdict(void)
{
    for (int i = 0; i < 30; i++) {
        mpicheck_process_obey();
        usleep(100000);
    }
    self.aborting = MPICHECK_STATUS;
    mpicheck_process_obey();
    _exit(MPICHECK_STATUS);
}
