/* Who connects to this rank, and to whom this rank connects. */
#include "designs/elastic/elastic_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the door ---- */

static void answer_welcome(const tutti_elastic *e, int socket, tutti_elastic_purpose purpose)
{
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES];
    const tutti_elastic_words words = {.purpose = purpose, .hello = tutti_elastic_hello(e)};
    tutti_elastic_words_write(&words, bytes);
    tutti_tcp_answer(socket, TUTTI_TCP_WELCOME, bytes); /* a failure is seen when it is read */
}

static void answer_refused(int socket, tutti_tcp_verdict verdict, const char *why)
{
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES] = {0};
    snprintf((char *)bytes, sizeof bytes, "%s", why);
    tutti_tcp_answer(socket, verdict, bytes);
    close(socket);
}

/* Before the machine is open, the first ranks connect to those with lower numbers. */
static tutti_membership_verdict judge_first(
    const tutti_elastic *e, const tutti_membership_hello *h, char why[])
{
    const int is_first = tutti_elastic_rank(&e->first, h->id) >= 0;
    const char *wrong = NULL;
    if (h->version != TUTTI_MEMBERSHIP_VERSION)
        wrong = "another version of Tutti: install the same one everywhere";
    else if (h->run != e->options.run)
        wrong = "it belongs to another run";
    else if (h->options != e->options.options)
        wrong = "its options, or its version of Tutti, are not those of the run: start it with the "
                "same";
    else if (is_first && h->id <= e->options.self.id)
        wrong = "another rank has the number";
    snprintf(why, TUTTI_MEMBERSHIP_WHY, "%s", wrong ? wrong : "the run has not begun yet");
    if (wrong) return TUTTI_MEMBERSHIP_REFUSED;
    return is_first ? TUTTI_MEMBERSHIP_WELCOME : TUTTI_MEMBERSHIP_LATER;
}

/* Who calls sends nothing before the answer: it has given this connection up. */
static int has_left(int socket)
{
    char next;
    const ssize_t n = recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* One of the first ranks may have called before this rank could answer, given that up, and called again: only the last
 * connection counts. */
static int is_void(tutti_elastic *e, int socket, int64_t id)
{
    if (has_left(socket)) return 1;
    elastic_member *old = tutti_elastic_find(e, id);
    if (old && !e->opened && has_left(old->control.socket)) tutti_elastic_remove(old);
    return 0;
}

/* The machine may send to the newcomer before the answer has gone out: so that is held. */
static void accept_control(tutti_elastic *e, int socket, const tutti_membership_hello *h)
{
    if (is_void(e, socket, h->id)) {
        close(socket);
        return;
    }
    char why[TUTTI_MEMBERSHIP_WHY] = "there are too many connections";
    tutti_membership_verdict verdict = TUTTI_MEMBERSHIP_LATER;
    elastic_member *m = NULL;
    if (h->version == TUTTI_MEMBERSHIP_VERSION && tutti_elastic_find(e, h->id)) {
        snprintf(why, sizeof why, "another rank has the number %lld", (long long)h->id);
        /* two newcomers connect to each other: one connection is enough */
        if (!e->opened || e->machine.epoch) verdict = TUTTI_MEMBERSHIP_REFUSED;
    } else {
        m = tutti_elastic_add(e, h->id, socket, 1);
    }
    if (m && e->opened)
        verdict = tutti_membership_admit(&e->machine, h, why);
    else if (m)
        verdict = judge_first(e, h, why);
    if (m && verdict == TUTTI_MEMBERSHIP_WELCOME) {
        answer_welcome(e, socket, TUTTI_ELASTIC_CONTROL);
        tutti_elastic_release(e, m);
        return;
    }
    if (m) m->control.socket = -1;
    if (m) tutti_elastic_remove(m);
    if (verdict == TUTTI_MEMBERSHIP_REFUSED)
        tutti_log(TUTTI_LOG_WARN, "a newcomer is refused: %s", why);
    answer_refused(
        socket, verdict == TUTTI_MEMBERSHIP_REFUSED ? TUTTI_TCP_REFUSED : TUTTI_TCP_LATER, why);
}

/* An epoch that is over here, or that is still to come there, is no reason to fail: what the others know follows. */
static void accept_data(tutti_elastic *e, int socket, const tutti_elastic_words *w)
{
    const int fits = w->hello.version == TUTTI_MEMBERSHIP_VERSION &&
                     w->hello.run == e->options.run && w->to == e->options.self.id;
    if (!fits || !e->opened || w->epoch < e->machine.epoch ||
        !tutti_elastic_keep_data(e, w->epoch, w->hello.id, socket))
        answer_refused(socket, TUTTI_TCP_LATER, "it takes no data of this epoch");
    else
        answer_welcome(e, socket, TUTTI_ELASTIC_DATA);
}

void tutti_elastic_accept(tutti_elastic *e)
{
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES];
    char from[TUTTI_TCP_NAME];
    tutti_elastic_words words;
    int socket;
    while ((socket = tutti_tcp_listener_accept(e->door, bytes, from)) >= 0) {
        const char *wrong = tutti_elastic_words_read(bytes, &words);
        if (wrong) {
            tutti_log(TUTTI_LOG_WARN, "a connection from %s is refused: it %s", from, wrong);
            answer_refused(socket, TUTTI_TCP_REFUSED, wrong);
        } else if (e->over || e->stop) {
            answer_refused(socket, TUTTI_TCP_REFUSED, "the run has ended");
        } else if (words.purpose == TUTTI_ELASTIC_CONTROL) {
            accept_control(e, socket, &words.hello);
        } else {
            accept_data(e, socket, &words);
        }
    }
}

