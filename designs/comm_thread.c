#include "designs/comm_thread.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/queue.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct tutti_comm_thread {
    tutti_comm_thread_options options;
    tutti_comm *comm;
    pthread_mutex_t comm_lock;  /* protects calls on comm; first of the two locks */
    pthread_mutex_t queue_lock; /* protects what follows */
    pthread_cond_t work;        /* an entry became ready or started, or stop */
    pthread_cond_t opened;      /* setup has ended */
    tutti_queue queue;
    int running, set_up, stop;
    tutti_status setup_status;
    pthread_t thread;
};

/* ---- starting and ending one collective (comm_lock held) ---- */

static void start_entry(tutti_comm_thread *t, tutti_entry *entry)
{
    tutti_coll_args args = entry->args;
    tutti_coll_request *request = NULL;
    double mark = tutti_meter_enter(t->options.meter, TUTTI_METER_COMM);
    tutti_status status = tutti_coll_post(t->comm, entry->lane, &args, &request);

    pthread_mutex_lock(&t->queue_lock);
    entry = tutti_queue_get(&t->queue, entry->sequence);
    entry->request = request;
    entry->started = mark;
    tutti_queue_start(&t->queue, entry);
    tutti_token *token = entry->token;
    if (status) tutti_queue_forget(&t->queue, entry);
    pthread_mutex_unlock(&t->queue_lock);
    if (!status) return;
    tutti_meter_leave(t->options.meter, TUTTI_METER_COMM, mark);
    tutti_token_finish(token, status);
}

static void end_entry(tutti_comm_thread *t, int64_t sequence, tutti_status status)
{
    pthread_mutex_lock(&t->queue_lock);
    tutti_entry done = *tutti_queue_get(&t->queue, sequence);
    tutti_queue_forget(&t->queue, tutti_queue_get(&t->queue, sequence));
    pthread_mutex_unlock(&t->queue_lock);
    tutti_coll_free(done.request);
    tutti_meter_leave(t->options.meter, TUTTI_METER_COMM, done.started);
    tutti_token_finish(done.token, status);
}

/* Starts what the order allows now. Returns how many. */
static int start_ready(tutti_comm_thread *t)
{
    int started = 0;
    for (int lane = 0; lane < t->queue.lanes; lane++) {
        for (;;) {
            pthread_mutex_lock(&t->queue_lock);
            tutti_entry *entry = tutti_queue_startable(&t->queue, lane);
            tutti_entry copy = entry ? *entry : (tutti_entry){0};
            pthread_mutex_unlock(&t->queue_lock);
            if (!entry) break;
            start_entry(t, &copy);
            started++;
        }
    }
    return started;
}

/* Ends what is done (or everything, after a failure). */
static void end_done(tutti_comm_thread *t, tutti_status failure)
{
    int64_t from = 0;
    for (;;) {
        pthread_mutex_lock(&t->queue_lock);
        tutti_entry *entry = tutti_queue_next_started(&t->queue, from);
        int64_t sequence = entry ? entry->sequence : -1;
        const tutti_coll_request *request = entry ? entry->request : NULL;
        pthread_mutex_unlock(&t->queue_lock);
        if (sequence < 0) return;
        if (failure || tutti_coll_done(request)) end_entry(t, sequence, failure);
        from = sequence + 1;
    }
}

/* One pass: start, progress, end. Returns whether anything moved. */
static int pass(tutti_comm_thread *t)
{
    pthread_mutex_lock(&t->comm_lock);
    int started = t->options.order == TUTTI_ORDER_QUEUE ? start_ready(t) : 0, moved = 0;
    tutti_status status = tutti_coll_progress(t->comm, &moved);
    if (moved || started || status) end_done(t, status);
    pthread_mutex_unlock(&t->comm_lock);
    return moved || started;
}

/* ---- the thread ---- */

/* Sleeps until there is something in flight or ready; returns 0 to stop. */
static int wait_for_work(tutti_comm_thread *t)
{
    pthread_mutex_lock(&t->queue_lock);
    for (;;) {
        int startable = 0;
        for (int lane = 0; lane < t->queue.lanes && t->options.order == TUTTI_ORDER_QUEUE; lane++)
            startable |= tutti_queue_startable(&t->queue, lane) != NULL;
        if (t->queue.started || startable || t->stop) break;
        pthread_cond_wait(&t->work, &t->queue_lock);
    }
    int go_on = !t->stop;
    pthread_mutex_unlock(&t->queue_lock);
    return go_on;
}

