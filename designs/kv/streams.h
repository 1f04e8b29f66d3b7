/* In which order the messages of a link begin, and where a receive turns to when its peer is lost. A value, which
 * neither sends nor waits: the link's thread (link.h) has one, and so has each rank of a world whose every step is
 * chosen (tests/deadlock/kv_ground_link.c).
 *
 *   add -> ready -> begin -> { came | put_back -> begin }
 *
 * The messages of one direction, peer and tag are a stream. They begin in the order in which they were added, whatever
 * order their data become ready in: so the k-th at one end meets the k-th at the other.
 *
 * A receive may have a spare: another peer, which has the same data. Once they have come from the first, that one is
 * told `spared`. When the first is lost, all receives of a stream that have not got their data turn to the spare, in
 * their order, and each of them tells it `needed`. [P] */
#ifndef TUTTI_KV_STREAMS_H
#define TUTTI_KV_STREAMS_H

#include "designs/thread/notes.h"

/* From where else a receive's data may come, and what is written to that peer: once they have come from the first, or
 * once that has broken off, or is not there; then they are to come from here. Both in the order of the stream. */
typedef struct tutti_link_spare {
    int peer, tag;
    int64_t spared[TUTTI_NOTE_VALUES], needed[TUTTI_NOTE_VALUES];
} tutti_link_spare;

/* A message; its owner's, but while it waits to begin. */
typedef struct tutti_streamed {
    struct tutti_streamed *next; /* that waits */
    int sends, peer, tag;        /* its stream */
    int ready;                   /* its data are here */
    int has_spare;               /* and has not turned to it */
    tutti_link_spare spare;
    int64_t number; /* in the order in which they were added */
} tutti_streamed;

typedef enum tutti_peer_state {
    TUTTI_PEER_AWAY,   /* there is no connection, or it is being cut */
    TUTTI_PEER_BROKEN, /* it has broken off, which has yet to be handled */
    TUTTI_PEER_HERE
} tutti_peer_state;

typedef struct tutti_streams_user {
    void *ctx;
    tutti_peer_state (*state)(void *ctx, int peer);
    /* It waits no more. Where its peer is not here it fails, and may be freed. */
    void (*begin)(void *ctx, tutti_streamed *message);
    void (*write)(void *ctx, int peer, const int64_t value[TUTTI_NOTE_VALUES]);
} tutti_streams_user;

typedef struct tutti_streams {
    tutti_streams_user user;
    tutti_streamed *waiting; /* to begin, in their order */
    int64_t added;
} tutti_streams;

void tutti_streams_add(tutti_streams *streams, tutti_streamed *message);
/* Its data are here: it begins, and what waits behind it in its stream, as far as that may. */
void tutti_streams_ready(tutti_streams *streams, tutti_streamed *message);
/* A receive has its data. */
void tutti_streams_came(const tutti_streams *streams, const tutti_streamed *message);
/* One with a spare had begun, and its peer is lost. */
void tutti_streams_put_back(tutti_streams *streams, tutti_streamed *message);
/* The peer is lost, what had begun with it has ended or was put back, and its state is AWAY. */
void tutti_streams_turn_from(tutti_streams *streams, int peer);

#endif
