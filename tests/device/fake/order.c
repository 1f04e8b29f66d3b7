#include "tests/device/fake/order.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

enum { LATE_MS = 20, AGAIN_US = 200 };

/* Somebody who waits. */
typedef struct waiter {
    point at;
    struct waiter *next;
} waiter;

static pthread_cond_t work, changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int started;
static operation *running;
static waiter *waiters;
static unsigned budget; /* random: so many more may run although nobody waits */
static uint64_t random_state;

/* ---- Chance (splitmix64) ---- */

static uint64_t draw(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static unsigned draw_below(unsigned most)
{
    return (unsigned)(draw() % most);
}

int order_coin(void)
{
    return (int)draw_below(2);
}

/* ---- What may run ---- */

/* Late: this, and what it waits for. */
static void demand(point at)
{
    fake_stream *s = queue_at(at.stream);
    if (s->demanded >= at.number) return;
    s->demanded = at.number;
    for (operation *op = s->first; op && op->at.number <= at.number; op = op->next)
        for (int i = 0; i < op->waits; i++) demand(op->wait[i]);
}

static int may_run(const operation *op, double now)
{
    if (op == running || op->again > now) return 0;
    for (int i = 0; i < op->waits; i++)
        if (!queue_done(op->wait[i])) return 0;
    return 1;
}

static int somebody_waits(void)
{
    for (const waiter *w = waiters; w; w = w->next)
        if (!queue_done(w->at)) return 1;
    return 0;
}

static int is_wanted(const operation *op, double now)
{
    const fake_order order = fake_get_settings()->order;
    if (order == ORDER_EAGER || op->ripe <= now) return 1;
    if (order == ORDER_LATE) return op->at.number <= queue_at(op->at.stream)->demanded;
    return budget || somebody_waits();
}

/* The one to run now; NULL. In random, any; else the oldest. */
static operation *choose(double now, int only_ask)
{
    operation *chosen = NULL;
    unsigned seen = 0;
    for (int i = 0; i < queue_count(); i++) {
        operation *op = queue_at(i)->first;
        if (!op || !may_run(op, now) || !is_wanted(op, now)) continue;
        if (only_ask) return op;
        if (fake_get_settings()->order == ORDER_RANDOM) {
            if (!draw_below(++seen)) chosen = op;
        } else if (!chosen || op->ticket < chosen->ticket) {
            chosen = op;
        }
    }
    return chosen;
}

/* When the next of those that may not run yet may. */
static double next_time(void)
{
    double next = HUGE_VAL;
    for (int i = 0; i < queue_count(); i++) {
        const operation *op = queue_at(i)->first;
        if (op) next = fmin(next, op->again > 0 ? op->again : op->ripe);
    }
    return next;
}

/* ---- The thread ---- */

static void pause_until(double time)
{
    if (time == HUGE_VAL) {
        pthread_cond_wait(&work, &fake_lock);
        return;
    }
    /* Not in the past, or the thread would spin with the lock. */
    time = fmax(time, fake_now() + 1e-6 * AGAIN_US);
    struct timespec until = {.tv_sec = (time_t)time};
    until.tv_nsec = (long)((time - (double)until.tv_sec) * 1e9);
    pthread_cond_timedwait(&work, &fake_lock, &until);
}

static void run(operation *op)
{
    running = op;
    if (op->host) pthread_cond_broadcast(&changed); /* who settles goes on */
    pthread_mutex_unlock(&fake_lock);
    fake_in_operation = 1;
    const int done = op->work.run ? op->work.run(op->work.arg) : 1;
    fake_in_operation = 0;
    pthread_mutex_lock(&fake_lock);
    running = NULL;
    if (done) {
        if (budget) budget--;
        queue_finish(op);
    } else {
        op->again = fake_now() + 1e-6 * AGAIN_US;
    }
    pthread_cond_broadcast(&changed);
}

static void *run_all(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&fake_lock);
    for (;;) {
        operation *op = choose(fake_now(), 0);
        if (op)
            run(op);
        else
            pause_until(next_time());
    }
    return NULL;
}

/* ---- The host ---- */

void order_open(void)
{
    random_state = fake_get_settings()->seed;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&work, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Lets run what may. A host function is not waited for: it may need what the caller holds. */
static void settle(void)
{
    pthread_cond_signal(&work);
    while (running ? !running->host : choose(fake_now(), 1) != NULL)
        pthread_cond_wait(&changed, &fake_lock);
    budget = 0;
}

static void step(void)
{
    const fake_order order = fake_get_settings()->order;
    if (order == ORDER_LATE) return;
    if (order == ORDER_RANDOM) {
        if (draw_below(2)) return;
        budget = 1 + draw_below(4);
    }
    settle();
}

void order_put(operation *op, int more)
{
    if (!started) {
        started = 1;
        if (pthread_create(&thread, NULL, run_all, NULL)) fake_fail("no thread to run operations");
    }
    op->ripe = fake_now() + 1e-3 * LATE_MS;
    if (more) return;
    step();
    pthread_cond_signal(&work);
}

static void wait_until(point at)
{
    waiter self = {.at = at, .next = waiters};
    waiters = &self;
    demand(at);
    pthread_cond_signal(&work);
    while (!queue_done(at)) pthread_cond_wait(&changed, &fake_lock);
    waiter **w = &waiters;
    while (*w != &self) w = &(*w)->next;
    *w = self.next;
}

/* `when` may change while others have the lock. */
void order_wait(point at, const known *when)
{
    known seen = {0};
    queue_join(&seen, when);
    wait_until(at);
    queue_see(&seen);
    queue_forget(&seen);
}

void order_wait_device(int device)
{
    for (int i = 0; i < queue_count(); i++) {
        const fake_stream *s = queue_at(i);
        if (s->device == device) order_wait((point){i, s->put}, &s->known);
    }
}

int order_ask(point at, const known *when)
{
    known seen = {0};
    queue_join(&seen, when);
    if (!queue_done(at)) {
        if (fake_get_settings()->order == ORDER_LATE && !draw_below(4)) demand(at);
        step();
        pthread_cond_signal(&work);
    }
    const int done = queue_done(at);
    if (done) queue_see(&seen);
    queue_forget(&seen);
    return done;
}
