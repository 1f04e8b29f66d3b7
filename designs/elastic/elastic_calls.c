/* What the training thread calls. */
#include "designs/elastic/elastic_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <string.h>

static tutti_status fail_over(const tutti_elastic *e)
{
    return tutti_fail(TUTTI_ERR_COMM, "this rank has to stop: %s", e->why);
}

/* Those that are void, because an epoch began from an older one, are not shown. */
static void leave_epoch(tutti_elastic *e, int64_t newest, int64_t before)
{
    e->wants = e->has_next = 0;
    if (e->valid >= 0 && newest > e->valid) {
        newest = before <= e->valid ? before : -1;
        before = -1;
    }
    tutti_membership_left(&e->machine, newest, before);
}

/* The collectives of an epoch have failed, and no rank is lost: others may be right to wait for this one. */
static double patience_s(const tutti_elastic *e)
{
    const tutti_elastic_options *o = &e->options;
    return 2 * (o->silence_s + o->settle_s + o->ack_s);
}

tutti_status tutti_elastic_enter(
    tutti_elastic *e, int64_t newest, int64_t before, tutti_membership *epoch)
{
    tutti_status status = TUTTI_OK;
    pthread_mutex_lock(&e->lock);
    const struct timespec until = tutti_clock_after(patience_s(e));
    while (!e->over && (e->inside || e->wants || !e->has_next)) {
        if (e->wants) {
            e->inside = 0;
            leave_epoch(e, newest, before);
            tutti_elastic_wake(e);
        } else if (!e->inside) {
            pthread_cond_wait(&e->changed, &e->lock);
        } else if (pthread_cond_timedwait(&e->changed, &e->lock, &until) && !e->wants) {
            tutti_elastic_stop(e, "its collectives have failed, and no rank is lost");
        }
    }
    if (e->over) {
        status = fail_over(e);
    } else {
        *epoch = e->entered = e->next;
        atomic_store(&e->broken, 0);
        e->has_next = 0;
        e->inside = 1;
        e->valid = -1;
    }
    pthread_mutex_unlock(&e->lock);
    return status;
}

tutti_elastic_wish tutti_elastic_look(tutti_elastic *e)
{
    pthread_mutex_lock(&e->lock);
    const tutti_elastic_wish wish = e->over || e->wants == 2 ? TUTTI_ELASTIC_LEAVE
                                    : e->wants               ? TUTTI_ELASTIC_HALT
                                                             : TUTTI_ELASTIC_STAY;
    pthread_mutex_unlock(&e->lock);
    return wish;
}

void tutti_elastic_snapshot(tutti_elastic *e, int64_t newest, int64_t before)
{
    pthread_mutex_lock(&e->lock);
    if (e->inside && !e->over) tutti_membership_snapshot(&e->machine, newest, before);
    pthread_mutex_unlock(&e->lock);
    tutti_elastic_wake(e);
}

tutti_status tutti_elastic_finish(tutti_elastic *e, int *finished)
{
    pthread_mutex_lock(&e->lock);
    if (!e->over && !e->wants) tutti_membership_finish(&e->machine);
    tutti_elastic_wake(e);
    while (!e->over && !e->wants) pthread_cond_wait(&e->changed, &e->lock);
    *finished = e->over == 1;
    const tutti_status status = e->over == 2 ? fail_over(e) : TUTTI_OK;
    pthread_mutex_unlock(&e->lock);
    return status;
}
