/* What the training thread calls. */
#include "designs/elastic/elastic_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <string.h>

int tutti_elastic_rank(const tutti_membership *epoch, int64_t id)
{
    for (int r = 0; r < epoch->n; r++)
        if (epoch->entry[r].id == id) return r;
    return -1;
}

int tutti_elastic_lacking(const tutti_membership *of, const tutti_membership *in)
{
    int lacking = 0;
    for (int r = 0; r < of->n; r++) lacking += tutti_elastic_rank(in, of->entry[r].id) < 0;
    return lacking;
}

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

int tutti_elastic_await_loss(tutti_elastic *e)
{
    static const double moment_s = 0.01;
    const double until_s = tutti_clock_s() + 3 * e->options.silence_s;
    while (tutti_elastic_look(e) == TUTTI_ELASTIC_STAY && tutti_clock_s() < until_s)
        tutti_clock_sleep(moment_s);
    return tutti_elastic_look(e) != TUTTI_ELASTIC_STAY;
}

tutti_status tutti_elastic_await_others(tutti_elastic *e, int least, int64_t newest, int64_t before,
    int (*is_asked)(const void *ctx), const void *ctx)
{
    static const double moment_s = 0.05;
    const double join_s = e->options.join_s, until_s = tutti_clock_s() + join_s;
    const int n = e->entered.n;
    if (tutti_elastic_rank(&e->entered, e->options.self.id) == 0)
        tutti_log(TUTTI_LOG_WARN, "%d rank%s left, and the run needs %d: waiting for others", n,
            n == 1 ? " is" : "s are", least);
    while (tutti_elastic_look(e) == TUTTI_ELASTIC_STAY && !is_asked(ctx)) {
        if (tutti_clock_s() > until_s)
            return tutti_fail(TUTTI_ERR_COMM, "no other rank has come within %g s", join_s);
        tutti_elastic_snapshot(e, newest, before);
        tutti_clock_sleep(moment_s);
    }
    return TUTTI_OK;
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
