#include "designs/kv/serve_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/prompt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- active messages ---- */

static tutti_status set_optimizer(tutti_server *s, const tutti_active_message *message)
{
    tutti_optimizer o;
    tutti_kv *kv = s->kv;
    int known = tutti_optimizer_unpack(message->value + 1, &o);
    if (!known || (kv->rule.type == TUTTI_KV_ELASTIC && o.kind != TUTTI_OPTIMIZER_ADD))
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d sets an optimizer that %s", message->rank,
            known ? "the type elastic does not have" : "this server does not know");
    if ((kv->chosen || s->keys) && !tutti_optimizer_is_same(&kv->optimizer, &o))
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "tutti_kv_set_optimizer: worker %d sets %s, but another has set %s, or with other "
            "settings",
            message->rank, tutti_optimizer_name(&o), tutti_optimizer_name(&kv->optimizer));
    kv->optimizer = o;
    kv->chosen = s->client[tutti_server_client_of(s, message->rank)].has_optimizer = 1;
    return TUTTI_OK;
}

/* In one mpirun worker 0 sends the first values. */
static tutti_status defer_unknown_key(tutti_server *s, const tutti_kv_event *e)
{
    if (s->kv->jobs.settings.on || !s->client[0].gone) return tutti_server_defer_event(s, e);
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "tutti_kv_serve: worker %d uses key number %" PRId64
        ", which worker 0 has left without making: every worker must make the same keys",
        e->message.rank, e->message.value[1]);
}

/* Another worker of the client may still make the key, on its own connection. */
static int has_made(const tutti_server *s, const tutti_active_message *message)
{
    int client = tutti_server_client_of(s, message->rank);
    return !tutti_server_tolerates(s) || s->key[message->value[1]].of[client].made;
}

static tutti_status handle_key_message(tutti_server *s, const tutti_kv_event *e)
{
    if (!tutti_server_has_room(s, e->message.value[1]))
        return tutti_server_refuse(s, e->message.rank, TUTTI_ERR_MISMATCH,
            "worker %d uses key number %" PRId64 ", which is out of range", e->message.rank,
            e->message.value[1]);
    if (!tutti_server_knows(s, e->message.value[1])) return defer_unknown_key(s, e);
    if (!has_made(s, &e->message)) return tutti_server_defer_event(s, e);
    return e->message.value[0] == TUTTI_KV_PUSH      ? tutti_server_on_push(s, &e->message)
           : e->message.value[0] == TUTTI_KV_RELEASE ? tutti_server_on_release(s, &e->message)
                                                     : tutti_server_on_pull(s, &e->message);
}

/* After its client's deferred pushes. */
static tutti_status handle_bye(tutti_server *s, const tutti_kv_event *e)
{
    return tutti_server_has_deferred(s, tutti_server_client_of(s, e->message.rank))
               ? tutti_server_defer_event(s, e)
               : tutti_server_on_bye(s, &e->message);
}

/* Messages of a client that has died are dropped. */
static int is_received(const tutti_server *s, const tutti_active_message *message)
{
    const tutti_server_client *c = &s->client[tutti_server_client_of(s, message->rank)];
    return message->value[0] == TUTTI_KV_JOINED || (!c->gone && !c->broken);
}

/* Active messages about second servers, although keys have one copy. */
static int is_unexpected(const tutti_server *s, const tutti_active_message *message)
{
    int64_t what = message->value[0];
    return tutti_kv_copies(s->kv) == 1 &&
           (what == TUTTI_KV_STAND_BY || what == TUTTI_KV_RELEASE || what == TUTTI_KV_TAKE_OVER);
}

static tutti_status handle_message(tutti_server *s, const tutti_kv_event *e)
{
    const tutti_active_message *message = &e->message;
    if (!is_received(s, message)) return TUTTI_OK;
    if (is_unexpected(s, message))
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_INTERNAL,
            "worker %d %s, but keys have no second server", message->rank,
            message->value[0] == TUTTI_KV_RELEASE ? "releases a pull that it has not made"
                                                  : "turns to a second server");
    switch ((tutti_kv_message_kind)message->value[0]) {
    case TUTTI_KV_OPTIMIZER:
        return set_optimizer(s, message);
    case TUTTI_KV_INIT:
        return tutti_server_on_init(s, e);
    case TUTTI_KV_PUSH:
    case TUTTI_KV_PULL:
    case TUTTI_KV_STAND_BY:
    case TUTTI_KV_RELEASE:
        return handle_key_message(s, e);
    case TUTTI_KV_BYE:
        return handle_bye(s, e);
    case TUTTI_KV_BARRIER:
        return tutti_server_on_barrier(s, message);
    case TUTTI_KV_FAILED:
        return tutti_server_on_failed(s, message);
    case TUTTI_KV_TAKE_OVER:
        return tutti_server_on_take_over(s, message);
    case TUTTI_KV_JOINED:
        return tutti_server_on_joined(s, message);
    case TUTTI_KV_LOST:
        return tutti_server_on_lost(s, message);
    case TUTTI_KV_END:
    case TUTTI_KV_STALL:
    case TUTTI_KV_WHY:
    case TUTTI_KV_NUMBER:
        break;
    }
    return tutti_server_refuse(s, message->rank, TUTTI_ERR_INTERNAL,
        "worker %d sends an unknown message (%" PRId64 ")", message->rank, message->value[0]);
}

