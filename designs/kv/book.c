#include "designs/kv/book.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

tutti_status tutti_book_open(const tutti_book_rule *rule, int clients, tutti_book *book)
{
    size_t n = (size_t)clients;
    *book = (tutti_book){.rule = *rule,
        .clients = clients,
        .arrived = calloc(n, sizeof *book->arrived),
        .added = calloc(n, sizeof *book->added),
        .base = calloc(n, sizeof *book->base),
        .left = calloc(n, 1)};
    if (book->arrived && book->added && book->base && book->left) return TUTTI_OK;
    tutti_book_close(book);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a key with %d clients", clients);
}

void tutti_book_close(tutti_book *book)
{
    free(book->arrived);
    free(book->added);
    free(book->base);
    free(book->left);
    *book = (tutti_book){0};
}

void tutti_book_arrive(tutti_book *book, int client)
{
    book->arrived[client]++;
}

void tutti_book_leave(tutti_book *book, int client)
{
    book->left[client] = 1;
}

void tutti_book_join(tutti_book *book, int client)
{
    int64_t least = -1;
    if (!book->left[client]) return;
    for (int c = 0; c < book->clients; c++)
        if (!book->left[c] && (least < 0 || book->added[c] < least)) least = book->added[c];
    if (least < 0) least = book->added[client]; /* nobody else is there */
    book->arrived[client] = book->added[client] = book->base[client] = least;
    book->left[client] = 0;
}

static int waits_to_be_added(const tutti_book *b, int client)
{
    return b->arrived[client] > b->added[client];
}

/* Whether the next round of sync needs a push of this client that has not come. */
static int is_missing(const tutti_book *b, int client)
{
    return !b->left[client] && !waits_to_be_added(b, client);
}

int tutti_book_has_round(const tutti_book *b)
{
    int any = 0;
    for (int c = 0; c < b->clients; c++) {
        if (b->rule.type == TUTTI_KV_SYNC && is_missing(b, c)) return 0;
        any |= waits_to_be_added(b, c);
    }
    return any;
}

int tutti_book_round(tutti_book *book, int client[])
{
    int n = 0, one = book->rule.type != TUTTI_KV_SYNC;
    if (!tutti_book_has_round(book)) return 0;
    for (int c = 0; c < book->clients && !(one && n); c++) {
        if (!waits_to_be_added(book, c)) continue;
        client[n++] = c;
        book->added[c]++;
    }
    book->rounds += n > 0;
    return n;
}

/* The first client whose push the next round of sync lacks; -1: none. */
static int first_missing(const tutti_book *b)
{
    for (int c = 0; c < b->clients; c++)
        if (is_missing(b, c)) return c;
    return -1;
}

int tutti_book_awaits(const tutti_book *book, int client, int64_t pushes)
{
    pushes += book->base[client];
    if (book->arrived[client] < pushes) return client;
    if (book->added[client] < pushes) {
        int missing = first_missing(book);
        return missing < 0 ? client : missing; /* the round is there, and has yet to be added */
    }
    for (int c = 0; c < book->clients && book->rule.type == TUTTI_KV_BOUNDED; c++)
        if (!book->left[c] && book->added[c] < pushes - book->rule.bound) return c;
    return -1;
}

int tutti_book_answers(const tutti_book *book, int client, int64_t pushes)
{
    return tutti_book_awaits(book, client, pushes) < 0;
}
