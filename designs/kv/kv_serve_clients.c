#include "designs/kv/serve_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int is_sync(const tutti_server *s)
{
    return s->kv->rule.type == TUTTI_KV_SYNC;
}

static int between_jobs(const tutti_server *s)
{
    return s->kv->jobs.settings.on;
}

/* ---- clients ---- */

/* The thread of the connections uses the list of clients, too. */
static void set_client_state(tutti_server *s, int client, tutti_client_state state)
{
    if (!between_jobs(s)) return;
    pthread_mutex_lock(&s->kv->jobs.lock);
    if (state == TUTTI_CLIENT_GONE)
        tutti_client_list_leave(&s->kv->jobs.client_list, client);
    else
        s->kv->jobs.client_list.client_entry[client].state = state;
    pthread_mutex_unlock(&s->kv->jobs.lock);
}

static tutti_client_entry client_entry_of(tutti_server *s, int client)
{
    pthread_mutex_lock(&s->kv->jobs.lock);
    tutti_client_entry client_entry = s->kv->jobs.client_list.client_entry[client];
    pthread_mutex_unlock(&s->kv->jobs.lock);
    return client_entry;
}

static void write_client(
    tutti_server *s, int client, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    int size = s->kv->client_size;
    for (int w = 0; w < size; w++) s->kv->transport->write(s->kv, client * size + w, value);
}

static void cut_client(tutti_server *s, int client, int gently)
{
    int size = s->kv->client_size;
    for (int w = 0; w < size; w++)
        tutti_connections_cut(s->kv->jobs.connections, client * size + w, gently);
}

/* ---- barriers ---- */

static void release_barriers(tutti_server *s)
{
    static const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES] = {TUTTI_KV_BARRIER};
    for (int n; (n = tutti_push_ledger_round(&s->barriers, s->round));)
        for (int i = 0; i < n; i++)
            s->kv->transport->write(s->kv, s->round[i] * s->kv->client_size, value);
}

tutti_status tutti_server_on_barrier(tutti_server *s, const tutti_active_message *message)
{
    tutti_push_ledger_arrive(&s->barriers, tutti_server_client_of(s, message->rank));
    release_barriers(s);
    return TUTTI_OK;
}

/* ---- leaving ---- */

/* Keys whose first value is in flight have a ledger, too. */
static tutti_status remove_client(tutti_server *s, int client)
{
    tutti_status status = TUTTI_OK;
    s->client[client].gone = 1;
    s->gone++;
    for (int slot = 0; slot < s->keys && !status; slot++) {
        if (s->key[slot].state == TUTTI_KEY_NONE) continue;
        tutti_push_ledger_leave(&s->key[slot].ledger, client);
        status = tutti_server_add_rounds(s, slot);
    }
    tutti_push_ledger_leave(&s->barriers, client);
    release_barriers(s);
    tutti_server_requeue_deferred(s); /* another client may now send first values */
    return status;
}

/* Drops the pending requests of a client that died or never came; none of its transfers are in flight. */
static tutti_status forget_client(tutti_server *s, int client)
{
    tutti_server_client *c = &s->client[client];
    for (int slot = 0; slot < s->keys; slot++) {
        tutti_server_key *k = &s->key[slot];
        if (!k->of) continue;
        tutti_server_drop_pushes(&k->of[client]);
        tutti_server_drop_pulls(&k->of[client]);
    }
    tutti_server_drop_deferred(s, client);
    c->awaited = 0;
    c->broken = 0;
    s->died_last = client;
    s->died_s = tutti_clock_s();
    return remove_client(s, client);
}

static tutti_status discard_client(tutti_server *s, int client)
{
    tutti_status status = forget_client(s, client);
    set_client_state(s, client, TUTTI_CLIENT_GONE);
    return status;
}

/* A client has left when all its workers have sent BYE and its last push has arrived; a client that died, when its
 * transfers have ended. Between jobs it then gets END, except in sync, where all end together. */