static tutti_status handle_event(tutti_server *s, const tutti_kv_event *e)
{
    if (!e->completed) return handle_message(s, e);
    tutti_kv_transfer f = *e->completed;
    free(e->completed);
    s->client[f.client].in_flight--;
    tutti_status status = f.kind == TUTTI_TRANSFER_PUSH     ? tutti_server_complete_push(s, &f)
                          : f.kind == TUTTI_TRANSFER_ANSWER ? tutti_server_complete_answer(s, &f)
                                                            : tutti_server_complete_first(s, &f);
    return status ? status : tutti_server_may_leave(s, f.client);
}

tutti_status tutti_server_handle_event(tutti_server *s, const tutti_kv_event *e)
{
    tutti_status status = handle_event(s, e);
    return status ? status : tutti_server_reject(s);
}

/* ---- serving ---- */

static void queue_message(void *ctx, const tutti_active_message *message)
{
    tutti_server_queue_event(ctx, &(tutti_kv_event){.message = *message});
}

/* A worker that has closed its store without BYE, as after a failure, sends nothing more. */
static tutti_status check_departed_workers(tutti_server *s)
{
    tutti_kv *kv = s->kv;
    for (int w = 0; w < kv->workers && !kv->jobs.settings.on; w++) {
        int client = tutti_server_client_of(s, w);
        if (s->client[client].gone || !kv->transport->has_left(kv, w)) continue;
        s->blamed = client;
        return tutti_fail(TUTTI_ERR_COMM,
            "tutti_kv_serve: worker %d has left without closing its store, or after a failure: the "
            "run ends",
            w);
    }
    return TUTTI_OK;
}

/* Until no client is left. Waits for an event end after a moment. */
static tutti_status serve_clients(tutti_server *s)
{
    tutti_status status = TUTTI_OK;
    while (!status && tutti_server_has_clients(s, &status)) {
        tutti_kv_event *e = tutti_server_next_event(s, &status);
        if (!e && !status) {
            status = s->kv->transport->wait(s->kv, 0);
            if (status == TUTTI_ERR_TIMEOUT) status = TUTTI_OK;
            if (!status) status = check_departed_workers(s);
            tutti_server_report_waiting(s);
            continue;
        }
        if (e && !status) status = tutti_server_handle_event(s, e);
        free(e);
    }
    return status;
}

static tutti_status open_server(tutti_kv *kv, tutti_server *s)
{
    static const tutti_consistency barriers = {.type = TUTTI_KV_SYNC};
    int jobs = kv->jobs.settings.on;
    size_t clients = (size_t)(jobs ? kv->jobs.client_list.room : kv->clients);
    *s = (tutti_server){.kv = kv,
        .clients = (int)clients,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .client = calloc(clients, sizeof *s->client),
        .round = calloc(clients, sizeof *s->round),
        .began_s = tutti_clock_s(),
        .died_last = -1,
        .blamed = -1,
        .lost = -1,
        .refused = -1,
        .unset = kv->optimizer};
    s->end = &s->first;
    tutti_clock_cond_init(&s->more);
    if (!s->client || !s->round) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory");
    tutti_status status = tutti_push_ledger_open(&barriers, s->clients, &s->barriers);
    for (int c = 0; c < s->clients && !status; c++) {
        s->client[c].here = !jobs;
        s->client[c].gone = c >= kv->clients;
        s->gone += s->client[c].gone;
        if (s->client[c].gone) tutti_push_ledger_leave(&s->barriers, c);
    }
    return status;
}

tutti_status tutti_server_open(tutti_kv *kv, tutti_server **server)
{
    tutti_server *s = *server = malloc(sizeof *s);
    return s ? open_server(kv, s) : tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory");
}

static void free_events(tutti_kv_event *all)
{
    for (tutti_kv_event *next; all; all = next) {
        next = all->next;
        free(all);
    }
}

void tutti_server_close(tutti_server *s)
{
    for (int slot = 0; slot < s->keys; slot++)
        if (s->key[slot].state != TUTTI_KEY_NONE) tutti_server_close_key(s, &s->key[slot]);
    free_events(s->first);
    free_events(s->deferred);
    tutti_push_ledger_close(&s->barriers);
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
    tutti_server *s;
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_serve", 1);
    if (status) return status;
    status = tutti_server_open(kv, &s);
    if (!s) return status;
    if (!status) status = kv->transport->listen(kv, queue_message, s);
    unsigned long long prompt = tutti_prompt_begin(); /* clients wait for this thread */
    if (!status) status = serve_clients(s);
    tutti_prompt_end(prompt);
    if (!status) status = kv->transport->wait(kv, patience_s);
    kv->transport->listen(kv, NULL, NULL);
    tutti_server_send_end(s, status);
    /* After a failure transfers may never end: then nothing is freed. */
    if (!status) tutti_server_close(s);
    return tutti_session_leave("tutti_kv_serve", errors, status);
}
