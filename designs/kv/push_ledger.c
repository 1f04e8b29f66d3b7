#include "designs/kv/push_ledger.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

tutti_status tutti_push_ledger_open(
    const tutti_consistency *rule, int clients, tutti_push_ledger *ledger)
{
    size_t n = (size_t)clients;
    *ledger = (tutti_push_ledger){.rule = *rule,
        .clients = clients,
        .arrived = calloc(n, sizeof *ledger->arrived),
        .added = calloc(n, sizeof *ledger->added),
        .base = calloc(n, sizeof *ledger->base),
        .left = calloc(n, 1)};
    if (ledger->arrived && ledger->added && ledger->base && ledger->left) return TUTTI_OK;
    tutti_push_ledger_close(ledger);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a key with %d clients", clients);
}

void tutti_push_ledger_close(tutti_push_ledger *ledger)
{
    free(ledger->arrived);
    free(ledger->added);
    free(ledger->base);
    free(ledger->left);
    *ledger = (tutti_push_ledger){0};
}

void tutti_push_ledger_arrive(tutti_push_ledger *ledger, int client)
{
    ledger->arrived[client]++;
}

void tutti_push_ledger_leave(tutti_push_ledger *ledger, int client)
{
    ledger->left[client] = 1;
}

void tutti_push_ledger_join(tutti_push_ledger *ledger, int client)
{
    int64_t least = -1;
    if (!ledger->left[client]) return;
    for (int c = 0; c < ledger->clients; c++)
        if (!ledger->left[c] && (least < 0 || ledger->added[c] < least)) least = ledger->added[c];
    if (least < 0) least = ledger->added[client]; /* no other client is there */
    ledger->arrived[client] = ledger->added[client] = ledger->base[client] = least;
    ledger->left[client] = 0;
}

static int waits_to_be_added(const tutti_push_ledger *b, int client)
{
    return b->arrived[client] > b->added[client];
}

/* Whether the next round of sync needs a push of this client that has not arrived. */
static int is_missing(const tutti_push_ledger *b, int client)
{
    return !b->left[client] && !waits_to_be_added(b, client);
}

int tutti_push_ledger_has_round(const tutti_push_ledger *b)
{
    int any = 0;
    for (int c = 0; c < b->clients; c++) {
        if (b->rule.type == TUTTI_KV_SYNC && is_missing(b, c)) return 0;
        any |= waits_to_be_added(b, c);
    }
    return any;
}

int tutti_push_ledger_round(tutti_push_ledger *ledger, int client[])
{
    int n = 0, one = ledger->rule.type != TUTTI_KV_SYNC;
    if (!tutti_push_ledger_has_round(ledger)) return 0;
    for (int c = 0; c < ledger->clients && !(one && n); c++) {
        if (!waits_to_be_added(ledger, c)) continue;
        client[n++] = c;
        ledger->added[c]++;
    }
    ledger->rounds += n > 0;
    return n;
}

/* The first client whose push the next round of sync lacks; -1: none. */
static int first_missing(const tutti_push_ledger *b)
{
    for (int c = 0; c < b->clients; c++)
        if (is_missing(b, c)) return c;
    return -1;
}

int tutti_push_ledger_awaits(const tutti_push_ledger *ledger, int client, int64_t pushes)
{
    pushes += ledger->base[client];
    if (ledger->arrived[client] < pushes) return client;
    if (ledger->added[client] < pushes) {
        int missing = first_missing(ledger);
        return missing < 0 ? client : missing; /* the round is complete, but was not added yet */
    }
    for (int c = 0; c < ledger->clients && ledger->rule.type == TUTTI_KV_BOUNDED; c++)
        if (!ledger->left[c] && ledger->added[c] < pushes - ledger->rule.bound) return c;
    return -1;
}

int tutti_push_ledger_answers(const tutti_push_ledger *ledger, int client, int64_t pushes)
{
    return tutti_push_ledger_awaits(ledger, client, pushes) < 0;
}
