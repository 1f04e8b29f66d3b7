#include "designs/kv/serve_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>

/* Answers in flight to a client for a key, at most; later pulls wait for these. */
enum { MOST = 2 };

/* The value as it is now. */
static tutti_status copy_value(tutti_server_key *k, tutti_handle *data)
{
    tutti_status status = tutti_server_borrow_buffer(k, data);
    return status ? status : tutti_kv_submit_copy(*data, k->value, 0, k->count, k->dtype);
}

/* Sends a copy, so that a slow client does not delay updates. */
static tutti_status send_answer(tutti_server *s, int slot, const tutti_pull *p)
{
    tutti_server_key *k = &s->key[slot];
    tutti_kv_transfer f = {.kind = TUTTI_TRANSFER_ANSWER,
        .slot = slot,
        .client = tutti_server_client_of(s, p->rank),
        .priority = p->priority,
        .data = p->data};
    tutti_status status = f.data ? TUTTI_OK : copy_value(k, &f.data);
    if (!status) status = tutti_server_submit(s, p->rank, &f, f.data);
    k->of[f.client].replies++;
    s->replying++;
    return status;
}

/* A client's oldest pull is the first to answer: it needs no more pushes than later ones. */
static tutti_status answer_client(tutti_server *s, int slot, int client)
{
    tutti_server_key *k = &s->key[slot];
    tutti_key_client *of = &k->of[client];
    tutti_status status = TUTTI_OK;
    while (of->pulls && !of->pulls->is_standby && !status && of->replies < MOST &&
           tutti_push_ledger_answers(&k->ledger, client, of->pulls->pushes)) {
        tutti_pull *p = of->pulls;
        of->pulls = p->next;
        if (!p->next) of->pull_end = &of->pulls;
        status = send_answer(s, slot, p);
        free(p);
    }
    return status;
}

tutti_status tutti_server_answer_all(tutti_server *s, int slot)
{
    tutti_status status = TUTTI_OK;
    for (int c = 0; c < s->clients && !status; c++) status = answer_client(s, slot, c);
    return status;
}

/* Pulls that wait for earlier answers, or are standby, keep a copy of the value that a later round changes. */
tutti_status tutti_server_keep_answers(tutti_server *s, int slot)
{
    tutti_server_key *k = &s->key[slot];
    if (k->ledger.rule.type != TUTTI_KV_SYNC) return TUTTI_OK;
    tutti_status status = tutti_server_answer_all(s, slot);
    for (int c = 0; c < s->clients && !status; c++)
        for (tutti_pull *p = k->of[c].pulls; p && !status; p = p->next)
            if (!p->data && tutti_push_ledger_answers(&k->ledger, c, p->pushes))
                status = copy_value(k, &p->data);
    return status;
}

tutti_status tutti_server_on_pull(tutti_server *s, const tutti_active_message *message)
{
    int slot = (int)message->value[1], client = tutti_server_client_of(s, message->rank);
    tutti_key_client *of = &s->key[slot].of[client];
    int64_t pushes = message->value[2];
    if (tutti_server_tolerates(s) && (pushes < 0 || pushes > of->announced))
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d pulls key %d after %" PRId64 " pushes, but has made %" PRId64, message->rank,
            s->key[slot].name, pushes, of->announced);
    tutti_pull *p = malloc(sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a pull");
    double now_s = tutti_clock_s();
    *p = (tutti_pull){.rank = message->rank,
        .priority = (int)message->value[3],
        .pushes = message->value[2],
        .is_standby = message->value[0] == TUTTI_KV_STAND_BY,
        .since_s = now_s,
        .reported_s = now_s};
    *of->pull_end = p;
    of->pull_end = &p->next;
    return answer_client(s, slot, client);
}

/* Standby pulls are the last ones, and are released in their order. */
tutti_status tutti_server_on_release(tutti_server *s, const tutti_active_message *message)
{
    int slot = (int)message->value[1], client = tutti_server_client_of(s, message->rank);
    tutti_key_client *of = &s->key[slot].of[client];
    tutti_pull **at = &of->pulls, *p;
    while (*at && !(*at)->is_standby) at = &(*at)->next;
    p = *at;
    if (!p)
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_INTERNAL,
            "worker %d releases a pull of key %d that it has not made", message->rank,
            s->key[slot].name);
    if (message->value[2]) {
        p->is_standby = 0;
        p->since_s = p->reported_s = tutti_clock_s();
        return answer_client(s, slot, client);
    }
    *at = p->next;
    if (!*at) of->pull_end = at;
    tutti_server_return_buffer(&s->key[slot], p->data);
    free(p);
    return TUTTI_OK;
}

tutti_status tutti_server_complete_answer(tutti_server *s, const tutti_kv_transfer *f)
{
    s->key[f->slot].of[f->client].replies--;
    s->replying--;
    tutti_server_return_buffer(&s->key[f->slot], f->data);
    tutti_status status = tutti_server_check_completed(s, f, "a pull", s->key[f->slot].name);
    return status ? status : answer_client(s, f->slot, f->client);
}

void tutti_server_drop_pulls(tutti_key_client *of)
{
    for (tutti_pull *p = of->pulls, *next; p; p = next) {
        next = p->next;
        tutti_datum_drop(p->data);
        free(p);
    }
    of->pulls = NULL;
    of->pull_end = &of->pulls;
}

/* ---- long waits ---- */

/* Between jobs the waiting worker gets a message, too. */
static void log_waiting(const tutti_server *s, const tutti_server_key *k, const tutti_pull *p,
    int awaited, double waited_s)
{
    int size = s->kv->client_size;
    tutti_log(TUTTI_LOG_WARN,
        "worker %d has waited %.1f s in a pull of key %d, which it has pushed %" PRId64
        " times: this server waits for client %d (worker %d%s), which has pushed it %" PRId64
        " times",
        p->rank, waited_s, k->name, p->pushes, awaited, awaited * size,
        size > 1 ? " and others" : "", k->ledger.arrived[awaited]);
    if (s->kv->jobs.settings.on)
        s->kv->transport->write(s->kv, p->rank,
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){
                TUTTI_KV_STALL, k->name, p->pushes, awaited, k->ledger.arrived[awaited]});
}

/* Logs a pull that waits long, with the client that it waits for: after 5 s, then after twice as long. */
static void report_waiting(const tutti_server *s, const tutti_server_key *k, tutti_pull *p)
{
    static const double first_s = 5;
    double now_s = tutti_clock_s(), waited_s = now_s - p->since_s;
    double reported_s = p->reported_s - p->since_s;
    if (waited_s < (reported_s > 0 ? 2 * reported_s : first_s)) return;
    int client = tutti_server_client_of(s, p->rank);
    int awaited = tutti_push_ledger_awaits(&k->ledger, client, p->pushes);
    p->reported_s = now_s;
    if (awaited < 0 || awaited == client) return; /* its own push is in flight */
    log_waiting(s, k, p, awaited, waited_s);
}

void tutti_server_report_waiting(const tutti_server *s)
{
    for (int slot = 0; slot < s->keys; slot++) {
        const tutti_server_key *k = &s->key[slot];
        for (int c = 0; k->of && c < s->clients; c++)
            for (tutti_pull *p = k->of[c].pulls; p; p = p->next)
                if (!p->is_standby) report_waiting(s, k, p);
    }
}
