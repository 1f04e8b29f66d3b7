#include "designs/thread/comm_thread.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/prompt.h"
#include "dag/run/latch.h"
#include "designs/thread/pace.h"
#include "designs/thread/rendezvous.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct tutti_comm_thread {
    tutti_comm_thread_options options;
    double call_s; /* of one call */
    tutti_comm *comm;
    tutti_control *control;
    tutti_driver *driver;
    tutti_watch *watch;
    /* Protects work, rung, sleeps, stop, silent and deserted. Taken before the driver's queue_lock, and with its
     * comm_lock held when the end of a collective makes another ready. */
    pthread_mutex_t lock;
    pthread_cond_t work;                         /* the driver has work, or stop */
    int rung;                                    /* it may have more since the last pass began */
    int sleeps; /* the thread is in tutti_driver_wait, or about to be */
    tutti_status (*chore)(void *ctx, int *done); /* NULL: none, or it has ended with: */
    void *chore_ctx;
    tutti_status chore_status;
    int running, stop;
    int silent;                     /* the thread ends without a message to the others */
    int deserted;                   /* no thread waits for setup any more */
    tutti_latch set_up;             /* with setup's status */
    char failure[TUTTI_ERROR_TEXT]; /* why setup failed */
    tutti_latch quiet;              /* a silent thread has ended */
    pthread_t thread;
};

/* ---- the thread ---- */

void tutti_comm_thread_wake(void *ctx)
{
    tutti_comm_thread *t = ctx;
    pthread_mutex_lock(&t->lock);
    t->rung = 1;
    pthread_cond_signal(&t->work);
    if (t->sleeps) tutti_comm_wake(t->comm);
    pthread_mutex_unlock(&t->lock);
}

/* Sleeps until something is in flight or ready, but not for long: other ranks may send queries. Returns 0 to stop. */
static int wait_for_work(tutti_comm_thread *t)
{
    static const double tick_s = 50e-3;
    struct timespec until = tutti_clock_after(tick_s);
    pthread_mutex_lock(&t->lock);
    while (
        !t->stop && !t->chore && !tutti_driver_busy(t->driver) && !t->options.busy(t->options.ctx))
        if (pthread_cond_timedwait(&t->work, &t->lock, &until)) break;
    int continues = !t->stop;
    t->rung = 0;
    pthread_mutex_unlock(&t->lock);
    return continues;
}

/* Where a message wakes it; not for long, because passes look at clocks, too. Returns whether it slept. */
static int sleep_in_comm(tutti_comm_thread *t)
{
    static const double longest_s = 4e-3;
    pthread_mutex_lock(&t->lock);
    const int goes = !t->rung;
    t->sleeps = goes;
    pthread_mutex_unlock(&t->lock);
    const int slept = goes && tutti_driver_wait(t->driver, longest_s);
    pthread_mutex_lock(&t->lock);
    t->sleeps = 0;
    pthread_mutex_unlock(&t->lock);
    return slept;
}

/* Waits, after this many passes in which nothing has moved, until something may. */
static void rest_idle(tutti_comm_thread *t, int idle_passes)
{
    double sleep_s = tutti_pace_s(idle_passes);
    struct timespec until = tutti_clock_after(sleep_s);
    if (!(sleep_s > 0)) {
        sched_yield();
        return;
    }
    if (sleep_in_comm(t)) return;
    pthread_mutex_lock(&t->lock);
    if (!t->rung) pthread_cond_timedwait(&t->work, &t->lock, &until);
    pthread_mutex_unlock(&t->lock);
}

static void do_chore(tutti_comm_thread *t)
{
    int done = 0;
    pthread_mutex_lock(&t->lock);
    tutti_status (*chore)(void *, int *) = t->chore;
    pthread_mutex_unlock(&t->lock);
    if (!chore) return;
    tutti_status status = chore(t->chore_ctx, &done);
    if (!done && !status) return;
    pthread_mutex_lock(&t->lock);
    t->chore_status = status;
    t->chore = NULL;
    pthread_mutex_unlock(&t->lock);
}

static void run_tick(void *ctx)
{
    tutti_comm_thread *t = ctx;
    do_chore(t);
    if (t->watch) tutti_watch_pass(t->watch);
    t->options.tick(t->options.ctx);
}

