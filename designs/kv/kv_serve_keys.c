#include "designs/kv/serve_parts.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int tutti_server_knows(const tutti_server *s, int64_t slot)
{
    return slot >= 0 && slot < s->keys && s->key[slot].state == TUTTI_KEY_KNOWN;
}

int tutti_server_has_room(const tutti_server *s, int64_t slot)
{
    return slot >= 0 && slot < tutti_exchange_edges(s->kv->session->exchange);
}

static tutti_status grow_keys(tutti_server *s, int64_t slot)
{
    if (slot < s->keys) return TUTTI_OK;
    tutti_server_key *wider = realloc(s->key, (size_t)(slot + 1) * sizeof *wider);
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a key");
    memset(wider + s->keys, 0, (size_t)(slot + 1 - s->keys) * sizeof *wider);
    s->key = wider;
    s->keys = (int)slot + 1;
    return TUTTI_OK;
}

/* The first client that is here or expected: it sends the first values. */
static int find_first_client(const tutti_server *s)
{
    int c = 0;
    while (c < s->clients - 1 && s->client[c].gone) c++;
    return c;
}

/* Why a worker cannot make this key, for a message; NULL: it can. */
static const char *find_fault(const tutti_server *s, const tutti_active_message *message)
{
    const tutti_optimizer *o = &s->kv->optimizer;
    int elastic = s->kv->rule.type == TUTTI_KV_ELASTIC;
    if (message->value[2] <= 0 || message->value[2] > UINT32_MAX) return "which no key has";
    if (message->value[3] < 0 || message->value[3] >= TUTTI_DTYPE_COUNT)
        return "which is not a type of elements";
    tutti_dtype dtype = (tutti_dtype)message->value[3];
    return tutti_optimizer_takes(o, dtype) && !(elastic && dtype != TUTTI_F32)
               ? NULL
               : "which the optimizer does not take";
}

static const char *type_name(int64_t type)
{
    return type >= 0 && type < TUTTI_DTYPE_COUNT ? tutti_dtype_name((tutti_dtype)type) : "none";
}

static tutti_status open_key(
    tutti_server *s, tutti_server_key *k, const tutti_active_message *message)
{
    size_t clients = (size_t)s->clients;
    *k = (tutti_server_key){.state = TUTTI_KEY_RECEIVING,
        .count = message->value[2],
        .dtype = (tutti_dtype)message->value[3],
        .name = (int)message->value[4],
        .of = calloc(clients, sizeof *k->of)};
    if (!k->of) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a key");
    for (int c = 0; c < s->clients; c++) {
        k->of[c].push_end = &k->of[c].pushes;
        k->of[c].pull_end = &k->of[c].pulls;
    }
    tutti_status status = tutti_server_open_pool(s, k);
    if (!status) status = tutti_push_ledger_open(&s->kv->rule, s->clients, &k->ledger);
    for (int c = 0; c < s->clients && !status; c++)
        if (s->client[c].gone) tutti_push_ledger_leave(&k->ledger, c);
    if (!status) status = tutti_datum_open(k->count, k->dtype, &k->value);
    if (!status) status = tutti_kv_open_states(&s->kv->optimizer, k->count, k->dtype, k->state_of);
    return status;
}

/* Adds a client to a key's ledger. Its deferred messages about the key, from other workers, come next. */
static void join_key(tutti_server *s, const tutti_active_message *message)
{
    tutti_server_key *k = &s->key[message->value[1]];
    int client = tutti_server_client_of(s, message->rank);
    k->of[client].made = 1;
    tutti_push_ledger_join(&k->ledger, client);
    tutti_server_requeue_deferred(s);
}

/* A client that has joined makes an existing key: its first value is received and dropped. */
static tutti_status receive_unneeded(tutti_server *s, const tutti_active_message *message)
{
    const tutti_server_key *k = &s->key[message->value[1]];
    tutti_kv_transfer f = {.kind = TUTTI_TRANSFER_UNNEEDED,
        .slot = (int)message->value[1],
        .client = tutti_server_client_of(s, message->rank)};
    if (!s->kv->jobs.settings.on || k->of[f.client].made)
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d makes key number %" PRId64 " twice", message->rank, message->value[1]);
    if (message->value[2] != k->count || message->value[3] != k->dtype ||
        message->value[4] != k->name)
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d makes key %" PRId64 " of %" PRId64
            " elements of type %s, where others have made key %d of %" PRId64
            " of type %s: make the same keys everywhere",
            message->rank, message->value[4], message->value[2], type_name(message->value[3]),
            k->name, k->count, tutti_dtype_name(k->dtype));
    join_key(s, message);
    tutti_status status = tutti_datum_open(k->count, k->dtype, &f.data);
    return status ? status : tutti_server_submit(s, message->rank, &f, f.data);
}

tutti_status tutti_server_on_init(tutti_server *s, const tutti_kv_event *event)
{
    const tutti_active_message *message = &event->message;
    int client = tutti_server_client_of(s, message->rank), slot = (int)message->value[1];
    const char *fault = find_fault(s, message);
    if (fault)
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d makes key %" PRId64 " of %" PRId64 " elements of type %s, %s", message->rank,
            message->value[4], message->value[2], type_name(message->value[3]), fault);
    if (!tutti_server_has_room(s, message->value[1]))
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d makes key number %" PRId64 " of %d", message->rank, message->value[1],
            tutti_exchange_edges(s->kv->session->exchange));
    tutti_status status = tutti_server_check_optimizer(s, message, "makes");
    if (!status) status = grow_keys(s, message->value[1]);
    if (status) return status;
    if (tutti_server_knows(s, slot)) return receive_unneeded(s, message);
    if (s->key[slot].state == TUTTI_KEY_RECEIVING || client != find_first_client(s))
        return tutti_server_defer_event(s, event);
    tutti_server_key *k = &s->key[slot];
    status = open_key(s, k, message);
    if (!status) k->of[client].made = 1;
    const tutti_kv_transfer f = {
        .kind = TUTTI_TRANSFER_FIRST, .slot = slot, .client = client, .data = k->value};
    return status ? status : tutti_server_submit(s, message->rank, &f, k->value);
}

tutti_status tutti_server_complete_first(tutti_server *s, const tutti_kv_transfer *f)
{
    tutti_server_key *k = &s->key[f->slot];
    int name = k->name;
    if (f->kind == TUTTI_TRANSFER_UNNEEDED)
        tutti_datum_drop(f->data);
    else if (f->result)
        tutti_server_close_key(s, k); /* the next client sends one */
    if (f->result || f->kind == TUTTI_TRANSFER_UNNEEDED)
        return tutti_server_check_completed(s, f, "the first value", name);
    k->state = TUTTI_KEY_KNOWN;
    tutti_server_requeue_deferred(s);
    return TUTTI_OK;
}

void tutti_server_close_key(tutti_server *s, tutti_server_key *k)
{
    tutti_datum_drop(k->value);
    for (int i = 0; i < TUTTI_OPTIMIZER_STATES; i++) tutti_datum_drop(k->state_of[i]);
    for (int c = 0; k->of && c < s->clients; c++) {
        tutti_server_drop_pulls(&k->of[c]);
        tutti_server_drop_pushes(&k->of[c]);
    }
    free(k->of);
    tutti_server_drop_pool(k);
    tutti_push_ledger_close(&k->ledger);
    *k = (tutti_server_key){0};
}
