/* Connections to processes of other jobs, and the thread that drives them: what a server's exchange with its clients
 * is where they are jobs of their own. A peer is a number that the user chooses; at most one connection a peer.
 *
 *   open -> { add, let_in, write, move, cut }* -> close
 *
 * Active messages to a peer arrive in the order in which they were written. Moves are messages of StarPU's data, of
 * which the k-th submitted at one end meets the k-th at the other on a (peer, tag); their data are held until they
 * end. When a connection breaks, its moves end at once, each with COMM in its result; then `lost` is called, once,
 * unless it was cut. A move whose peer has no connection ends likewise. So nothing that is inserted is ever left. A
 * receive with a spare turns to that instead, unless the connection was cut.
 *
 * Threads: add, write, move and cut are [A]; the user's functions are called on their thread, which they
 * must not hold up, and may call those. */
#ifndef TUTTI_KV_CONNECTIONS_H
#define TUTTI_KV_CONNECTIONS_H

#include "collectives/transport/tcp.h"
#include "dag/run/datum.h"
#include "dag/run/meter.h"
#include "designs/kv/message_order.h"

typedef struct tutti_connections tutti_connections;

typedef struct tutti_connections_user {
    void *ctx;
    tutti_active_message_handler *on_message; /* message->rank: the peer */
    void (*on_lost)(void *ctx, int peer, const char *why);
    /* One who has shown the token: decides, and writes the answer's words. WELCOME: *peer is who it is. NULL: there
     * is no listener. */
    tutti_tcp_verdict (*admit)(
        void *ctx, unsigned char words[TUTTI_TCP_WORDS_BYTES], const char *from, int *peer);
    double silence_s;   /* as in tutti_connection_options */
    int64_t tags;       /* of moves */
    tutti_meter *meter; /* of moves, as of collectives; may be NULL; borrowed */
} tutti_connections_user;

/* Starts the thread. NOMEM, INTERNAL (logged). */
tutti_status tutti_connections_open(
    const tutti_connections_user *user, tutti_connections **connections);
/* Takes over the socket of one who has said welcome. NOMEM: it is closed. */
tutti_status tutti_connections_add(tutti_connections *connections, int peer, int socket);
/* From now on others may come in. Takes over the listener. Once. */
tutti_status tutti_connections_accept(tutti_connections *connections, tutti_tcp_listener *listener);
tutti_status tutti_connections_write(
    tutti_connections *connections, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES]);

typedef struct tutti_connections_data {
    int peer, tag;
    int priority; /* of a send: the largest goes first (tcp.h) */
    tutti_insert_handle data;
    int64_t count;
    tutti_dtype dtype;
    tutti_status *
        result; /* NULL, or set before the data are let go, if the move fails; the caller's until then */
    const tutti_connections_spare *spare; /* of a receive; copied; NULL: there is none */
} tutti_connections_data;
/* Submits a send or a receive of all of the data. NOMEM, INTERNAL: nothing is submitted. [M] */
tutti_status tutti_connections_send(
    tutti_connections *connections, const tutti_connections_data *what);
tutti_status tutti_connections_recv(
    tutti_connections *connections, const tutti_connections_data *what);
/* Breaks a connection, whose moves end. Gently: once what was written to it has gone out and the other end has closed,
 * too, or 5 s later. `heard` and `lost` are not called for it any more. Nothing if there is none. */
void tutti_connections_cut(tutti_connections *connections, int peer, int gently);
/* All of them, gently. */
void tutti_connections_cut_all(tutti_connections *connections);
/* Whether all that was submitted has ended. */
int tutti_connections_idle(tutti_connections *connections);
/* Cuts all gently, waits for that, ends the thread. Accepts NULL. */
void tutti_connections_close(tutti_connections *connections);

#endif