static tutti_status set_up(tutti_comm_thread *t)
{
    tutti_driver_options driver = t->options.driver;
    tutti_status status = t->options.setup(t->options.ctx, &driver, &t->comm, &t->control);
    if (status) return status;
    driver.control = t->control;
    driver.one_order = driver.one_order && tutti_comm_shares_slots(t->comm);
    driver.wake = tutti_comm_thread_wake;
    driver.tick = run_tick;
    driver.ctx = t;
    status = tutti_driver_open(&driver, t->comm, &t->driver);
    if (!status && t->options.watch.on)
        status = tutti_watch_open(&t->options.watch, t->driver, t->control, &t->watch);
    return status;
}

/* How long to wait for the other ranks. After a failure, longer while one may need this rank to end what it has in
 * flight; but a rank missing in a stall will not arrive. */
static double patience_s(const tutti_comm_thread *t, tutti_status failure, int drained)
{
    static const double after_failure_s = 1, while_draining_s = 5;
    double limit_s = t->options.setup_timeout_s, least_s = limit_s;
    if (failure)
        least_s = drained || failure == TUTTI_ERR_TIMEOUT ? after_failure_s : while_draining_s;
    return least_s < limit_s ? least_s : limit_s;
}

static void report_missing(tutti_comm_thread *t, int left, double limit_s)
{
    char ranks[256];
    if (left)
        tutti_log(TUTTI_LOG_WARN,
            "collectives in flight at the failure have not ended on all ranks within %g s",
            limit_s);
    else
        tutti_log(TUTTI_LOG_WARN, "rank %s did not leave within %g s",
            tutti_driver_missing(t->driver, ranks, sizeof ranks), limit_s);
}

/* All ranks have left, since gone_s: whether their last messages are here. A rank that had given up on this one sends
 * none. */
static int has_finished(tutti_comm_thread *t, double gone_s)
{
    static const double most_s = 2, share = 0.5;
    double limit_s = share * t->options.setup_timeout_s;
    return tutti_driver_finished(t->driver) ||
           tutti_clock_s() - gone_s > (limit_s < most_s ? limit_s : most_s);
}

/* Leaves, and waits for the other ranks to leave too, unless nothing comes from them any more. Returns whether nothing
 * of this rank is under way. */
static int leave_ranks(tutti_comm_thread *t)
{
    int patient = !t->options.driver.verify.at_once;
    int left = 0, drained = 0, failed = tutti_driver_see(t->driver).failure != TUTTI_OK;
    double start_s = tutti_clock_s(), gone_s = 0; /* when all had left */
    tutti_driver_leave(t->driver);
    for (int idle = 0;; idle++) {
        tutti_status failure = tutti_driver_see(t->driver).failure;
        int was = drained + !failed;
        drained = tutti_driver_drained(t->driver);
        left = tutti_driver_left(t->driver);
        failed = failure != TUTTI_OK;
        if (left && drained && !(gone_s > 0)) gone_s = tutti_clock_s();
        if (left && drained && (failed || !patient)) return 1;
        if (gone_s > 0 && has_finished(t, gone_s)) return 1;
        if (drained && failed && tutti_comm_is_severed(t->comm)) return 1;
        if (drained + !failed != was) start_s = tutti_clock_s();
        double limit_s = patience_s(t, failure, drained);
        if (!patient || tutti_clock_s() - start_s > limit_s) {
            if (patient) report_missing(t, left, limit_s);
            /* The watch, which ends here, would have: MPI_Finalize waits for the ranks that are missing. */
            if (patient && failure == TUTTI_ERR_TIMEOUT && t->options.watch.give_up)
                t->options.watch.give_up();
            return 0;
        }
        if (tutti_driver_pass(t->driver)) idle = 0;
        if (idle) tutti_pace_wait(idle);
    }
}

/* Reads a flag of t under its lock. */
static int is_set(tutti_comm_thread *t, const int *flag)
{
    pthread_mutex_lock(&t->lock);
    int set = *flag;
    pthread_mutex_unlock(&t->lock);
    return set;
}

/* Runs setup on our own thread. Returns 0 if no thread waits for it any more. */
static int set_up_aside(tutti_comm_thread *t, tutti_status *status)
{
    *status = set_up(t);
    if (*status) snprintf(t->failure, sizeof t->failure, "%s", tutti_last_error());
    pthread_mutex_lock(&t->lock);
    int wanted = !t->deserted;
    if (wanted) tutti_latch_open(&t->set_up, *status);
    pthread_mutex_unlock(&t->lock);
    if (!wanted) tutti_watch_close(t->watch);
    return wanted;
}

