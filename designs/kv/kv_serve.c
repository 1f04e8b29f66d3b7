#include "designs/kv/kv_serve.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int tutti_server_client_of(const tutti_server *s, int rank)
{
    return rank / s->kv->client_size;
}

/* ---- events ---- */

void tutti_server_happen(tutti_server *s, const tutti_event *what)
{
    tutti_event *e = malloc(sizeof *e);
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

static void hear(void *ctx, const tutti_note *note)
{
    tutti_server_happen(ctx, &(tutti_event){.note = *note});
}

static void land(void *arg)
{
    tutti_flight *f = arg;
    tutti_server_happen(f->server, &(tutti_event){.landed = f});
}

tutti_status tutti_server_fly(
    tutti_server *s, int rank, const tutti_flight *what, tutti_handle data)
{
    const tutti_server_key *k = &s->key[what->slot];
    const tutti_road *road = s->kv->road;
    tutti_flight *f = malloc(sizeof *f);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a message");
    *f = *what;
    f->server = s;
    const tutti_kv_message m = {.rank = rank,
        .slot = f->slot,
        .data = data,
        .count = k->count,
        .dtype = k->dtype,
        .result = &f->result};
    s->client[f->client].flying++;
    tutti_status status =
        f->kind == TUTTI_FLIGHT_ANSWER ? road->send(s->kv, &m) : road->recv(s->kv, &m);
    if (status) {
        free(f);
        return status;
    }
    return tutti_datum_when(
        data, land, f); /* a failure ends the server: then f may still be written to */
}

/* The next event, which the caller frees; NULL after a while without one. */
static tutti_event *take(tutti_server *s, tutti_status *status)
{
    static const double look_s = 20e-3; /* whether something has failed meanwhile */
    struct timespec until = tutti_clock_after(look_s);
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->failure)
        if (pthread_cond_timedwait(&s->more, &s->lock, &until)) break;
    tutti_event *e = s->first;
    if (e) s->first = e->next;
    if (!s->first) s->end = &s->first;
    *status = s->failure;
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* ---- what came too early ---- */

tutti_status tutti_server_keep_early(tutti_server *s, const tutti_event *e)
{
    tutti_event **at = &s->early;
    tutti_event *kept = malloc(sizeof *kept);
    if (!kept) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for what has come");
    *kept = *e;
    kept->next = NULL;
    while (*at) at = &(*at)->next;
    *at = kept;
    return TUTTI_OK;
}

void tutti_server_open_early(tutti_server *s)
{
    tutti_event *early = s->early, **end = &early;
    if (!early) return;
    s->early = NULL;
    while (*end) end = &(*end)->next;
    pthread_mutex_lock(&s->lock);
    *end = s->first;
    if (!s->first) s->end = end;
    s->first = early;
    pthread_mutex_unlock(&s->lock);
}

void tutti_server_drop_early(tutti_server *s, int client)
{
    for (tutti_event **at = &s->early, *e; (e = *at);) {
        if (tutti_server_client_of(s, e->note.rank) != client) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        free(e);
    }
}

/* ---- notes ---- */

static tutti_status choose(tutti_server *s, const tutti_note *note)
{
    tutti_optimizer o;
    tutti_kv *kv = s->kv;
    int64_t known[TUTTI_OPTIMIZER_WORDS];
    tutti_optimizer_pack(&kv->optimizer, known);
    if (kv->chosen && memcmp(known, note->value + 1, sizeof known)) {
        tutti_optimizer_unpack(note->value + 1, &o);
        return tutti_fail(TUTTI_ERR_MISMATCH,
            "tutti_kv_set_optimizer: worker %d sets %s, but another has set %s, or with other "
            "settings",
            note->rank, tutti_optimizer_name(&o), tutti_optimizer_name(&kv->optimizer));
    }
    tutti_optimizer_unpack(note->value + 1, &kv->optimizer);
    kv->chosen = 1;
    return TUTTI_OK;
}

static tutti_status read_of_key(tutti_server *s, const tutti_event *e)
{
    if (!tutti_server_knows(s, e->note.value[1])) return tutti_server_keep_early(s, e);
    return e->note.value[0] == TUTTI_KV_PUSH ? tutti_server_announce(s, &e->note)
                                             : tutti_server_ask(s, &e->note);
}

/* What a client that has died had written is not read. */
static int is_heard(const tutti_server *s, const tutti_note *note)
{
    const tutti_server_client *c = &s->client[tutti_server_client_of(s, note->rank)];
    return note->value[0] == TUTTI_KV_JOINED || (!c->gone && !c->dying);
}

static tutti_status read_note(tutti_server *s, const tutti_event *e)
{
    const tutti_note *note = &e->note;
    if (!is_heard(s, note)) return TUTTI_OK;
    switch ((tutti_kv_note)note->value[0]) {
    case TUTTI_KV_OPTIMIZER:
        return choose(s, note);
    case TUTTI_KV_INIT:
        return tutti_server_init(s, e);
    case TUTTI_KV_PUSH:
    case TUTTI_KV_PULL:
        return read_of_key(s, e);
    case TUTTI_KV_BYE:
        return tutti_server_hear_bye(s, note);
    case TUTTI_KV_MEET:
        return tutti_server_meet(s, note);
    case TUTTI_KV_FAILED:
        return tutti_server_hear_failed(s, note);
    case TUTTI_KV_JOINED:
        return tutti_server_join(s, note);
    case TUTTI_KV_LOST:
        return tutti_server_lose(s, note);
    case TUTTI_KV_END:
    case TUTTI_KV_STALL:
    case TUTTI_KV_NUMBER:
        break;
    }
    return tutti_fail(TUTTI_ERR_INTERNAL, "tutti_kv_serve: worker %d writes %" PRId64, note->rank,
        note->value[0]);
}

static tutti_status react(tutti_server *s, const tutti_event *e)
{
    if (!e->landed) return read_note(s, e);
    tutti_flight f = *e->landed;
    free(e->landed);
    s->client[f.client].flying--;
    tutti_status status = f.kind == TUTTI_FLIGHT_PUSH     ? tutti_server_take_in(s, &f)
                          : f.kind == TUTTI_FLIGHT_ANSWER ? tutti_server_take_back(s, &f)
                                                          : tutti_server_take_first(s, &f);
    return status ? status : tutti_server_may_leave(s, f.client);
}

/* ---- serving ---- */

static tutti_status serve(tutti_server *s)
{
    tutti_status status = TUTTI_OK;
    while (!status && tutti_server_has_guests(s, &status)) {
        tutti_event *e = take(s, &status);
        if (!e && !status) {
            status = s->kv->road->wait(s->kv, 0);
            if (status == TUTTI_ERR_TIMEOUT) status = TUTTI_OK;
            tutti_server_tell_waiting(s);
            continue;
        }
        if (e && !status) status = react(s, e);
        free(e);
    }
    return status;
}

static tutti_status open_server(tutti_kv *kv, tutti_server *s)
{
    static const tutti_book_rule meetings = {TUTTI_KV_SYNC, 0};
    int jobs = kv->jobs.settings.on;
    size_t clients = (size_t)(jobs ? kv->jobs.guests.room : kv->clients);
    *s = (tutti_server){.kv = kv,
        .clients = (int)clients,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .client = calloc(clients, sizeof *s->client),
        .round = calloc(clients, sizeof *s->round),
        .began_s = tutti_clock_s(),
        .died_last = -1,
        .blamed = -1};
    s->end = &s->first;
    tutti_clock_cond_init(&s->more);
    if (!s->client || !s->round) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory");
    tutti_status status = tutti_book_open(&meetings, s->clients, &s->meetings);
    for (int c = 0; c < s->clients && !status; c++) {
        s->client[c].here = !jobs;
        s->client[c].gone = c >= kv->clients;
        s->gone += s->client[c].gone;
        if (s->client[c].gone) tutti_book_leave(&s->meetings, c);
    }
    return status;
}

static void free_events(tutti_event *all)
{
    for (tutti_event *next; all; all = next) {
        next = all->next;
        free(all);
    }
}

/* After a failure data may be on their way for ever: then all stays as it is. */
static void close_server(tutti_server *s, int whole)
{
    for (int slot = 0; slot < s->keys && whole; slot++)
        if (s->key[slot].state != TUTTI_KEY_NONE) tutti_server_close_key(s, &s->key[slot]);
    if (!whole) return;
    free_events(s->first);
    free_events(s->early);
    tutti_book_close(&s->meetings);
    free(s->key);
    free(s->client);
    free(s->round);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    free(s);
}

tutti_status tutti_kv_serve(tutti_kv *kv)
{
    static const double patience_s = 60;
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_serve", 1);
    if (status) return status;
    tutti_server *s = malloc(sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory");
    status = open_server(kv, s);
    if (!status) status = kv->road->listen(kv, hear, s);
    if (!status) status = serve(s);
    if (!status) status = kv->road->wait(kv, patience_s);
    kv->road->listen(kv, NULL, NULL);
    tutti_server_say_end(s, status);
    close_server(s, !status);
    return tutti_session_leave("tutti_kv_serve", errors, status);
}
