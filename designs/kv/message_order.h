/* The order in which a connection's messages begin, and which receives are redirected when a peer is lost. It neither
 * sends nor waits. The connections' thread has one (connections.h), and each rank of a world whose every step is chosen
 * (tests/deadlock/kv_ground_connections.c).
 *
 *   add -> ready -> begin -> { arrived | put_back -> begin }
 *
 * The messages of one direction, peer and tag are a stream. They begin in the order in which they were added, in
 * whatever order their data become ready: so the k-th at one end matches the k-th at the other.
 *
 * A receive may have a spare: a second peer with the same data. When the data have arrived from the first, `spared` is
 * written to the spare. When the first is lost, all receives of a stream that are incomplete are redirected to the
 * spare, in their order, and `needed` is written to it for each. [P] */
#ifndef TUTTI_KV_MESSAGE_ORDER_H
#define TUTTI_KV_MESSAGE_ORDER_H

#include "designs/thread/active_messages.h"

/* A second source of a receive's data, and what is written to it: `spared` when the first has sent the data, `needed`
 * when the first is lost or absent. Both in the order of the stream. */
typedef struct tutti_connections_spare {
    int peer, tag;
    int64_t spared[TUTTI_ACTIVE_MESSAGE_VALUES], needed[TUTTI_ACTIVE_MESSAGE_VALUES];
} tutti_connections_spare;

/* A message; owned by the caller except while it waits to begin. */
typedef struct tutti_ordered_message {
    struct tutti_ordered_message *next; /* in the queue */
    int sends, peer, tag;               /* its stream */
    int ready;                          /* its data are available */
    int has_spare;                      /* and was not redirected to it */
    tutti_connections_spare spare;
    int64_t number; /* in the order in which they were added */
} tutti_ordered_message;

typedef enum tutti_peer_state {
    TUTTI_PEER_AWAY,   /* there is no connection, or it is being cut */
    TUTTI_PEER_BROKEN, /* the connection has broken, which was not handled yet */
    TUTTI_PEER_HERE
} tutti_peer_state;

typedef struct tutti_message_order_user {
    void *ctx;
    tutti_peer_state (*state)(void *ctx, int peer);
    /* Starts the message. If its peer is not HERE, it fails, and may be freed. */
    void (*begin)(void *ctx, tutti_ordered_message *message);
    void (*write)(void *ctx, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES]);
} tutti_message_order_user;

typedef struct tutti_message_order {
    tutti_message_order_user user;
    tutti_ordered_message *waiting; /* to begin, in their order */
    int64_t added;
} tutti_message_order;

void tutti_message_order_add(tutti_message_order *order, tutti_ordered_message *message);
/* Its data are available: it begins when all before it in its stream have; then the next ready ones do. */
void tutti_message_order_ready(tutti_message_order *order, tutti_ordered_message *message);
/* A receive is complete. */
void tutti_message_order_arrived(
    const tutti_message_order *order, const tutti_ordered_message *message);
/* A message with a spare had begun, and its peer is lost. */
void tutti_message_order_put_back(tutti_message_order *order, tutti_ordered_message *message);
/* The peer is lost: messages that had begun have ended or were put back, and its state is AWAY. */
void tutti_message_order_redirect(tutti_message_order *order, int peer);

#endif