static void *run_thread(void *arg)
{
    tutti_comm_thread *t = arg;
    tutti_status status;
    if (!set_up_aside(t, &status)) return NULL;
    int idle_passes = 0;
    tutti_prompt_begin();
    while (!status && wait_for_work(t)) {
        idle_passes = tutti_driver_pass(t->driver) ? 0 : idle_passes + 1;
        if (idle_passes) rest_idle(t, idle_passes);
    }
    if (is_set(t, &t->silent)) {
        tutti_latch_open(&t->quiet, TUTTI_OK);
        return NULL;
    }
    int orderly = status || leave_ranks(t);
    t->options.teardown(t->options.ctx, t->comm, t->control, orderly);
    return NULL;
}

static void *only_set_up(void *arg)
{
    tutti_status status;
    (void)set_up_aside(arg, &status);
    return NULL;
}

/* Whether setup has ended in time; otherwise marks it deserted. */
static int await_setup(tutti_comm_thread *t)
{
    if (tutti_latch_wait(&t->set_up, t->options.setup_timeout_s)) return 1;
    pthread_mutex_lock(&t->lock);
    int done = tutti_latch_wait(&t->set_up, 0);
    t->deserted = !done;
    pthread_mutex_unlock(&t->lock);
    return done;
}

static tutti_status open_on_thread(tutti_comm_thread *t)
{
    if (pthread_create(&t->thread, NULL, t->options.threads ? run_thread : only_set_up, t))
        return tutti_fail(TUTTI_ERR_NOMEM, "the communication thread could not be started");
    t->running = t->options.threads;
    if (await_setup(t)) {
        if (!t->running) pthread_join(t->thread, NULL);
        if (t->set_up.status) tutti_error_adopt(t->failure);
        return t->set_up.status;
    }
    pthread_detach(t->thread);
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "the communication layer was not set up within %g s: has another rank not started? (this "
        "rank is in %s)",
        t->options.setup_timeout_s, t->options.setup_at(t->options.ctx));
}

tutti_status tutti_comm_thread_open(
    const tutti_comm_thread_options *options, tutti_comm_thread **thread)
{
    tutti_comm_thread *t = calloc(1, sizeof *t);
    if (!t) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the communication thread");
    t->options = *options;
    t->call_s = options->timeout_s;
    pthread_mutex_init(&t->lock, NULL);
    tutti_clock_cond_init(&t->work);
    tutti_latch_init(&t->set_up);
    tutti_latch_init(&t->quiet);
    int aside = options->threads || options->setup_aside;
    tutti_status status = aside ? open_on_thread(t) : set_up(t);
    if (!status)
        *thread = t;
    else if (status != TUTTI_ERR_TIMEOUT) /* it may still be inside MPI: all it uses stays */
        tutti_comm_thread_close(t);
    return status;
}

tutti_status tutti_comm_thread_close(tutti_comm_thread *t)
{
    if (!t) return TUTTI_OK;
    if (t->running) {
        pthread_mutex_lock(&t->lock);
        t->stop = 1;
        pthread_cond_signal(&t->work);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
    } else {
        int orderly = !t->driver || leave_ranks(t);
        t->options.teardown(t->options.ctx, t->comm, t->control, orderly);
    }
    tutti_status status = t->driver ? tutti_driver_see(t->driver).failure : TUTTI_OK;
    if (status) tutti_driver_explain(t->driver, status);
    tutti_watch_close(t->watch);
    tutti_driver_close(t->driver);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->work);
    tutti_latch_destroy(&t->set_up);
    tutti_latch_destroy(&t->quiet);
    free(t);
    return status;
}

void tutti_comm_thread_silence(tutti_comm_thread *t)
{
    static const double patience_s = 2;
    tutti_watch_silence(t->watch); /* messages may still reach its memory: it is not freed */
    pthread_mutex_lock(&t->lock);
    t->stop = t->silent = 1;
    pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->lock);
    if (!t->running) return;
    pthread_detach(t->thread);
    if (!tutti_latch_wait(&t->quiet, patience_s))
        tutti_log(TUTTI_LOG_WARN, "the communication thread is stuck inside MPI");
}

tutti_comm *tutti_comm_thread_comm(tutti_comm_thread *t)
{
    return t->comm;
}

tutti_driver *tutti_comm_thread_driver(tutti_comm_thread *t)
{
    return t->driver;
}

tutti_watch *tutti_comm_thread_watch(tutti_comm_thread *t)
{
    return t->watch;
}

