/* A server's ledger of a key: how often each client has pushed, which pushes to add next, and which pulls to answer.
 * No communication here, so tests try every order of arrivals (tests/kv/test_push_ledger.c).
 *
 * A push enters the ledger when its data have arrived. A round is the pushes that are added to the key's value
 * together.
 *
 *   sync        a round has one push of every client, added in the order of clients, whatever the order of arrival. A
 *               pull waits for the rounds of its client's earlier pushes, and sees no later round: it arrives before
 *               its client's next push, which every later round needs.
 *   async       a round is one push. A pull waits for its own client's pushes only.
 *   bounded:s   the same, but a pull of a client that has pushed n times waits until every other has pushed
 *               n - s times: no client continues more than s pushes ahead of the slowest.
 *               Answers are delayed, never pushes. bounded:0 is sync.
 *   elastic     as async: the differences of mixing steps are pushed and added (kv_elastic.c).
 *
 * Rounds do not wait for clients that have left. A client that joins or returns begins with the slowest client's number
 * of pushes: no client waits for earlier pushes of it, and it is ahead of none.
 *
 * LAW: apart from rounds of sync and the bound, the server never waits for a client while another needs an answer.
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
    int64_t rounds;   /* added so far; of sync */
    int64_t *arrived; /* per client: pushes that have arrived */
    int64_t *added;   /* per client: pushes that were added */
    int64_t *base;    /* per client: its count when it joined, with which `pushes` below begins */
    char *left;       /* per client: has left */
} tutti_push_ledger;

/* NOMEM. */
tutti_status tutti_push_ledger_open(
    const tutti_consistency *rule, int clients, tutti_push_ledger *ledger);
void tutti_push_ledger_close(tutti_push_ledger *ledger);

/* A push of this client has arrived. */
void tutti_push_ledger_arrive(tutti_push_ledger *ledger, int client);
/* The client has left: no more of its pushes arrive. */
void tutti_push_ledger_leave(tutti_push_ledger *ledger, int client);
/* A client that had left is back. */
void tutti_push_ledger_join(tutti_push_ledger *ledger, int client);
/* Whether there is a round to add. */
int tutti_push_ledger_has_round(const tutti_push_ledger *ledger);
/* Takes the next round: client[] gets the clients whose oldest pushes to add, in the order of addition. Returns their
 * number; 0: there is no round. The round counts as added. */
int tutti_push_ledger_round(tutti_push_ledger *ledger, int client[]);
/* Whether to answer a pull of this client, which has made `pushes` pushes of the key since it joined. */
int tutti_push_ledger_answers(const tutti_push_ledger *ledger, int client, int64_t pushes);
/* The client that such a pull waits for; -1: none. */
int tutti_push_ledger_awaits(const tutti_push_ledger *ledger, int client, int64_t pushes);

#endif