/* Polls without starving the workers that may share the core: yields first, then sleeps in growing
 * steps. */
static void back_off(int idle_passes)
{
    enum { YIELDS = 20, LONGEST_US = 50 };
    if (idle_passes <= YIELDS) {
        sched_yield();
        return;
    }
    double sleep_us = idle_passes - YIELDS;
    tutti_clock_sleep(1e-6 * (sleep_us < LONGEST_US ? sleep_us : LONGEST_US));
}

static void *serve(void *arg)
{
    tutti_comm_thread *t = arg;
    tutti_status status = t->options.setup(t->options.ctx, &t->comm);
    if (!status) status = tutti_queue_open(&t->queue, tutti_comm_lanes(t->comm));
    pthread_mutex_lock(&t->queue_lock);
    t->setup_status = status;
    t->set_up = 1;
    pthread_cond_signal(&t->opened);
    pthread_mutex_unlock(&t->queue_lock);
    int idle_passes = 0;
    while (!status && wait_for_work(t)) {
        idle_passes = pass(t) ? 0 : idle_passes + 1;
        if (idle_passes) back_off(idle_passes);
    }
    t->options.teardown(t->options.ctx, t->comm);
    return NULL;
}

static tutti_status open_on_thread(tutti_comm_thread *t)
{
    if (pthread_create(&t->thread, NULL, serve, t))
        return tutti_fail(TUTTI_ERR_NOMEM, "the communication thread cannot be started");
    t->running = 1;
    struct timespec until = tutti_clock_after(t->options.timeout_s);
    pthread_mutex_lock(&t->queue_lock);
    while (!t->set_up)
        if (pthread_cond_timedwait(&t->opened, &t->queue_lock, &until)) break;
    int set_up = t->set_up;
    tutti_status status = t->setup_status;
    pthread_mutex_unlock(&t->queue_lock);
    if (set_up) return status;
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "the communication layer was not set up within %g s: has another rank not started?",
        t->options.timeout_s);
}

static tutti_status open_here(tutti_comm_thread *t)
{
    tutti_status status = t->options.setup(t->options.ctx, &t->comm);
    return status ? status : tutti_queue_open(&t->queue, tutti_comm_lanes(t->comm));
}

tutti_status tutti_comm_thread_open(
    const tutti_comm_thread_options *options, tutti_comm_thread **thread)
{
    tutti_comm_thread *t = calloc(1, sizeof *t);
    if (!t) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the communication thread");
    t->options = *options;
    pthread_mutex_init(&t->comm_lock, NULL);
    pthread_mutex_init(&t->queue_lock, NULL);
    tutti_clock_cond_init(&t->work);
    tutti_clock_cond_init(&t->opened);
    tutti_status status = options->order == TUTTI_ORDER_MAIN ? open_here(t) : open_on_thread(t);
    if (!status)
        *thread = t;
    else if (status != TUTTI_ERR_TIMEOUT) /* then the thread may be inside MPI: all it uses stays */
        tutti_comm_thread_close(t);
    return status;
}

void tutti_comm_thread_close(tutti_comm_thread *t)
{
    if (!t) return;
    if (t->running) {
        pthread_mutex_lock(&t->queue_lock);
        t->stop = 1;
        pthread_cond_signal(&t->work);
        pthread_mutex_unlock(&t->queue_lock);
        pthread_join(t->thread, NULL);
    } else {
        t->options.teardown(t->options.ctx, t->comm);
    }
    tutti_queue_close(&t->queue);
    pthread_mutex_destroy(&t->comm_lock);
    pthread_mutex_destroy(&t->queue_lock);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->opened);
    free(t);
}

tutti_comm *tutti_comm_thread_comm(tutti_comm_thread *t)
{
    return t->comm;
}

/* ---- what the runner's hooks and the main thread call ---- */

int64_t tutti_comm_thread_reserve(tutti_comm_thread *t, int lane, int64_t index, const char *name)
{
    int64_t sequence;
    pthread_mutex_lock(&t->queue_lock);
    tutti_status status = tutti_queue_reserve(&t->queue, lane, index, name, &sequence);
    pthread_mutex_unlock(&t->queue_lock);
    return status ? -1 : sequence;
}

