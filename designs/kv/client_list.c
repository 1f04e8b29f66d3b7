#include "designs/kv/client_list.h"

#include "dag/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status tutti_client_list_open(const tutti_hello *self, tutti_client_list *client_list)
{
    int more = self->rule.type == TUTTI_KV_SYNC ? 0 : TUTTI_CLIENTS_EXTRA;
    *client_list = (tutti_client_list){.self = *self, .room = self->clients + more};
    client_list->client_entry =
        calloc((size_t)client_list->room, sizeof *client_list->client_entry);
    if (!client_list->client_entry)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d clients", client_list->room);
    for (int c = 0; c < self->clients; c++)
        client_list->client_entry[c].state = TUTTI_CLIENT_EXPECTED;
    return TUTTI_OK;
}

void tutti_client_list_close(tutti_client_list *client_list)
{
    free(client_list->client_entry);
    *client_list = (tutti_client_list){0};
}

void tutti_client_list_leave(tutti_client_list *client_list, int client)
{
    client_list->client_entry[client] = (tutti_client_entry){.state = TUTTI_CLIENT_GONE};
    for (int c = 0; c < client_list->room; c++)
        if (client_list->client_entry[c].state >= TUTTI_CLIENT_HERE) return;
    client_list->self.workers = 0;
}

static tutti_client_verdict refuse(char why[], tutti_client_verdict verdict, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

static tutti_client_verdict refuse(
    char why[], tutti_client_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TUTTI_CLIENT_WHY, format, args);
    va_end(args);
    return verdict;
}

static int is_same(const tutti_hello *a, const tutti_hello *b)
{
    return a->server == b->server && a->servers == b->servers && a->clients == b->clients &&
           tutti_consistency_is_same(&a->rule, &b->rule);
}

/* A number for a new client: the first free one beyond the expected clients; -1: none is free. */
static int choose_number(const tutti_client_list *g)
{
    for (int c = g->self.clients; c < g->room; c++)
        if (g->client_entry[c].state == TUTTI_CLIENT_GONE) return c;
    return -1;
}

static tutti_client_verdict admit_worker(tutti_client_list *g, const tutti_hello *h, int *first)
{
    tutti_client_entry *client_entry = &g->client_entry[h->client];
    unsigned char bit = (unsigned char)(1 << h->worker % 8);
    *first = client_entry->state != TUTTI_CLIENT_HERE;
    if (*first) {
        *client_entry = (tutti_client_entry){
            .state = TUTTI_CLIENT_HERE, .life = h->life, .process = h->process};
        memcpy(client_entry->host, h->host, sizeof client_entry->host);
    }
    client_entry->here[h->worker / 8] |= bit;
    g->self.workers = h->workers;
    return TUTTI_CLIENT_WELCOME;
}

tutti_client_verdict tutti_client_list_admit(
    tutti_client_list *g, tutti_hello *h, int *first, char why[TUTTI_CLIENT_WHY])
{
    char ours[TUTTI_CONSISTENCY_TEXT], theirs[TUTTI_CONSISTENCY_TEXT];
    int sync = g->self.rule.type == TUTTI_KV_SYNC;
    if (h->address_number &&
        (h->address_number != g->self.address_number || h->server != g->self.server))
        return refuse(why, TUTTI_CLIENT_LATER,
            "this is server %d of %d of another run, or of a later one: the file that names this "
            "port is left from an earlier server: remove it",
            g->self.server, g->self.servers);
    if (!is_same(&g->self, h))
        return refuse(why, TUTTI_CLIENT_REFUSED,
            "this is server %d of %d for %d clients, type %s; you want server %d of %d for %d "
            "clients, type %s: give all jobs the same options",
            g->self.server, g->self.servers, g->self.clients,
            tutti_consistency_write(&g->self.rule, ours), h->server, h->servers, h->clients,
            tutti_consistency_write(&h->rule, theirs));
    if (g->self.copies != h->copies)
        return refuse(why, TUTTI_CLIENT_REFUSED,
            "keys have %d copies here, you want %d: give all jobs the same server replicas",
            g->self.copies, h->copies);
    if (g->self.workers && g->self.workers != h->workers)
        return refuse(why, TUTTI_CLIENT_REFUSED,
            "clients have %d workers here, you have %d: all must have as many", g->self.workers,
            h->workers);
    if (h->any && (h->client = choose_number(g)) < 0)
        return refuse(why, TUTTI_CLIENT_REFUSED,
            sync ? "with sync no client can join: say which client you are (client:K)"
                 : "there is no room for one more client");
    if (h->client >= g->room)
        return refuse(why, TUTTI_CLIENT_REFUSED, "client %d: there may be %d clients here",
            h->client, g->room);
    const tutti_client_entry *client_entry = &g->client_entry[h->client];
    if (client_entry->state == TUTTI_CLIENT_GONE && sync)
        return refuse(why, TUTTI_CLIENT_REFUSED,
            "client %d has left, and with sync none can return", h->client);
    int is_here = client_entry->state == TUTTI_CLIENT_HERE,
        known = is_here && client_entry->life == h->life;
    if (client_entry->state == TUTTI_CLIENT_LOST || (is_here && !known))
        return refuse(why, TUTTI_CLIENT_LATER,
            "client %d is connected already, from %s, process %d", h->client, client_entry->host,
            client_entry->process);
    if (known && client_entry->here[h->worker / 8] >> h->worker % 8 & 1)
        return refuse(why, TUTTI_CLIENT_REFUSED, "worker %d of client %d is here already",
            h->worker, h->client);
    return admit_worker(g, h, first);
}
