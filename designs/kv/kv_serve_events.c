#include "designs/kv/serve_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdlib.h>

int tutti_server_client_of(const tutti_server *s, int rank)
{
    return rank / s->kv->client_size;
}

/* ---- events ---- */

void tutti_server_happen(tutti_server *s, const tutti_kv_event *what)
{
    tutti_kv_event *e = malloc(sizeof *e);
    pthread_mutex_lock(&s->lock);
    if (e) {
        *e = *what;
        e->next = NULL;
        *s->end = e;
        s->end = &e->next;
    } else {
        s->failure = tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for what has come");
    }
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

static void land(void *arg)
{
    tutti_kv_flight *f = arg;
    tutti_server_happen(f->server, &(tutti_kv_event){.landed = f});
}

tutti_status tutti_server_fly(
    tutti_server *s, int rank, const tutti_kv_flight *what, tutti_handle data)
{
    const tutti_server_key *k = &s->key[what->slot];
    tutti_kv_flight *f = malloc(sizeof *f);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a message");
    *f = *what;
    f->server = s;
    const tutti_kv_message m = {.rank = rank,
        .slot = f->slot,
        .priority = f->priority,
        .data = data,
        .count = k->count,
        .dtype = k->dtype,
        .result = &f->result};
    s->client[f->client].flying++;
    tutti_status status = f->kind == TUTTI_FLIGHT_ANSWER ? tutti_kv_send_data(s->kv, &m)
                                                         : tutti_kv_recv_data(s->kv, &m);
    if (status) {
        free(f);
        return status;
    }
    return tutti_datum_when(
        data, land, f); /* a failure ends the server: then f may still be written to */
}

tutti_kv_event *tutti_server_take(tutti_server *s, tutti_status *status)
{
    static const double look_s = 20e-3; /* whether something has failed meanwhile */
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

/* ---- what came too early ---- */

tutti_status tutti_server_keep_early(tutti_server *s, const tutti_kv_event *e)
{
    tutti_kv_event **at = &s->early;
    tutti_kv_event *kept = malloc(sizeof *kept);
    if (!kept) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for what has come");
    *kept = *e;
    kept->next = NULL;
    while (*at) at = &(*at)->next;
    *at = kept;
    return TUTTI_OK;
}

void tutti_server_open_early(tutti_server *s)
{
    tutti_kv_event *early = s->early, **end = &early;
    if (!early) return;
    s->early = NULL;
    while (*end) end = &(*end)->next;
    pthread_mutex_lock(&s->lock);
    *end = s->first;
    if (!s->first) s->end = end;
    s->first = early;
    pthread_mutex_unlock(&s->lock);
}

int tutti_server_has_early(const tutti_server *s, int client)
{
    const tutti_kv_event *e = s->early;
    while (e && tutti_server_client_of(s, e->note.rank) != client) e = e->next;
    return e != NULL;
}

void tutti_server_drop_early(tutti_server *s, int client)
{
    for (tutti_kv_event **at = &s->early, *e; (e = *at);) {
        if (tutti_server_client_of(s, e->note.rank) != client) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        free(e);
    }
}