void tutti_comm_thread_ready(
    tutti_comm_thread *t, int64_t sequence, const tutti_coll_args *args, tutti_token *token)
{
    int chain = t->options.order == TUTTI_ORDER_CHAIN;
    if (chain) pthread_mutex_lock(&t->comm_lock);
    pthread_mutex_lock(&t->queue_lock);
    tutti_entry *entry = tutti_queue_get(&t->queue, sequence);
    entry->args = *args;
    entry->token = token;
    entry->state = TUTTI_ENTRY_READY;
    tutti_entry copy = *entry;
    if (!chain) pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->queue_lock);
    if (!chain) return;
    start_entry(t, &copy);
    end_done(t, TUTTI_OK); /* a blocking algorithm has ended by now */
    pthread_mutex_unlock(&t->comm_lock);
    pthread_mutex_lock(&t->queue_lock);
    pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->queue_lock);
}

/* A token that a thread waits for. */
typedef struct rendezvous {
    tutti_token token;    /* first */
    pthread_mutex_t lock; /* protects the rest */
    pthread_cond_t ended;
    int done;
    tutti_status status;
} rendezvous;

static void arrive(tutti_token *token, tutti_status status)
{
    rendezvous *r = (rendezvous *)token;
    pthread_mutex_lock(&r->lock);
    r->done = 1;
    r->status = status;
    pthread_cond_signal(&r->ended);
    pthread_mutex_unlock(&r->lock);
}

static tutti_status call_thread(tutti_comm_thread *t, const tutti_coll_args *args)
{
    rendezvous *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a call");
    r->token.finish = arrive;
    pthread_mutex_init(&r->lock, NULL);
    tutti_clock_cond_init(&r->ended);
    int64_t sequence = tutti_comm_thread_reserve(t, 0, 0, tutti_coll_kind_name(args->kind));
    if (sequence < 0) {
        free(r);
        return TUTTI_ERR_NOMEM;
    }
    struct timespec until = tutti_clock_after(t->options.timeout_s);
    tutti_comm_thread_ready(t, sequence, args, &r->token);
    pthread_mutex_lock(&r->lock);
    while (!r->done)
        if (pthread_cond_timedwait(&r->ended, &r->lock, &until)) break;
    int done = r->done;
    tutti_status status = r->status;
    pthread_mutex_unlock(&r->lock);
    if (!done) /* the token may still be finished: it stays */
        return tutti_fail(TUTTI_ERR_TIMEOUT,
            "%s (sequence %lld) has not ended within %g s: has another rank left?",
            tutti_coll_kind_name(args->kind), (long long)sequence, t->options.timeout_s);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->ended);
    free(r);
    return status;
}

/* ORDER_MAIN: post and wait on the calling thread. */
static tutti_status run_here(tutti_comm_thread *t, int lane, const tutti_coll_args *args)
{
    tutti_coll_request *request;
    double mark = tutti_meter_enter(t->options.meter, TUTTI_METER_COMM);
    tutti_status status = tutti_coll_post(t->comm, lane, args, &request);
    if (!status) {
        status = tutti_coll_wait(t->comm, request, t->options.timeout_s);
        tutti_coll_free(request);
    }
    tutti_meter_leave(t->options.meter, TUTTI_METER_COMM, mark);
    return status;
}

tutti_status tutti_comm_thread_call(tutti_comm_thread *t, const tutti_coll_args *args)
{
    return t->options.order == TUTTI_ORDER_MAIN ? run_here(t, 0, args) : call_thread(t, args);
}

tutti_status tutti_comm_thread_main(tutti_comm_thread *t)
{
    pthread_mutex_lock(&t->queue_lock);
    int64_t first = t->queue.lowest, count = tutti_queue_ready_group(&t->queue);
    pthread_mutex_unlock(&t->queue_lock);
    tutti_status status = TUTTI_OK;
    for (int64_t s = first; s < first + count && !status; s++) {
        pthread_mutex_lock(&t->queue_lock);
        tutti_entry entry = *tutti_queue_get(&t->queue, s);
        pthread_mutex_unlock(&t->queue_lock);
        status = run_here(t, entry.lane, &entry.args);
        pthread_mutex_lock(&t->queue_lock);
        tutti_queue_forget(&t->queue, tutti_queue_get(&t->queue, s));
        pthread_mutex_unlock(&t->queue_lock);
        tutti_token_finish(entry.token, status);
    }
    return status;
}
