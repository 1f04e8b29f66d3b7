/* A collective that the main thread waits for, with a deadline. It owns its memory: input is copied
 * in, and the result is copied out. A caller that gives up waiting may leave and free or reuse its
 * buffers: the rendezvous lives until the collective no longer uses its memory.
 *
 *   new -> (args and token to the driver) -> arrived -> take -> leave
 *                                       \-> deadline --------> leave
 *
 * Threads: the token may be finished on any thread; one thread makes all other calls. */
#ifndef TUTTI_RENDEZVOUS_H
#define TUTTI_RENDEZVOUS_H

#include "collectives/value/args.h"
#include "dag/run/token.h"

typedef struct tutti_rendezvous tutti_rendezvous;

/* For this collective on `ranks` ranks. NOMEM; UNSUPPORTED: a gather, scatter or alltoall, whose
 * buffers differ from rank to rank. */
tutti_status tutti_rendezvous_new(
    const tutti_coll_args *args, int ranks, tutti_rendezvous **rendezvous);
/* The same collective on the rendezvous's memory, and the token to finish at its end. */
const tutti_coll_args *tutti_rendezvous_args(const tutti_rendezvous *rendezvous);
tutti_token *tutti_rendezvous_token(tutti_rendezvous *rendezvous);
/* Whether the token has been finished; waits at most timeout_s seconds. */
int tutti_rendezvous_arrived(tutti_rendezvous *rendezvous, double timeout_s);
/* After that: copies the result to args->recv (args: as passed to new); returns the token's
 * status. */
tutti_status tutti_rendezvous_take(tutti_rendezvous *rendezvous, const tutti_coll_args *args);
/* Frees it at once if the token has been finished or was never given away (given 0), otherwise when
 * it is finished. Accepts NULL. */
void tutti_rendezvous_leave(tutti_rendezvous *rendezvous, int given);

#endif
