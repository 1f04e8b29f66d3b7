/* In which order the messages of a connection begin, and where a receive turns to when its peer is lost. A value, which
 * neither sends nor waits: the connections' thread (connections.h) has one, and so has each rank of a world whose
 * every step is
 * chosen (tests/deadlock/kv_ground_connections.c).
 *
 *   add -> ready -> begin -> { came | put_back -> begin }
 *
 * The messages of one direction, peer and tag are a stream. They begin in the order in which they were added, whatever
 * order their data become ready in: so the k-th at one end meets the k-th at the other.
 *
 * A receive may have a spare: another peer, which has the same data. Once they have come from the first, that one is
 * told `spared`. When the first is lost, all receives of a stream that have not got their data turn to the spare, in
 * their order, and each of them tells it `needed`. [P] */
#ifndef TUTTI_KV_MESSAGE_ORDER_H
#define TUTTI_KV_MESSAGE_ORDER_H

#include "designs/thread/active_messages.h"

/* From where else a receive's data may come, and what is written to that peer: once they have come from the first, or
 * once that has broken off, or is not there; then they are to come from here. Both in the order of the stream. */
typedef struct tutti_connections_spare {
    int peer, tag;
    int64_t spared[TUTTI_ACTIVE_MESSAGE_VALUES], needed[TUTTI_ACTIVE_MESSAGE_VALUES];
} tutti_connections_spare;

/* A message; its owner's, but while it waits to begin. */
typedef struct tutti_ordered_message {
    struct tutti_ordered_message *next; /* that waits */
    int sends, peer, tag;               /* its stream */
    int ready;                          /* its data are here */
    int has_spare;                      /* and has not turned to it */
    tutti_connections_spare spare;
    int64_t number; /* in the order in which they were added */
} tutti_ordered_message;

typedef enum tutti_peer_state {
    TUTTI_PEER_AWAY,   /* there is no connection, or it is being cut */
    TUTTI_PEER_BROKEN, /* it has broken off, which has yet to be handled */
    TUTTI_PEER_HERE
} tutti_peer_state;

typedef struct tutti_message_order_user {
    void *ctx;
    tutti_peer_state (*state)(void *ctx, int peer);
    /* It waits no more. Where its peer is not here it fails, and may be freed. */
    void (*begin)(void *ctx, tutti_ordered_message *message);
    void (*write)(void *ctx, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES]);
} tutti_message_order_user;

typedef struct tutti_message_order {
    tutti_message_order_user user;
    tutti_ordered_message *waiting; /* to begin, in their order */
    int64_t added;
} tutti_message_order;

void tutti_message_order_add(tutti_message_order *order, tutti_ordered_message *message);
/* Its data are here: it begins, and what waits behind it in its stream, as far as that may. */
void tutti_message_order_ready(tutti_message_order *order, tutti_ordered_message *message);
/* A receive has its data. */
void tutti_message_order_arrived(
    const tutti_message_order *order, const tutti_ordered_message *message);
/* One with a spare had begun, and its peer is lost. */
void tutti_message_order_put_back(tutti_message_order *order, tutti_ordered_message *message);
/* The peer is lost, what had begun with it has ended or was put back, and its state is AWAY. */
void tutti_message_order_redirect(tutti_message_order *order, int peer);

#endif
