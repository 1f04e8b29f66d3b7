/* The thread that serves the connections. */
#define _GNU_SOURCE /* eventfd */
#include "designs/elastic/elastic_parts.h"

#include "dag/base/clock.h"
#include "dag/base/prompt.h"

#include <math.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_POLLED = ELASTIC_MEMBERS + TUTTI_TCP_PENDING + 2, BEATS = 4 };

/* ---- the beginning ---- */

static int64_t find_missing(tutti_elastic *e)
{
    for (int i = 0; i < e->first.n; i++)
        if (e->first.entry[i].id != e->options.self.id &&
            !tutti_elastic_find(e, e->first.entry[i].id))
            return e->first.entry[i].id;
    return -1;
}

/* Once the first ranks are all connected; a newcomer is at once. */
static void open_machine(tutti_elastic *e, double now_s)
{
    const tutti_elastic_options *o = &e->options;
    const tutti_membership_options options = {.first = e->first.n ? &e->first : NULL,
        .self = o->self,
        .run = o->run,
        .options = o->options,
        .least = o->least,
        .most = o->most,
        .settle_s = o->settle_s,
        .ack_s = o->ack_s,
        .join_s = o->join_s};
    tutti_membership_acts acts = tutti_elastic_acts;
    acts.ctx = e;
    if (tutti_membership_open(&e->machine, &options, &acts, now_s)) {
        tutti_elastic_stop(e, tutti_last_error());
        return;
    }
    e->opened = 1;
    for (int i = 0; i < ELASTIC_MEMBERS; i++) e->member[i].control.heard_s = now_s;
}

void tutti_elastic_begin(tutti_elastic *e)
{
    const double now_s = tutti_clock_s();
    const int64_t missing = find_missing(e);
    char why[TUTTI_MEMBERSHIP_WHY];
    if (missing < 0) {
        open_machine(e, now_s);
        return;
    }
    snprintf(why, sizeof why, "rank %lld has not connected within %g s", (long long)missing,
        e->options.join_s);
    if (now_s > e->until_s) tutti_elastic_stop(e, why);
}

/* ---- passes ---- */

static int fill_polled(tutti_elastic *e, struct pollfd polled[MOST_POLLED])
{
    int n = tutti_tcp_listener_poll(e->door, polled);
    polled[n++] = (struct pollfd){.fd = e->wakeup, .events = POLLIN};
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        const elastic_member *m = &e->member[i];
        if (!m->used || m->control.socket < 0) continue;
        polled[n] = tutti_elastic_control_poll(&m->control);
        if (!e->opened) polled[n].events &= POLLOUT; /* nothing is read yet */
        if (polled[n].events) n++;
    }
    return n;
}

/* When something has to be done, at the latest. */
static int find_timeout_ms(const tutti_elastic *e, double now_s)
{
    double wait_s = e->options.silence_s / BEATS / 2;
    if (e->opened) wait_s = fmin(wait_s, tutti_membership_due(&e->machine) - now_s);
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used && e->member[i].cut) wait_s = fmin(wait_s, 50e-3);
    return wait_s > 0 ? (int)ceil(1e3 * wait_s) : 0;
}

/* A rank that did not run cannot say that the others were silent: perhaps the whole job was stopped. */
static void forgive_silence(tutti_elastic *e, double late_s)
{
    if (late_s < e->options.silence_s / 2) return;
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used) e->member[i].control.heard_s += late_s;
}

static void serve_members(tutti_elastic *e, double now_s)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_member *m = &e->member[i];
        if (!m->used || m->cut) continue;
        tutti_elastic_control_beat(&m->control, e->options.silence_s / BEATS, now_s);
        tutti_elastic_control_flush(&m->control, now_s);
    }
}

static void pass_once(tutti_elastic *e)
{
    const double now_s = tutti_clock_s();
    tutti_elastic_accept(e);
    if (!e->opened && !e->over) tutti_elastic_begin(e);
    if (e->opened || e->over || e->stop) tutti_elastic_read_members(e, now_s);
    if (e->opened && !e->over) tutti_membership_tick(&e->machine, now_s);
    serve_members(e, now_s);
}

static int is_connected(const tutti_elastic *e)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used) return 1;
    return 0;
}

/* At the end, all connections are closed in order: each waits for the other end to close, but not for long. */
static void cut_all(tutti_elastic *e)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used) tutti_elastic_cut(&e->member[i]);
}

void *tutti_elastic_run(void *arg)
{
    struct pollfd polled[MOST_POLLED];
    tutti_elastic *e = arg;
    tutti_prompt_begin();
    pthread_mutex_lock(&e->lock);
    for (;;) {
        const double began_s = tutti_clock_s();
        if (e->stop) cut_all(e);
        pass_once(e);
        if (e->stop && !is_connected(e)) break;
        const int n = fill_polled(e, polled), timeout_ms = find_timeout_ms(e, tutti_clock_s());
        uint64_t woken;
        pthread_mutex_unlock(&e->lock);
        poll(polled, (nfds_t)n, timeout_ms);
        pthread_mutex_lock(&e->lock);
        while (read(e->wakeup, &woken, sizeof woken) > 0) continue;
        forgive_silence(e, tutti_clock_s() - began_s - 1e-3 * timeout_ms);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
