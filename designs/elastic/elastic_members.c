/* The control connections, and what the machine says to do. */
#include "designs/elastic/elastic_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void tutti_elastic_wake(const tutti_elastic *e)
{
    const uint64_t one = 1;
    ssize_t n = write(e->wakeup, &one, sizeof one);
    (void)n; /* full: it is awake */
}

tutti_membership_hello tutti_elastic_hello(const tutti_elastic *e)
{
    tutti_membership_hello hello = {.version = TUTTI_MEMBERSHIP_VERSION,
        .id = e->options.self.id,
        .run = e->options.run,
        .options = e->options.options};
    memcpy(hello.address, e->options.self.address, sizeof hello.address);
    return hello;
}

/* ---- connections ---- */

elastic_member *tutti_elastic_find(tutti_elastic *e, int64_t id)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used && !e->member[i].cut && e->member[i].id == id) return &e->member[i];
    return NULL;
}

elastic_member *tutti_elastic_add(tutti_elastic *e, int64_t id, int socket, int held)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_member *m = &e->member[i];
        if (m->used) continue;
        *m = (elastic_member){.used = 1, .id = id};
        tutti_elastic_control_open(&m->control, socket, tutti_clock_s());
        m->control.held = held;
        if (!held) tutti_elastic_keeper_keep(&e->keeper, socket);
        return m;
    }
    return NULL;
}

void tutti_elastic_release(tutti_elastic *e, elastic_member *m)
{
    tutti_elastic_keeper_keep(&e->keeper, m->control.socket);
    m->control.held = 0;
    tutti_elastic_control_flush(&m->control, tutti_clock_s());
}

void tutti_elastic_remove(elastic_member *m)
{
    tutti_elastic_control_close(&m->control);
    m->used = 0;
}

/* What was sent before has to arrive, or the end must not look as if it were in order. */
void tutti_elastic_cut(elastic_member *m)
{
    static const double push_s = 0.2, linger_s = 2;
    if (m->cut) return;
    tutti_elastic_control_push(&m->control, push_s);
    tutti_elastic_control_shut(&m->control);
    m->cut = 1;
    m->cut_s = tutti_clock_s() + linger_s;
}

/* Reads what a rank still sends after it was cut, since closing with unread data resets the connection. */
static void read_rest(elastic_member *m, double now_s)
{
    tutti_membership_message rest;
    while (tutti_elastic_control_read(&m->control, &rest, now_s)) continue;
    if (m->control.end || now_s > m->cut_s) tutti_elastic_remove(m);
}

/* The machine may cut it meanwhile. */
static void read_messages(tutti_elastic *e, elastic_member *m, double now_s)
{
    tutti_membership_message message;
    while (!m->cut && tutti_elastic_control_read(&m->control, &message, now_s))
        tutti_membership_receive(&e->machine, m->id, &message);
}

static void report_end(tutti_elastic *e, elastic_member *m)
{
    const int64_t id = m->id;
    const int certain = m->control.end == TUTTI_ELASTIC_IN_ORDER;
    tutti_log(TUTTI_LOG_DEBUG, "rank %lld %s", (long long)id,
        certain ? "has closed the connection" : m->control.why);
    tutti_elastic_remove(m);
    tutti_membership_lost(&e->machine, id, certain);
}

/* It stays connected: an OUT may still be sent to it. */
static void check_silence(tutti_elastic *e, elastic_member *m, double now_s)
{
    if (m->suspected || now_s - m->control.heard_s <= e->options.silence_s) return;
    tutti_log(TUTTI_LOG_DEBUG, "rank %lld is silent", (long long)m->id);
    m->suspected = 1;
    tutti_membership_lost(&e->machine, m->id, 0);
}

/* Reads all messages that have arrived before it reports the end of any connection. */
void tutti_elastic_read_members(tutti_elastic *e, double now_s)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used && !e->member[i].cut) read_messages(e, &e->member[i], now_s);
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_member *m = &e->member[i];
        if (m->used && m->cut)
            read_rest(m, now_s);
        else if (m->used && m->control.end)
            report_end(e, m);
        else if (m->used)
            check_silence(e, m, now_s);
    }
}

void tutti_elastic_call(tutti_elastic *e, int64_t id, const char *address)
{
    const double now_s = tutti_clock_s();
    char host[TUTTI_ELASTIC_HOST];
    int port;
    if (!tutti_elastic_address_read(address, host, &port)) {
        tutti_log(TUTTI_LOG_WARN, "rank %lld has the address '%s', which is not HOST:PORT",
            (long long)id, address);
        return;
    }
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_call *c = &e->call[i];
        if (c->used) continue;
        *c = (elastic_call){
            .used = 1, .id = id, .answered_s = now_s, .until_s = now_s + e->options.join_s};
        snprintf(c->address, sizeof c->address, "%s", address);
        pthread_cond_broadcast(&e->changed);
        return;
    }
}

/* ---- what the machine says to do ---- */

/* An OUT is in the kernel before the COMMIT that excludes its receiver is sent: it arrives even if this process dies
 * in between. */
static void act_send(void *ctx, int64_t to, const tutti_membership_message *message)
{
    static const double push_s = 0.2;
    elastic_member *m = tutti_elastic_find(ctx, to);
    if (!m) return;
    tutti_elastic_control_send(&m->control, message, tutti_clock_s());
    if (message->kind == TUTTI_MEMBERSHIP_OUT) tutti_elastic_control_push(&m->control, push_s);
}

static void act_leave(void *ctx, int64_t epoch, int gently)
{
    tutti_elastic *e = ctx;
    (void)epoch;
    e->wants = gently ? 1 : 2;
    if (!gently) atomic_store(&e->broken, 1);
    pthread_cond_broadcast(&e->changed);
}

static void act_enter(void *ctx, const tutti_membership *next)
{
    tutti_elastic *e = ctx;
    e->next = *next;
    e->has_next = 1;
    e->wants = 0;
    e->valid = next->snapshot;
    tutti_elastic_drop_data(e, next->epoch);
    pthread_cond_broadcast(&e->changed);
}

static void act_connect(void *ctx, const tutti_membership_entry *to)
{
    tutti_elastic_call(ctx, to->id, to->address);
}

static void act_cut(void *ctx, int64_t id)
{
    elastic_member *m = tutti_elastic_find(ctx, id);
    if (m) tutti_elastic_cut(m);
}

static void end_all(tutti_elastic *e, int over, const char *why)
{
    if (e->over) return;
    e->over = over;
    atomic_store(&e->broken, 1);
    snprintf(e->why, sizeof e->why, "%s", why);
    for (int i = 0; i < ELASTIC_MEMBERS; i++)
        if (e->member[i].used) tutti_elastic_cut(&e->member[i]);
    pthread_cond_broadcast(&e->changed);
}

void tutti_elastic_stop(tutti_elastic *e, const char *why)
{
    end_all(e, 2, why);
}

static void act_stop(void *ctx, const char *why)
{
    tutti_elastic *e = ctx;
    char both[2 * TUTTI_MEMBERSHIP_WHY];
    snprintf(both, sizeof both, "%s%s%s", why, *e->later ? ": " : "", e->later);
    end_all(e, 2, both);
}

static void act_finish(void *ctx)
{
    end_all(ctx, 1, "");
}

const tutti_membership_acts tutti_elastic_acts = {
    .send = act_send,
    .leave = act_leave,
    .enter = act_enter,
    .connect = act_connect,
    .cut = act_cut,
    .stop = act_stop,
    .finish = act_finish,
};
