#include "designs/thread/mpi_thread.h"

#include "dag/base/log.h"
#include "dag/run/latch.h"
#include "designs/thread/deadline.h"

#include <stdlib.h>

struct tutti_mpi_thread {
    tutti_thread_level level;
    double timeout_s; /* of starting and of ending MPI */
    tutti_boot boot;
    tutti_latch started; /* with the status of starting MPI */
    tutti_latch leave;
    pthread_t thread;
};

static void *run_thread(void *arg)
{
    static const double a_while_s = 3600;
    tutti_mpi_thread *h = arg;
    tutti_status status = tutti_boot_init(h->level, NULL, &h->boot);
    tutti_latch_open(&h->started, status);
    while (!tutti_latch_wait(&h->leave, a_while_s)) continue;
    if (status) return NULL;
    tutti_deadline *deadline = tutti_deadline_open(TUTTI_DEADLINE_END, h->timeout_s);
    tutti_boot_finalize(&h->boot);
    tutti_deadline_close(deadline);
    return NULL;
}

static void free_thread(tutti_mpi_thread *h)
{
    tutti_latch_destroy(&h->started);
    tutti_latch_destroy(&h->leave);
    free(h);
}

static void end_thread(tutti_mpi_thread *h)
{
    tutti_latch_open(&h->leave, TUTTI_OK);
    pthread_join(h->thread, NULL);
    free_thread(h);
}

tutti_status tutti_mpi_thread_open(
    tutti_thread_level level, double timeout_s, tutti_mpi_thread **thread)
{
    tutti_mpi_thread *h = calloc(1, sizeof *h);
    if (!h) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the thread of MPI");
    h->level = level;
    h->timeout_s = timeout_s;
    tutti_latch_init(&h->started);
    tutti_latch_init(&h->leave);
    if (pthread_create(&h->thread, NULL, run_thread, h)) {
        free_thread(h);
        return tutti_fail(TUTTI_ERR_NOMEM, "MPI's thread could not be started");
    }
    if (!tutti_latch_wait(&h->started, timeout_s))
        return tutti_fail(TUTTI_ERR_TIMEOUT,
            "MPI did not start within %g s: has another rank not started?", timeout_s);
    tutti_status status = h->started.status;
    if (status)
        end_thread(h);
    else
        *thread = h;
    return status;
}

const tutti_boot *tutti_mpi_thread_boot(const tutti_mpi_thread *thread)
{
    return &thread->boot;
}

void tutti_mpi_thread_close(tutti_mpi_thread *thread, int orderly)
{
    if (!thread) return;
    if (!orderly) thread->boot.initialised_here = 0;
    end_thread(thread);
}
