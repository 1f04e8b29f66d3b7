/* What a server knows of its keys: how often each client has pushed, what it may add next, and which pulls it
 * may answer. Nothing here moves data, so that every order of arrivals can be tried (tests/kv/test_push_ledger.c).
 *
 * A push is in the ledger from the moment its data are on the server. What the server then does with it is a
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
 * OSDI. [P] on different ledgers. */
#ifndef TUTTI_KV_PUSH_LEDGER_H
#define TUTTI_KV_PUSH_LEDGER_H

#include "designs/kv/consistency.h"

/* The ledger of one key. */
typedef struct tutti_push_ledger {
    tutti_consistency rule;
    int clients;
    int64_t rounds;   /* that were added; of sync */
    int64_t *arrived; /* per client: pushes whose data are here */
    int64_t *added;   /* per client: those of them that were added */
    int64_t *base;    /* per client: its count when it joined, with which `pushes` below begins */
    char *left;       /* per client: has left */
} tutti_push_ledger;

/* NOMEM. */
tutti_status tutti_push_ledger_open(
    const tutti_consistency *rule, int clients, tutti_push_ledger *ledger);
void tutti_push_ledger_close(tutti_push_ledger *ledger);

/* A push of this client has come. */
void tutti_push_ledger_arrive(tutti_push_ledger *ledger, int client);
/* The client has left: its pushes have all come, or never will. */
void tutti_push_ledger_leave(tutti_push_ledger *ledger, int client);
/* One that had left is there. */
void tutti_push_ledger_join(tutti_push_ledger *ledger, int client);
/* Whether there is a round to add. */
int tutti_push_ledger_has_round(const tutti_push_ledger *ledger);
/* The next round, if there is one: client[] gets those whose oldest push that was not added is in it, in the
 * order in which to add them. Returns how many there are; 0: there is no round. The round counts as added. */
int tutti_push_ledger_round(tutti_push_ledger *ledger, int client[]);
/* Whether a pull of this client, which has pushed this key so many times since it joined, may be answered. */
int tutti_push_ledger_answers(const tutti_push_ledger *ledger, int client, int64_t pushes);
/* Whom such a pull waits for: a client; -1: nobody. */
int tutti_push_ledger_awaits(const tutti_push_ledger *ledger, int client, int64_t pushes);

#endif
