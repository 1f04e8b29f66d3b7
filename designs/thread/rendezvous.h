/* A collective that the main thread waits for, with a deadline. It has memory of its own: what is sent
 * is copied in, what has come is copied out. Whoever gives up waiting may leave, and free or reuse what it
 * passed: the rendezvous stays until the collective has let go of its memory.
 *
 *   new -> (args and token to the driver) -> arrived -> take -> leave
 *                                       \-> deadline --------> leave
 *
 * Threads: the token is finished on any thread, the rest is one thread's. */
#ifndef TUTTI_RENDEZVOUS_H
#define TUTTI_RENDEZVOUS_H

#include "collectives/value/args.h"
#include "dag/run/token.h"

typedef struct tutti_rendezvous tutti_rendezvous;

/* For this collective on so many ranks. NOMEM; UNSUPPORTED: a gather, scatter or alltoall, whose buffers
 * differ from rank to rank. */
tutti_status tutti_rendezvous_new(
    const tutti_coll_args *args, int ranks, tutti_rendezvous **rendezvous);
/* The same collective on the rendezvous's own memory, and the token to finish at its end. */
const tutti_coll_args *tutti_rendezvous_args(const tutti_rendezvous *rendezvous);
tutti_token *tutti_rendezvous_token(tutti_rendezvous *rendezvous);
/* Whether the token has been finished; waits for that at most timeout_s seconds. */
int tutti_rendezvous_arrived(tutti_rendezvous *rendezvous, double timeout_s);
/* Once it has: copies the result to args->recv, those that new was given; returns the token's status. */
tutti_status tutti_rendezvous_take(tutti_rendezvous *rendezvous, const tutti_coll_args *args);
/* Freed at once when the token has been finished or was given to nobody, else when it is. Accepts NULL. */
void tutti_rendezvous_leave(tutti_rendezvous *rendezvous, int given);

#endif
