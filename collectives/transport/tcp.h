/* Establishes TCP connections between two processes of different jobs: the sockets of connections (connection.h).
 * The library listens only while a listener is open.
 *
 *   one end                                        the other
 *   listener_open -> { poll, accept -> answer }*   connect
 *              connection_open on the socket       connection_open on the socket
 *
 * A greeting of a fixed size comes first, with the version and a token, a shared secret. The token and all data are
 * sent unencrypted: the network must be trusted. A client with another token gets an answer that says so, and is
 * disconnected. A client that sends anything else, or nothing, is disconnected without an answer, and delays no other
 * meanwhile.
 *
 * Every wait has a deadline, but for names, whose addresses the system's resolver finds in its own time. One thread
 * at a time for a listener. */
#ifndef TUTTI_TCP_H
#define TUTTI_TCP_H

#include "collectives/transport/connection.h"
#include "collectives/transport/tcp_frame.h"
#include "dag/base/status.h"

#include <poll.h>

enum { TUTTI_TCP_NAME = 96, TUTTI_TCP_PENDING = 64 };

/* ---- the listener ---- */

typedef struct tutti_tcp_listener tutti_tcp_listener;

/* Listens on an address of this host ("127.0.0.1", "0.0.0.0", a name); port 0: any free port. COMM (logged): the port
 * is in use, or the address is not one of this host. */
tutti_status tutti_tcp_listener_open(
    const char *address, int port, const char *token, tutti_tcp_listener **listener);
/* The same on a socket that listens already, which a parent has left to this process. Takes it over if it is one. INVAL
 * (logged): it is not. */
tutti_status tutti_tcp_listener_adopt(int socket, const char *token, tutti_tcp_listener **listener);
int tutti_tcp_listener_port(const tutti_tcp_listener *listener);
/* Writes the descriptors to poll, at most TUTTI_TCP_PENDING + 1; returns how many. */
int tutti_tcp_listener_poll(const tutti_tcp_listener *listener, struct pollfd *what);
/* Returns the socket of a client with the right version and token, with its words and its address; -1: there is none.
 * Never waits. The caller answers, and owns the socket. Logs rejected connections: the first, the second, the fourth,
 * and so on. */
int tutti_tcp_listener_accept(tutti_tcp_listener *listener,
    unsigned char words[TUTTI_TCP_WORDS_BYTES], char from[TUTTI_TCP_NAME]);
void tutti_tcp_listener_close(tutti_tcp_listener *listener); /* accepts NULL */

/* Answers a client that the listener has returned. 0: it has disconnected; the socket is the caller's in both cases. */
int tutti_tcp_answer(
    int socket, tutti_tcp_verdict verdict, const unsigned char words[TUTTI_TCP_WORDS_BYTES]);

/* ---- connecting ---- */

typedef struct tutti_tcp_call {
    const char *address;
    int port;
    const char *token;
    double timeout_s; /* until it has answered */
    double reach_s;   /* until its host has, where the caller has another address; 0: timeout_s */
    int stale;        /* the address may be out of date: another server or program may answer */
} tutti_tcp_call;

/* Connects and greets with token and words; *words becomes the answer's. *later: the other side does not answer
 * yet, or, of a stale address, answers what does not fit these words: the caller may retry; nothing is logged, and
 * why[] has the reason. Otherwise a failure is logged: COMM, TIMEOUT, MISMATCH (version), USAGE (token, or refused by
 * the other side). Of a name with several addresses each gets an equal part of the time. */
tutti_status tutti_tcp_connect(const tutti_tcp_call *call,
    unsigned char words[TUTTI_TCP_WORDS_BYTES], int *later, char why[TUTTI_CONNECTION_WHY],
    int *socket);

#endif