tutti_status tutti_server_may_leave(tutti_server *s, int client)
{
    tutti_server_client *c = &s->client[client];
    if (c->gone || c->in_flight) return TUTTI_OK;
    if (c->broken) return discard_client(s, client);
    if (c->byes < s->kv->client_size || c->awaited || !c->here) return TUTTI_OK;
    s->left_with_bye++;
    tutti_status status = remove_client(s, client);
    if (!between_jobs(s) || is_sync(s)) return status;
    write_client(s, client, (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){TUTTI_KV_END, status, -1, -1});
    cut_client(s, client, 1);
    set_client_state(s, client, TUTTI_CLIENT_GONE);
    return status;
}

tutti_status tutti_server_on_bye(tutti_server *s, const tutti_active_message *message)
{
    int client = tutti_server_client_of(s, message->rank);
    s->client[client].byes++;
    return tutti_server_may_leave(s, client);
}

/* ---- joining ---- */

/* A client's first worker has connected. A client that was gone joins a key's ledger when it makes the key: no client
 * waits for its pushes before that. If no client was here, its number of workers is used from now on; messages of
 * earlier clients are before this one in the queue. */
tutti_status tutti_server_on_joined(tutti_server *s, const tutti_active_message *message)
{
    if (message->value[1] > 0) s->kv->client_size = (int)message->value[1];
    int client = tutti_server_client_of(s, message->rank);
    tutti_server_client *c = &s->client[client];
    const tutti_client_entry client_entry = client_entry_of(s, client);
    s->lost = -1;
    tutti_log(TUTTI_LOG_INFO, "client %d %s, from %s, process %d", client,
        !c->gone                  ? "is here"
        : client < s->kv->clients ? "is back"
                                  : "joins",
        client_entry.host, client_entry.process);
    if (c->gone) s->gone--;
    *c = (tutti_server_client){.here = 1};
    for (int slot = 0; slot < s->keys; slot++) {
        tutti_key_client *of = s->key[slot].of ? &s->key[slot].of[client] : NULL;
        if (of) of->made = 0;
        if (of) of->announced = 0;
    }
    tutti_push_ledger_join(&s->barriers, client);
    return TUTTI_OK;
}

/* ---- dying ---- */

/* Cuts its connections; the client is gone once its transfers have ended. */
static tutti_status drop_client(tutti_server *s, int client, int gently)
{
    s->client[client].broken = 1;
    set_client_state(s, client, TUTTI_CLIENT_LOST);
    cut_client(s, client, gently);
    return tutti_server_may_leave(s, client);
}

static tutti_status fail_without_client(tutti_server *s, int client, const char *why)
{
    s->blamed = client;
    return tutti_fail(TUTTI_ERR_COMM, "%s: with sync the run cannot continue without it", why);
}

/* A worker's connection has broken: its client is lost, unless it has sent BYE. */
tutti_status tutti_server_on_lost(tutti_server *s, const tutti_active_message *message)
{
    char why[512];
    int client = tutti_server_client_of(s, message->rank);
    tutti_server_client *c = &s->client[client];
    if (c->gone || c->broken || c->byes >= s->kv->client_size) return TUTTI_OK;
    const tutti_client_entry client_entry = client_entry_of(s, client);
    snprintf(why, sizeof why, "client %d has died: its worker %d on %s (process %d) %s", client,
        message->rank, client_entry.host, client_entry.process, client_entry.why);
    if (is_sync(s)) return fail_without_client(s, client, why);
    tutti_log(TUTTI_LOG_WARN, "%s; the others continue, and it may return", why);
    return drop_client(s, client, 0);
}

tutti_status tutti_server_reject(tutti_server *s)
{
    int client = s->refused;
    if (client < 0) return TUTTI_OK;
    s->refused = -1;
    tutti_log(TUTTI_LOG_WARN, "client %d is refused: %s; the others continue", client, s->why);
    for (int64_t piece = 0; piece < TUTTI_KV_PIECES; piece++) {
        int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES] = {TUTTI_KV_WHY, piece};
        memcpy(&value[2], s->why + piece * TUTTI_KV_PIECE, TUTTI_KV_PIECE);
        write_client(s, client, value);
    }
    write_client(
        s, client, (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){TUTTI_KV_END, s->refusal, -1, -1});
    return drop_client(s, client, 1);
}

