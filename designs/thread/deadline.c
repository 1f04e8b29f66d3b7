#include "designs/thread/deadline.h"

#include "collectives/boot.h"
#include "dag/base/log.h"
#include "dag/run/latch.h"

#include <stdlib.h>

struct tutti_deadline {
    tutti_deadline_of of;
    double limit_s;
    tutti_latch returned;
    pthread_t thread;
};

static const char *const texts[] = {
    [TUTTI_DEADLINE_START] = "the communication layer was not set up within %g s: has another rank "
                             "not started?",
    [TUTTI_DEADLINE_END] = "MPI_Finalize has not returned within %g s: has another rank stopped, "
                           "or not reached its end?",
};

static void *await_return(void *arg)
{
    tutti_deadline *d = arg;
    if (tutti_latch_wait(&d->returned, d->limit_s)) return NULL;
    tutti_log(TUTTI_LOG_ERROR, texts[d->of], d->limit_s);
    tutti_boot_quit(EXIT_FAILURE);
}

tutti_deadline *tutti_deadline_open(tutti_deadline_of of, double limit_s)
{
    tutti_deadline *d = malloc(sizeof *d);
    if (d) {
        *d = (tutti_deadline){.of = of, .limit_s = limit_s};
        tutti_latch_init(&d->returned);
        if (!pthread_create(&d->thread, NULL, await_return, d)) return d;
        tutti_latch_destroy(&d->returned);
        free(d);
    }
    tutti_log(TUTTI_LOG_WARN, "no memory or thread for a deadline of %g s", limit_s);
    return NULL;
}

void tutti_deadline_close(tutti_deadline *deadline)
{
    if (!deadline) return;
    tutti_latch_open(&deadline->returned, TUTTI_OK);
    pthread_join(deadline->thread, NULL);
    tutti_latch_destroy(&deadline->returned);
    free(deadline);
}
