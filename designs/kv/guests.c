#include "designs/kv/guests.h"

#include "dag/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status tutti_guests_open(const tutti_hello *self, tutti_guests *guests)
{
    int more = self->rule.type == TUTTI_KV_SYNC ? 0 : TUTTI_GUESTS_MORE;
    *guests = (tutti_guests){.self = *self, .room = self->clients + more};
    guests->guest = calloc((size_t)guests->room, sizeof *guests->guest);
    if (!guests->guest)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d clients", guests->room);
    for (int c = 0; c < self->clients; c++) guests->guest[c].state = TUTTI_GUEST_EXPECTED;
    return TUTTI_OK;
}

void tutti_guests_close(tutti_guests *guests)
{
    free(guests->guest);
    *guests = (tutti_guests){0};
}

void tutti_guests_leave(tutti_guests *guests, int client)
{
    guests->guest[client] = (tutti_guest){.state = TUTTI_GUEST_GONE};
    for (int c = 0; c < guests->room; c++)
        if (guests->guest[c].state >= TUTTI_GUEST_HERE) return;
    guests->self.workers = 0;
}

static tutti_guest_verdict refuse(char why[], tutti_guest_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static tutti_guest_verdict refuse(char why[], tutti_guest_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TUTTI_GUEST_WHY, format, args);
    va_end(args);
    return verdict;
}

static int is_same(const tutti_hello *a, const tutti_hello *b)
{
    return a->server == b->server && a->servers == b->servers && a->clients == b->clients &&
           tutti_book_rule_is_same(&a->rule, &b->rule);
}

/* A number for a new client: the first beyond those that are expected; -1: there is none. */
static int choose(const tutti_guests *g)
{
    for (int c = g->self.clients; c < g->room; c++)
        if (g->guest[c].state == TUTTI_GUEST_GONE) return c;
    return -1;
}

static tutti_guest_verdict come_in(tutti_guests *g, const tutti_hello *h, int *first)
{
    tutti_guest *guest = &g->guest[h->client];
    unsigned char bit = (unsigned char)(1 << h->worker % 8);
    *first = guest->state != TUTTI_GUEST_HERE;
    if (*first) {
        *guest = (tutti_guest){.state = TUTTI_GUEST_HERE, .life = h->life, .process = h->process};
        memcpy(guest->host, h->host, sizeof guest->host);
    }
    guest->here[h->worker / 8] |= bit;
    guest->workers_here++;
    g->self.workers = h->workers;
    return TUTTI_GUEST_WELCOME;
}

tutti_guest_verdict tutti_guests_greet(
    tutti_guests *g, tutti_hello *h, int *first, char why[TUTTI_GUEST_WHY])
{
    char ours[TUTTI_BOOK_RULE_TEXT], theirs[TUTTI_BOOK_RULE_TEXT];
    int sync = g->self.rule.type == TUTTI_KV_SYNC;
    if (h->meeting && (h->meeting != g->self.meeting || h->server != g->self.server))
        return refuse(why, TUTTI_GUEST_LATER,
            "this is server %d of %d of another run, or of a later one: the file that names this "
            "port is left from an earlier server: remove it",
            g->self.server, g->self.servers);
    if (!is_same(&g->self, h))
        return refuse(why, TUTTI_GUEST_REFUSED,
            "this is server %d of %d for %d clients, type %s; you want server %d of %d for %d "
            "clients, type %s: give all jobs the same options",
            g->self.server, g->self.servers, g->self.clients,
            tutti_book_rule_write(&g->self.rule, ours), h->server, h->servers, h->clients,
            tutti_book_rule_write(&h->rule, theirs));
    if (g->self.copies != h->copies)
        return refuse(why, TUTTI_GUEST_REFUSED,
            "keys have %d copies here, you want %d: give all jobs the same server replicas",
            g->self.copies, h->copies);
    if (g->self.workers && g->self.workers != h->workers)
        return refuse(why, TUTTI_GUEST_REFUSED,
            "clients have %d workers here, you have %d: all must have as many", g->self.workers,
            h->workers);
    if (h->any && (h->client = choose(g)) < 0)
        return refuse(why, TUTTI_GUEST_REFUSED,
            sync ? "with sync no client can join: say which client you are (client:K)"
                 : "there is no room for one more client");
    if (h->client >= g->room)
        return refuse(why, TUTTI_GUEST_REFUSED, "client %d: there may be %d clients here",
            h->client, g->room);
    const tutti_guest *guest = &g->guest[h->client];
    if (guest->state == TUTTI_GUEST_GONE && sync)
        return refuse(why, TUTTI_GUEST_REFUSED, "client %d has left, and with sync none can return",
            h->client);
    int is_here = guest->state == TUTTI_GUEST_HERE, known = is_here && guest->life == h->life;
    if (guest->state == TUTTI_GUEST_LOST || (is_here && !known))
        return refuse(why, TUTTI_GUEST_LATER, "client %d is connected already, from %s, process %d",
            h->client, guest->host, guest->process);
    if (known && guest->here[h->worker / 8] >> h->worker % 8 & 1)
        return refuse(why, TUTTI_GUEST_REFUSED, "worker %d of client %d is here already", h->worker,
            h->client);
    return come_in(g, h, first);
}
