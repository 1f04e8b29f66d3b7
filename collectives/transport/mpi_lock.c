#include "collectives/transport/mpi_lock.h"

#include "dag/base/clock.h"

#include <sched.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* also protects: */
static int ends;

pthread_mutex_t *tutti_mpi_lock(void)
{
    return &lock;
}

void tutti_mpi_ends(void)
{
    pthread_mutex_lock(&lock);
    ends = 1;
    pthread_mutex_unlock(&lock);
}

int tutti_mpi_await(MPI_Request *request)
{
    enum { YIELDS = 20 };
    static const double sleep_s = 100e-6;
    int done = 0, code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    for (int idle = 0; code == MPI_SUCCESS && !done; idle++) {
        pthread_mutex_unlock(&lock);
        if (idle < YIELDS)
            sched_yield();
        else
            tutti_clock_sleep(sleep_s);
        pthread_mutex_lock(&lock);
        if (ends) {
            pthread_mutex_unlock(&lock);
            for (;;) pause();
        }
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    return code;
}
