/* Connections between jobs, and the thread that drives them. The user numbers its peers; there is at most one
 * connection to a peer.
 *
 *   open -> { add, accept, write, send, recv, cut }* -> close
 *
 * Active messages to a peer arrive in the order in which they were written. Data messages transfer StarPU's data: the
 * k-th send on a (peer, tag) matches the k-th receive at the other end. Their data are held until they end. When a
 * connection breaks, its data messages end at once, with COMM in their results, and `on_lost` is called, once, unless
 * the connection was cut. A message to a peer without a connection ends with COMM, too. So every message ends. A
 * receive with a spare is redirected to it instead, unless the connection was cut.
 *
 * Threads: add, write and cut are [A]. The user's functions are called on the connections' thread; they must not block,
 * and may call these. */
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
    /* A process with the right token wants to connect: decides, and writes the answer's words. WELCOME: *peer is its
     * number. NULL: there is no listener. */
    tutti_tcp_verdict (*admit)(
        void *ctx, unsigned char words[TUTTI_TCP_WORDS_BYTES], const char *from, int *peer);
    /* Whether something has failed here, so that data may not be what they should be: they are not sent any more.
     * Asked before each send over a connection. NULL: never. */
    tutti_status (*failure)(void *ctx);
    double silence_s;   /* as in tutti_connection_options */
    int64_t tags;       /* of data messages */
    tutti_meter *meter; /* counts data messages; may be NULL; borrowed */
} tutti_connections_user;

/* Starts the thread. NOMEM, INTERNAL (logged). */
tutti_status tutti_connections_open(
    const tutti_connections_user *user, tutti_connections **connections);
/* Takes over the socket of a peer that has answered WELCOME. NOMEM: the socket is closed. */
tutti_status tutti_connections_add(tutti_connections *connections, int peer, int socket);
/* Accepts peers from now on. Takes over the listener. Called once at most. */
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
        result; /* may be NULL; on failure set before the data are released; the caller's until then */
    const tutti_connections_spare *spare; /* of a receive; copied; NULL: there is none */
} tutti_connections_data;
/* Submits a send or a receive of all of the data. NOMEM, INTERNAL: nothing is submitted. [M] */
tutti_status tutti_connections_send(
    tutti_connections *connections, const tutti_connections_data *what);
tutti_status tutti_connections_recv(
    tutti_connections *connections, const tutti_connections_data *what);
/* Breaks the connection to a peer, if there is one; its data messages end. Gently: after all writes have been sent and
 * the other end has closed, or after 5 s. `on_message` and `on_lost` are no longer called for it. */
void tutti_connections_cut(tutti_connections *connections, int peer, int gently);
/* All of them, gently. */
void tutti_connections_cut_all(tutti_connections *connections);
/* Whether all that was submitted has ended. */
int tutti_connections_idle(tutti_connections *connections);
/* Cuts all gently, waits, and ends the thread. Messages whose data are not available yet end as soon as they are, with
 * COMM: it waits 60 s for them; if they have not ended then, the thread and its memory stay for them. The user's
 * functions are not called after it. Accepts NULL. */
void tutti_connections_close(tutti_connections *connections);

#endif
