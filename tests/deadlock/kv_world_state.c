/* What a world is, whatever has led to it: two schedules that meet in one state go on alike. */
#include "tests/deadlock/kv_world_parts.h"

static uint64_t add_ledger(uint64_t state, const tutti_push_ledger *b, int clients)
{
    size_t n = (size_t)clients;
    state = ground_hash(state, b->arrived, n * sizeof *b->arrived);
    state = ground_hash(state, b->added, n * sizeof *b->added);
    state = ground_hash(state, b->base, n * sizeof *b->base);
    return ground_hash(state, b->left, n);
}

static uint64_t add_key(uint64_t state, const tutti_server_key *k, int clients)
{
    state = wire_mix(state, (uint64_t)k->state);
    if (k->state == TUTTI_KEY_NONE) return state;
    state = ground_hash_data(add_ledger(state, &k->ledger, clients), k->value);
    for (int c = 0; c < clients; c++) {
        const tutti_key_client *of = &k->of[c];
        for (const tutti_push *p = of->pushes; p; p = p->next)
            state = p->data ? ground_hash_data(state, p->data) : wire_mix(state, 1);
        for (const tutti_pull *p = of->pulls; p; p = p->next) {
            state = wire_mix(wire_mix(state, 2 * (uint64_t)p->rank + (uint64_t)p->is_standby),
                (uint64_t)p->pushes);
            if (p->data) state = ground_hash_data(state, p->data);
        }
        state =
            wire_mix(wire_mix(state, 2 * (uint64_t)of->replies + (uint64_t)of->made), (uint64_t)c);
        state = wire_mix(state, (uint64_t)of->announced);
    }
    return state;
}

static uint64_t add_server(uint64_t state, const tutti_server *s, int clients)
{
    const int counts[] = {s->replying, s->gone, s->left_with_bye, s->died_last, s->lost, s->blamed,
        s->first != NULL, s->took_over};
    state = ground_hash(state, counts, sizeof counts);
    state = ground_hash(state, s->client, (size_t)clients * sizeof *s->client);
    state = add_ledger(state, &s->barriers, clients);
    for (int slot = 0; slot < s->keys; slot++) state = add_key(state, &s->key[slot], clients);
    for (const tutti_kv_event *e = s->deferred; e; e = e->next)
        state = ground_hash(
            wire_mix(state, (uint64_t)e->message.rank), e->message.value, sizeof e->message.value);
    for (int c = 0; c < clients && s->kv->jobs.settings.on; c++) {
        const tutti_client_entry *client_entry = &s->kv->jobs.client_list.client_entry[c];
        state = wire_mix(state, (uint64_t)client_entry->state + 8 * (uint64_t)client_entry->life);
    }
    return state;
}

static uint64_t add_inbox(uint64_t state, const tutti_kv *kv)
{
    const tutti_kv_inbox *n = &kv->inbox;
    const int inbox[] = {n->ends, n->barriers[0], n->barriers[1], (int)n->failure};
    state = ground_hash(state, kv->inbox.ended, (size_t)kv->servers);
    state = ground_hash(state, kv->jobs.lost, (size_t)kv->servers);
    return ground_hash(state, inbox, sizeof inbox);
}

static uint64_t add_rank(uint64_t state, const kv_rank *k, int clients)
{
    const int own[] = {
        (int)k->state, (int)k->status, k->call, k->prepared, k->barriers_passed, k->life, k->pulls};
    state = ground_hash(state, own, sizeof own);
    if (!k->kv) return state;
    state = add_inbox(state, k->kv);
    for (int i = 0; i < k->pulls; i++) state = ground_hash_data(state, k->pull[i].data);
    return k->server ? add_server(state, k->server, clients) : state;
}

uint64_t kv_world_state(const kv_world *w)
{
    uint64_t state = ground_state(w->ground);
    for (int r = 0; r < w->ranks; r++) state = add_rank(state, &w->rank[r], w->c->clients);
    return state;
}