/* ---- the caller ---- */

static void stop_caller(tutti_elastic *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void stop_caller(tutti_elastic *e, const char *format, ...)
{
    char why[TUTTI_MEMBERSHIP_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    tutti_elastic_stop(e, why);
}

/* Without its contact, or one of the first ranks, this rank is nothing; another newcomer is only lost. */
static void give_up(tutti_elastic *e, const elastic_call *c, const char *why)
{
    if (!e->opened || c->id < 0)
        stop_caller(e, "no connection to the run: %s", why);
    else
        tutti_membership_lost(&e->machine, c->id, 0);
}

static void take_connection(
    tutti_elastic *e, const elastic_call *c, int socket, const unsigned char bytes[])
{
    tutti_elastic_words words;
    const char *wrong = tutti_elastic_words_read(bytes, &words);
    if (!wrong && words.purpose != TUTTI_ELASTIC_CONTROL) wrong = "answers something else";
    if (!wrong && words.hello.run != e->options.run) wrong = "belongs to another run";
    if (!wrong && c->id >= 0 && words.hello.id != c->id) wrong = "is another rank";
    const int usable = !wrong && !e->over && !tutti_elastic_find(e, words.hello.id);
    if (!usable || !tutti_elastic_add(e, words.hello.id, socket, 0)) {
        close(socket);
        if (wrong) {
            char why[TUTTI_MEMBERSHIP_WHY];
            snprintf(why, sizeof why, "%s %s", c->address, wrong);
            give_up(e, c, why);
        }
        return;
    }
    if (!e->opened) return;
    tutti_membership_entry to = {.id = words.hello.id};
    memcpy(to.address, words.hello.address, sizeof to.address);
    tutti_membership_connected(&e->machine, &to);
}

/* A contact trains, and answers at once. The first ranks, and newcomers, may still be beginning. */
static int is_gone(const tutti_elastic *e, const elastic_call *c, double now_s)
{
    return c->id < 0 && now_s - c->answered_s > e->options.silence_s;
}

/* The lock is not held while it connects. */
static void connect_call(tutti_elastic *e, elastic_call *call)
{
    static const double most_s = 2, pause_s = 50e-3;
    const elastic_call c = *call;
    const tutti_elastic_words words = {
        .purpose = TUTTI_ELASTIC_CONTROL, .hello = tutti_elastic_hello(e)};
    char host[TUTTI_ELASTIC_HOST], why[TUTTI_CONNECTION_WHY] = "";
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES], sent[TUTTI_TCP_WORDS_BYTES];
    int port = 0, later = 0, socket = -1;
    const double left_s = c.until_s - tutti_clock_s();
    tutti_elastic_words_write(&words, bytes);
    memcpy(sent, bytes, sizeof sent);
    if (c.id >= 0 && tutti_elastic_find(e, c.id)) { /* it has connected itself */
        call->used = 0;
        return;
    }
    tutti_elastic_address_read(c.address, host, &port);
    call->next_s = INFINITY;
    pthread_mutex_unlock(&e->lock);
    const tutti_tcp_call to = {.address = host,
        .port = port,
        .token = e->token,
        .timeout_s = left_s < most_s ? fmax(left_s, 0.1) : most_s};
    tutti_status status = tutti_tcp_connect(&to, bytes, &later, why, &socket);
    pthread_mutex_lock(&e->lock);
    const double now_s = tutti_clock_s();
    if (memcmp(sent, bytes, sizeof sent)) call->answered_s = now_s;
    call->used = status && later && now_s < c.until_s && !is_gone(e, call, now_s);
    call->next_s = now_s + pause_s;
    snprintf(e->later, sizeof e->later, "%s", status && later ? why : "");
    if (!status)
        take_connection(e, &c, socket, bytes);
    else if (!call->used)
        give_up(e, &c, later ? why : tutti_last_error());
    tutti_elastic_wake(e);
}

/* The one that has waited for longest, a new one first: a host that does not answer takes its time. */
static elastic_call *next_call(tutti_elastic *e, double *wait_s)
{
    const double now_s = tutti_clock_s();
    elastic_call *next = NULL;
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_call *c = &e->call[i];
        if (c->used && (!next || c->next_s < next->next_s)) next = c;
    }
    *wait_s = next ? fmin(next->next_s - now_s, 1) : 1;
    return *wait_s > 0 ? NULL : next;
}

void *tutti_elastic_run_caller(void *arg)
{
    tutti_elastic *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->stop && !e->over) {
        double wait_s;
        elastic_call *c = next_call(e, &wait_s);
        if (c) {
            connect_call(e, c);
            continue;
        }
        const struct timespec until = tutti_clock_after(wait_s);
        pthread_cond_timedwait(&e->changed, &e->lock, &until);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
