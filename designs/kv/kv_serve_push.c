#include "designs/kv/serve_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* Pushes of a client to a key that have buffers at a time, at most; later pushes wait for these. */
enum { MOST = 2 };

/* Posts receives for the oldest pushes of a client to a key. */
static tutti_status post_receives(tutti_server *s, tutti_server_key *k, int client)
{
    tutti_status status = TUTTI_OK;
    int n = 0;
    for (tutti_push *p = k->of[client].pushes; p && n < MOST && !status; p = p->next, n++) {
        if (p->data) continue;
        const tutti_kv_transfer f = {
            .kind = TUTTI_TRANSFER_PUSH, .slot = p->slot, .client = client};
        status = tutti_server_borrow_buffer(k, &p->data);
        if (!status) status = tutti_server_submit(s, p->from, &f, p->data);
    }
    return status;
}

tutti_status tutti_server_check_optimizer(
    tutti_server *s, const tutti_active_message *message, const char *does)
{
    if (s->client[tutti_server_client_of(s, message->rank)].has_optimizer ||
        tutti_optimizer_is_same(&s->unset, &s->kv->optimizer))
        return TUTTI_OK;
    return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
        "worker %d %s a key without tutti_kv_set_optimizer, but another has set %s", message->rank,
        does, tutti_optimizer_name(&s->kv->optimizer));
}

tutti_status tutti_server_on_push(tutti_server *s, const tutti_active_message *message)
{
    int slot = (int)message->value[1], client = tutti_server_client_of(s, message->rank);
    tutti_server_key *k = &s->key[slot];
    double rate;
    memcpy(&rate, &message->value[2], sizeof rate);
    tutti_status status = tutti_server_check_optimizer(s, message, "pushes");
    if (status) return status;
    if (!(rate >= 0 && rate <= 1e9))
        return tutti_server_refuse(s, message->rank, TUTTI_ERR_MISMATCH,
            "worker %d pushes key %d with the rate %g: must be 0 or more", message->rank, k->name,
            rate);
    tutti_push *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a push");
    *p = (tutti_push){.slot = slot, .from = message->rank, .rate = rate};
    k->of[client].announced++;
    *k->of[client].push_end = p;
    k->of[client].push_end = &p->next;
    s->client[client].awaited++;
    return post_receives(s, k, client);
}

/* The oldest push of this client that was not added. */
static tutti_push *take_push(tutti_server_key *k, int client)
{
    tutti_key_client *of = &k->of[client];
    tutti_push *p = of->pushes;
    of->pushes = p->next;
    if (!p->next) of->push_end = &of->pushes;
    return p;
}

/* Adds up the pushes of a round in their order, and updates the value. */
static tutti_status add_round(tutti_server *s, tutti_server_key *k, int n)
{
    tutti_push *first = take_push(k, s->round[0]);
    tutti_status status = TUTTI_OK;
    for (int i = 1; i < n; i++) {
        tutti_push *p = take_push(k, s->round[i]);
        if (!status) status = tutti_kv_submit_add(first->data, p->data, 0, k->count, k->dtype);
        tutti_server_return_buffer(k, p->data);
        free(p);
    }
    const tutti_kv_update update = {.optimizer = s->kv->optimizer,
        .dtype = k->dtype,
        .count = k->count,
        .before = k->updates++,
        .rate = first->rate,
        .value = k->value,
        .sum = first->data,
        .state = k->state_of};
    if (!status) status = tutti_kv_submit_update(&update);
    tutti_server_return_buffer(k, first->data);
    free(first);
    return status;
}

tutti_status tutti_server_add_rounds(tutti_server *s, int slot)
{
    tutti_server_key *k = &s->key[slot];
    tutti_status status = TUTTI_OK;
    while (!status && tutti_push_ledger_has_round(&k->ledger)) {
        status = tutti_server_keep_answers(s, slot);
        if (!status) status = add_round(s, k, tutti_push_ledger_round(&k->ledger, s->round));
    }
    for (int c = 0; c < s->clients && !status; c++) status = post_receives(s, k, c);
    return status ? status : tutti_server_answer_all(s, slot);
}

/* One more push of this client has arrived: it counts as the oldest, whichever transfer has ended. */
tutti_status tutti_server_complete_push(tutti_server *s, const tutti_kv_transfer *f)
{
    if (f->result) /* its client is lost, and so is the push */
        return tutti_server_check_completed(s, f, "a push", s->key[f->slot].name);
    s->client[f->client].awaited--;
    tutti_push_ledger_arrive(&s->key[f->slot].ledger, f->client);
    return tutti_server_add_rounds(s, f->slot);
}

void tutti_server_drop_pushes(tutti_key_client *of)
{
    for (tutti_push *p = of->pushes, *next; p; p = next) {
        next = p->next;
        tutti_datum_drop(p->data);
        free(p);
    }
    of->pushes = NULL;
    of->push_end = &of->pushes;
}
