#include "designs/kv/serve_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tutti_server_client_of(const tutti_server *s, int rank)
{
    return rank / s->kv->client_size;
}

/* ---- events ---- */

void tutti_server_queue_event(tutti_server *s, const tutti_kv_event *what)
{
    tutti_kv_event *e = malloc(sizeof *e);
    pthread_mutex_lock(&s->lock);
    if (e) {
        *e = *what;
        e->next = NULL;
        *s->end = e;
        s->end = &e->next;
    } else {
        s->failure = tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for an event");
    }
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

static void queue_completed(void *arg)
{
    tutti_kv_transfer *f = arg;
    tutti_server_queue_event(f->server, &(tutti_kv_event){.completed = f});
}

tutti_status tutti_server_submit(
    tutti_server *s, int rank, const tutti_kv_transfer *what, tutti_handle data)
{
    const tutti_server_key *k = &s->key[what->slot];
    tutti_kv_transfer *f = malloc(sizeof *f);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a message");
    *f = *what;
    f->server = s;
    f->rank = rank;
    const tutti_kv_message m = {.rank = rank,
        .slot = f->slot,
        .priority = f->priority,
        .data = data,
        .count = k->count,
        .dtype = k->dtype,
        .result = &f->result};
    s->client[f->client].in_flight++;
    tutti_status status = f->kind == TUTTI_TRANSFER_ANSWER ? tutti_kv_send_data(s->kv, &m)
                                                           : tutti_kv_recv_data(s->kv, &m);
    if (status) {
        free(f);
        return status;
    }
    return tutti_datum_when(data, queue_completed,
        f); /* on failure the server ends without freeing f, which may still be written to */
}

/* ---- invalid messages ---- */

int tutti_server_tolerates(const tutti_server *s)
{
    return s->kv->jobs.settings.on && s->kv->rule.type != TUTTI_KV_SYNC;
}

tutti_status tutti_server_refuse(
    tutti_server *s, int rank, tutti_status status, const char *format, ...)
{
    char why[TUTTI_KV_SENTENCE + 1];
    int client = tutti_server_client_of(s, rank);
    const tutti_server_client *c = &s->client[client];
    va_list args;
    memset(why, 0, sizeof why);
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (!tutti_server_tolerates(s)) return tutti_fail(status, "tutti_kv_serve: %s", why);
    if (c->gone || c->broken || s->refused >= 0) return TUTTI_OK;
    s->refused = client;
    s->refusal = status;
    memcpy(s->why, why, sizeof s->why);
    return TUTTI_OK;
}

tutti_status tutti_server_check_completed(
    tutti_server *s, const tutti_kv_transfer *f, const char *what, int key)
{
    if (!f->result || f->result == TUTTI_ERR_COMM) return TUTTI_OK;
    return tutti_server_refuse(s, f->rank, f->result,
        "%s of key %d, between this server and worker %d, has another size there (%s)", what, key,
        f->rank, tutti_status_name(f->result));
}

tutti_kv_event *tutti_server_next_event(tutti_server *s, tutti_status *status)
{
    static const double look_s = 20e-3; /* to notice failures */
    struct timespec until = tutti_clock_after(look_s);
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->failure)
        if (pthread_cond_timedwait(&s->more, &s->lock, &until)) break;
    tutti_kv_event *e = s->first;
    if (e) s->first = e->next;
    if (!s->first) s->end = &s->first;
    *status = s->failure;
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* ---- deferred events ---- */

tutti_status tutti_server_defer_event(tutti_server *s, const tutti_kv_event *e)
{
    tutti_kv_event **at = &s->deferred;
    tutti_kv_event *kept = malloc(sizeof *kept);
    if (!kept) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for an event");
    *kept = *e;
    kept->next = NULL;
    while (*at) at = &(*at)->next;
    *at = kept;
    return TUTTI_OK;
}

void tutti_server_requeue_deferred(tutti_server *s)
{
    tutti_kv_event *deferred = s->deferred, **end = &deferred;
    if (!deferred) return;
    s->deferred = NULL;
    while (*end) end = &(*end)->next;
    pthread_mutex_lock(&s->lock);
    *end = s->first;
    if (!s->first) s->end = end;
    s->first = deferred;
    pthread_mutex_unlock(&s->lock);
}

int tutti_server_has_deferred(const tutti_server *s, int client)
{
    const tutti_kv_event *e = s->deferred;
    while (e && tutti_server_client_of(s, e->message.rank) != client) e = e->next;
    return e != NULL;
}

void tutti_server_drop_deferred(tutti_server *s, int client)
{
    for (tutti_kv_event **at = &s->deferred, *e; (e = *at);) {
        if (tutti_server_client_of(s, e->message.rank) != client) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        free(e);
    }
}
