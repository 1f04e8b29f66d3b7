/* The internals of a communicator, shared by comm.c (opening it, and what it is asked) and request.c (its collectives,
 * from post to free). */
#ifndef TUTTI_COMM_PARTS_H
#define TUTTI_COMM_PARTS_H

#include "collectives/buf/buf.h"
#include "collectives/cache.h"
#include "collectives/choose.h"
#include "collectives/coll.h"
#include "collectives/engine.h"
#include "collectives/priced.h"
#include "collectives/rules.h"
#include "collectives/sched/forest.h"
#include "collectives/transport/transport.h"

/* The collectives of one lane. A collective is live from its post until all its messages have
 * ended. */
typedef struct tutti_comm_lane {
    int64_t posted;      /* so far; the number of the next one */
    int64_t oldest;      /* none before this number is live */
    unsigned char *live; /* [depth] by number */
} tutti_comm_lane;

struct tutti_comm {
    tutti_transport *transport;
    int lanes; /* the first of the transport's */
    int aside; /* the lane that parts share; 0: none */
    const tutti_algorithm *algorithm;
    int radix;            /* of its trees */
    tutti_forest *forest; /* of its file, which its schedules go along; NULL: it has none */
    const tutti_rules *rules;
    tutti_priced *priced; /* NULL: it does not choose by price */
    int warned;           /* of rules whose algorithm cannot do something */
    tutti_pool *pool;
    tutti_pool *
        received; /* what other ranks write to; where the transport has no such memory, it is `pool` */
    tutti_cache *cache;
    int64_t identities, numbers; /* the transport's tags are their product */
    /* only this many numbers, from the oldest live one of a lane on, may be live */
    int64_t depth;
    int credit;            /* of the flights */
    tutti_comm_lane *lane; /* [lanes] */
    tutti_coll_work work;
    tutti_coll_request *oldest, *newest; /* in flight */
    tutti_coll_request *first_awake, *last_awake;
    tutti_coll_request *first_moved, **last_moved; /* in the last progress */
};

struct tutti_coll_request {
    /* What a message that ends touches comes first. In the list of those that progress looks at: all but those that
     * nothing advances before the watcher is called */
    tutti_comm *comm;
    tutti_coll_request *before, *behind;
    int awake, news; /* news: it was called */
    tutti_status status;
    int done;
    tutti_watcher watcher;
    tutti_flight *flight;
    int64_t moves; /* passes that advanced it */
    tutti_coll_request *moved;
    int64_t label;
    tutti_coll_request *older, *newer; /* while in flight */
    tutti_coll_args args;
    int lane;
    int64_t number; /* on its lane */
    /* The transport's message: the collective's device slot, until all its partners have one; or, with `whole`, the
     * MPI library's own collective. NULL: neither */
    tutti_message *message;
    tutti_device_call *call; /* a library's own, in device memory; NULL: none */
    int whole;               /* it is a library's own */
    tutti_cache_entry *entry;
    int in_flight;
    int orphan;            /* its post has failed half-way: the drain frees it */
    unsigned char here[2]; /* a barrier's IN and OUT */
};

/* The tag of a collective's messages is its number on the lane, and bits of its identity: messages
 * of two collectives match only if they agree in both. Numbers wrap around, but
 *
 *   two live collectives of a lane never share a tag:
 *   oldest <= number < oldest + depth holds for every live one (tutti_coll_post refuses any other),
 *   and depth <= numbers: two live ones differ in number % numbers, and with that in their tags.
 *
 * This suffices for correct sums, whatever other ranks have in flight. Let c and d share a tag, c
 * before d. On each rank c has ended when d is posted, so all of c's messages are posted before any
 * of d's, and c sends as many from p to q as q receives (collectives/sched/match). The k-th message
 * sent on (lane, peer, tag) matches the k-th receive (collectives/transport/transport.h; in MPI,
 * messages do not overtake): c's messages match c's receives. */
static inline int tutti_comm_tag(const tutti_comm *c, int64_t number, uint32_t identity)
{
    return (int)(number % c->numbers * c->identities + identity % c->identities);
}

#endif
