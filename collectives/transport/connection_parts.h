/* The internals of a connection: connection_message.c (messages: how sends and receives match, cancelling), and
 * connection_wire.c (frames and data on the stream). */
#ifndef TUTTI_CONNECTION_PARTS_H
#define TUTTI_CONNECTION_PARTS_H

#include "collectives/transport/connection.h"
#include "collectives/transport/stream.h"
#include "collectives/transport/tcp_frame.h"

/* The limits of the other end's unmatched receives, and of early sends that it has no receive for. */
enum { TUTTI_CONNECTION_MOST_WANTS = 1 << 16, TUTTI_CONNECTION_MOST_EARLY = 256 };

struct tutti_connection_message {
    tutti_connection_message *next;
    int is_send, lane, tag;
    int priority; /* of a send */
    unsigned char *data;
    int drops; /* received data are dropped, and then this struct is freed */
    size_t bytes, moved;
    uint64_t number; /* of its WANT */
    uint64_t place;  /* where the receive's memory is, if the sender can write to it; else 0 */
    int wanted;      /* of a send: it is matched */
    int unfit;       /* of a send: it is not sent, because the receive has another size */
    int early;       /* of a send: it goes before its receive is known */
    int revoked;     /* of a receive: cancelled, and the other end has not answered yet */
    tutti_connection_message *
        taker; /* of an unexpected message: the receive that gets its data when they are complete */
    int unexpected; /* it came early, and is no receive */
    int gone;       /* of a send: PLACED is written; it ends with the last of its pieces */
    int under_way;  /* how many pieces of a send the stream is still writing */
    int ended;
    tutti_status status;
};

/* Oldest first. */
typedef struct tutti_message_list {
    tutti_connection_message *first, **end; /* end: where the next one is put */
} tutti_message_list;

/* A receive of the other end without a matching send here, or an early send without a receive there. */
typedef struct tutti_want {
    struct tutti_want *next;
    int lane, tag;
    uint64_t bytes, number, place;
    enum { TUTTI_UNCLAIMED, TUTTI_CLAIMED, TUTTI_WRITTEN } claim;
    int revoked; /* while it is claimed: the answer comes when it is written */
} tutti_want;

typedef struct tutti_want_list {
    tutti_want *first, **end;
    int count;
} tutti_want_list;

/* Frames without data that are to be written; grows. */
typedef struct tutti_control_frames {
    unsigned char *bytes;
    size_t used, sent, room;
} tutti_control_frames;

struct tutti_connection {
    tutti_connection_options options;
    tutti_stream *stream; /* NULL: the connection is broken */
    int shut;
    double now_s; /* when the pass began */
    double last_received_s, wrote_s;
    double stuck_s; /* since when the stream accepts nothing; 0: it does */
    tutti_message_list sends, recvs;
    tutti_message_list unexpected; /* early messages without a receive */
    int unexpected_count;
    tutti_want_list wants, owed; /* owed: early sends whose WANT has not come */
    int gone;                    /* how many sends are */
    uint64_t asked, got_asked;   /* how many WANT were sent, and received */
    tutti_connection_received received;
    tutti_control_frames control;
    /* what is being written: a header, then a piece of a message */
    unsigned char header[TUTTI_TCP_HEADER_BYTES];
    size_t header_left, piece_left;
    tutti_connection_message *outgoing;
    /* what is being read */
    unsigned char coming[TUTTI_TCP_HEADER_BYTES];
    size_t coming_got, coming_left;
    tutti_connection_message *incoming;
    char why[TUTTI_CONNECTION_WHY]; /* why it broke; "": it works */
};

void tutti_connection_fail(tutti_connection *t, const char *why);
/* Queues a frame without data. */
void tutti_connection_queue(tutti_connection *t, const tutti_tcp_frame *f);
/* Ends a message; tutti_connection_test frees it. */
void tutti_connection_end(tutti_connection *t, tutti_connection_message *m, tutti_status status);
/* Whatever comes next for this receive is dropped, `bytes` bytes: the receive can end. Returns what drops it. NULL: no
 * memory. */
tutti_connection_message *tutti_connection_drop(
    tutti_connection *t, tutti_connection_message *m, size_t bytes);
/* The oldest receive of this lane and tag, or NULL. */
tutti_connection_message *tutti_connection_oldest_recv(
    const tutti_connection *t, int lane, int tag);
/* An early message has arrived without a receive. NULL: no memory. */
tutti_connection_message *tutti_connection_add_unexpected(
    tutti_connection *t, int lane, int tag, size_t bytes);
/* All its data are here. */
void tutti_connection_has_unexpected(tutti_connection *t, tutti_connection_message *m);
void tutti_connection_on_want(tutti_connection *t, const tutti_tcp_frame *f);
void tutti_connection_on_revoke(tutti_connection *t, const tutti_tcp_frame *f);
void tutti_connection_on_revoked(tutti_connection *t, const tutti_tcp_frame *f);

#endif
