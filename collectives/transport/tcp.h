/* How two processes of different jobs find each other over TCP: the sockets below a connection (connection.h), and how
 * they come about. Nothing here listens unless a door is opened.
 *
 *   one end                                  the other
 *   door_open -> { poll, hear -> answer }*   connect
 *              connection_open on the socket connection_open on the socket
 *
 * A greeting of a fixed size comes first, with the version and a token: a shared secret, which travels as it is, as
 * do all data: the network must be one that is trusted. Who greets with another token is told so and cut off; a
 * stranger who sends anything else, or nothing, is cut off without a word, and keeps nobody waiting meanwhile.
 *
 * Every wait has a deadline. One thread at a time for a door. */
#ifndef TUTTI_TCP_H
#define TUTTI_TCP_H

#include "collectives/transport/connection.h"
#include "collectives/transport/tcp_frame.h"
#include "dag/base/status.h"

#include <poll.h>

enum { TUTTI_TCP_NAME = 96, TUTTI_TCP_STRANGERS = 64 };

/* ---- the door ---- */

typedef struct tutti_tcp_door tutti_tcp_door;

/* Listens on an address of this host ("127.0.0.1", "0.0.0.0", a name); port 0: any that is free. COMM (logged): the
 * port is in use, the address is not of this host. */
tutti_status tutti_tcp_door_open(
    const char *address, int port, const char *token, tutti_tcp_door **door);
int tutti_tcp_door_port(const tutti_tcp_door *door);
/* Writes what to poll, at most TUTTI_TCP_STRANGERS + 1; returns how many. */
int tutti_tcp_door_poll(const tutti_tcp_door *door, struct pollfd *what);
/* Never waits. The socket of one who has shown version and token, with its words, and where it comes from; -1:
 * nobody. The caller answers, and owns the socket. Logs strangers: the first, the second, the fourth, and so on. */
int tutti_tcp_door_receive(
    tutti_tcp_door *door, unsigned char words[TUTTI_TCP_WORDS_BYTES], char from[TUTTI_TCP_NAME]);
void tutti_tcp_door_close(tutti_tcp_door *door); /* accepts NULL */

/* To one whom the door has let in. 0: it is gone; the socket is the caller's either way. */
int tutti_tcp_answer(
    int socket, tutti_tcp_verdict verdict, const unsigned char words[TUTTI_TCP_WORDS_BYTES]);

/* ---- connecting ---- */

/* Greets with token and words; *words becomes the answer's. *later: nobody is there, or not yet: the caller may try
 * again; nothing is logged, but why[] says what is the matter. Otherwise a failure is logged: COMM, TIMEOUT,
 * MISMATCH (version), USAGE (token; whatever the other side refuses). */
tutti_status tutti_tcp_connect(const char *address, int port, double timeout_s, const char *token,
    unsigned char words[TUTTI_TCP_WORDS_BYTES], int *later, char why[TUTTI_CONNECTION_WHY],
    int *socket);
/* The same to an address that may be out of date: who answers may be another server or program than is meant. So
 * whatever is no answer to these words is for later, too. */
tutti_status tutti_tcp_connect_stale(const char *address, int port, double timeout_s,
    const char *token, unsigned char words[TUTTI_TCP_WORDS_BYTES], int *later,
    char why[TUTTI_CONNECTION_WHY], int *socket);

#endif