static tutti_status fail_lost_server(const tutti_server *s)
{
    return tutti_fail(
        TUTTI_ERR_COMM, "worker %d has lost server %d: the run ends", s->lost_by, s->lost);
}

/* Where the server tolerates dead clients, only this client ends. If the others have lost that server, too, they end as
 * well, and the last of them ends the run. */
tutti_status tutti_server_on_failed(tutti_server *s, const tutti_active_message *message)
{
    int client = tutti_server_client_of(s, message->rank);
    s->lost = (int)message->value[1];
    s->lost_by = message->rank;
    if (!tutti_server_tolerates(s)) return fail_lost_server(s);
    tutti_log(TUTTI_LOG_WARN,
        "client %d ends: its worker %d has lost server %d; the others continue", client,
        message->rank, s->lost);
    return drop_client(s, client, 1);
}

/* Every worker sends it, when it notices the loss. */
tutti_status tutti_server_on_take_over(tutti_server *s, const tutti_active_message *message)
{
    if (!s->took_over)
        tutti_log(TUTTI_LOG_WARN,
            "server %" PRId64 " is lost: server %d, which has the same keys, continues with them; "
            "no other server has them now",
            message->value[1], s->kv->server);
    s->took_over = 1;
    return TUTTI_OK;
}

/* ---- the end ---- */

/* Returns 0 if the client has connected meanwhile: the message that says so is in the queue. */
static int expects_no_more(tutti_server *s, int client)
{
    tutti_kv_jobs *j = &s->kv->jobs;
    pthread_mutex_lock(&j->lock);
    const int expected = j->client_list.client_entry[client].state == TUTTI_CLIENT_EXPECTED;
    if (expected) tutti_client_list_leave(&j->client_list, client);
    pthread_mutex_unlock(&j->lock);
    return expected;
}

/* Stops waiting for clients that have not connected in time. */
static tutti_status give_up_waiting(tutti_server *s)
{
    double patience_s = s->kv->jobs.settings.timeout_s;
    if (!between_jobs(s) || tutti_clock_s() - s->began_s < patience_s) return TUTTI_OK;
    for (int c = 0; c < s->kv->clients; c++) {
        char why[128];
        if (s->client[c].here || s->client[c].gone || !expects_no_more(s, c)) continue;
        snprintf(why, sizeof why, "client %d has not come within %g s", c, patience_s);
        if (is_sync(s)) return fail_without_client(s, c, why);
        tutti_log(TUTTI_LOG_WARN, "%s; the others continue, and it may still come", why);
        s->client[c].broken = 1;
        tutti_status status = forget_client(s, c);
        if (status) return status;
    }
    return TUTTI_OK;
}

int tutti_server_has_clients(tutti_server *s, tutti_status *status)
{
    *status = give_up_waiting(s);
    if (*status || s->gone < s->clients || s->replying) return !*status;
    if (s->left_with_bye || s->died_last < 0) return 0;
    if (s->lost >= 0) *status = fail_lost_server(s);
    if (s->lost >= 0) return 0;
    double patience_s = s->kv->jobs.settings.timeout_s;
    if (tutti_clock_s() - s->died_s < patience_s) return 1; /* a client may return */
    s->blamed = s->died_last;
    *status = tutti_fail(TUTTI_ERR_COMM,
        "no client is left, client %d was the last, and none has returned within %g s",
        s->died_last, patience_s);
    return 0;
}

void tutti_server_send_end(tutti_server *s, tutti_status status)
{
    const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES] = {
        TUTTI_KV_END, status, status ? s->blamed : -1, status ? s->lost : -1};
    for (int c = 0; c < s->clients && s->client; c++)
        if (s->client[c].here && (is_sync(s) || !between_jobs(s) || !s->client[c].gone))
            write_client(s, c, value);
}
