/* What a server knows of its keys: how often each client has pushed, what it may add next, and which pulls it
 * may answer. Nothing here moves data, so that every order of arrivals can be tried (tests/kv/test_book.c).
 *
 * A push is in the book from the moment its data are on the server. What the server then does with it is a
 * round: the pushes that are added to the key's value together.
 *
 *   sync        a round has one push of every client, added in the order of clients, whatever the order in
 *               which they came. A pull waits for the rounds of all pushes that its client made before, and gets no
 *               later one: it is heard before its client's next push, without which there is none.
 *   async       a round is one push. A pull waits for its own client's pushes alone.
 *   bounded:s   the same, but a pull of a client that has pushed n times waits until every other has pushed
 *               n - s times: no client is ever more than s pushes ahead of the slowest when it goes on.
 *               Replies are held back, never pushes. bounded:0 is sync.
 *   elastic     as async: what a client gains in a meeting is pushed, and added (kv_elastic.c).
 *
 * A client that has left is not waited for: rounds have the pushes of the others. One that joins, or returns, begins
 * with as many pushes as the slowest of the others: nobody waits for what was before it came, and it is ahead of
 * nobody.
 *
 * LAW: the server never waits for a client while it holds what another needs, but for rounds of sync
 * and the bound, whose waiting is what they are for.
 * Sources: Ho et al. 2013, "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
 * Server", NIPS; Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server",
 * OSDI. [P] on different books. */
#ifndef TUTTI_KV_BOOK_H
#define TUTTI_KV_BOOK_H

#include "designs/kv/rule.h"

/* The book of one key. */
typedef struct tutti_book {
    tutti_book_rule rule;
    int clients;
    int64_t rounds;   /* that were added; of sync */
    int64_t *arrived; /* per client: pushes whose data are here */
    int64_t *added;   /* per client: those of them that were added */
    int64_t *base;    /* per client: its count when it joined, with which `pushes` below begins */
    char *left;       /* per client: has left */
} tutti_book;

/* NOMEM. */
tutti_status tutti_book_open(const tutti_book_rule *rule, int clients, tutti_book *book);
void tutti_book_close(tutti_book *book);

/* A push of this client has come. */
void tutti_book_arrive(tutti_book *book, int client);
/* The client has left: its pushes have all come, or never will. */
void tutti_book_leave(tutti_book *book, int client);
/* One that had left is there. */
void tutti_book_join(tutti_book *book, int client);
/* Whether there is a round to add. */
int tutti_book_has_round(const tutti_book *book);
/* The next round, if there is one: client[] gets those whose oldest push that was not added is in it, in the
 * order in which to add them. Returns how many there are; 0: there is no round. The round counts as added. */
int tutti_book_round(tutti_book *book, int client[]);
/* Whether a pull of this client, which has pushed this key so many times since it joined, may be answered. */
int tutti_book_answers(const tutti_book *book, int client, int64_t pushes);
/* Whom such a pull waits for: a client; -1: nobody. */
int tutti_book_awaits(const tutti_book *book, int client, int64_t pushes);

#endif