double tutti_comm_thread_cpu_s(const tutti_comm_thread *t)
{
    clockid_t clock;
    struct timespec used;
    if (!t->running || pthread_getcpuclockid(t->thread, &clock) || clock_gettime(clock, &used))
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* ---- a collective that the main thread waits for ---- */

void tutti_comm_thread_set_timeout(tutti_comm_thread *t, double timeout_s)
{
    t->call_s = timeout_s;
}

/* Waits until it arrives, or the deadline; *failed: all collectives have failed. What another rank's part keeps in
 * flight then may never arrive, so the time that is left is bounded. Returns whether it has arrived. */
static int await_arrival(tutti_comm_thread *t, tutti_rendezvous *r, int *failed)
{
    static const double look_s = 0.5, failed_s = 60;
    double until = tutti_clock_s() + t->call_s;
    *failed = 0;
    for (int idle = 0, ended = 0;;) {
        const double now_s = tutti_clock_s();
        if (now_s >= until) return 0;
        if (t->running) {
            ended = tutti_rendezvous_arrived(r, fmin(look_s, until - now_s));
        } else {
            idle = tutti_driver_pass(t->driver) ? 0 : idle + 1;
            ended = tutti_rendezvous_arrived(r, 0);
            if (idle && !ended) tutti_pace_wait(idle);
        }
        if (ended) return 1;
        if (*failed || !tutti_driver_see(t->driver).failure) continue;
        *failed = 1;
        until = fmin(until, now_s + failed_s);
    }
}

tutti_status tutti_comm_thread_call(
    tutti_comm_thread *t, const char *name, const tutti_coll_args *args)
{
    tutti_rendezvous *r;
    tutti_status status = tutti_rendezvous_new(args, tutti_comm_size(t->comm), &r);
    if (status) return status;
    int64_t sequence = tutti_driver_reserve(t->driver, &(tutti_place){0}, name);
    if (sequence < 0) {
        tutti_rendezvous_leave(r, 0);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the collective '%s'", name);
    }
    tutti_driver_ready(t->driver, sequence, tutti_rendezvous_args(r), tutti_rendezvous_token(r));
    int failed;
    if (await_arrival(t, r, &failed)) {
        status = tutti_rendezvous_take(r, args);
    } else if (failed) {
        status = tutti_driver_see(t->driver).failure;
        tutti_driver_explain(t->driver, status);
    } else
        status = tutti_fail(TUTTI_ERR_TIMEOUT,
            "'%s', %s (sequence %lld), has not ended within %g s: has another rank left?", name,
            tutti_coll_kind_name(args->kind), (long long)sequence, t->call_s);
    tutti_rendezvous_leave(r, 1);
    return status;
}

/* ---- something to do between passes ---- */

tutti_status tutti_comm_thread_await(
    tutti_comm_thread *t, int (*ended)(void *ctx, tutti_status *status), void *ctx, int *late)
{
    static const double poll_s = 100e-6;
    double until_s = tutti_clock_s() + t->options.timeout_s;
    tutti_status status = TUTTI_OK;
    *late = 0;
    for (int idle = 0; !ended(ctx, &status);) {
        if (!status) status = tutti_driver_see(t->driver).failure;
        if (status) return status;
        *late = tutti_clock_s() > until_s;
        if (*late) return TUTTI_ERR_TIMEOUT;
        if (t->running) {
            tutti_clock_sleep(poll_s);
        } else {
            idle = tutti_driver_pass(t->driver) ? 0 : idle + 1;
            if (idle) tutti_pace_wait(idle);
        }
    }
    return status;
}

static int has_done_chore(void *ctx, tutti_status *status)
{
    tutti_comm_thread *t = ctx;
    pthread_mutex_lock(&t->lock);
    int done = !t->chore;
    if (done) *status = t->chore_status;
    pthread_mutex_unlock(&t->lock);
    return done;
}

tutti_status tutti_comm_thread_do(
    tutti_comm_thread *t, tutti_status (*chore)(void *ctx, int *done), void *ctx, int *remains)
{
    int late;
    pthread_mutex_lock(&t->lock);
    t->chore = chore;
    t->chore_ctx = ctx;
    pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->lock);
    tutti_status status = tutti_comm_thread_await(t, has_done_chore, t, &late);
    pthread_mutex_lock(&t->lock);
    *remains = t->chore != NULL;
    pthread_mutex_unlock(&t->lock);
    if (!late) return status;
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "the other ranks have not opened the same lanes within %g s", t->options.timeout_s);
}
