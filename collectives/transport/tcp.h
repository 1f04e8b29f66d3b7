/* Messages between two processes of different jobs over TCP: the sockets below a transport of two ranks
 * (tutti_transport_tcp in transport.h), and how they come about. Nothing here listens unless a door is opened.
 *
 *   one end                                  the other
 *   door_open -> { poll, hear -> answer }*   connect
 *              transport_tcp on the socket   transport_tcp on the socket
 *
 * A greeting of a fixed size comes first, with the version and a token: a shared secret, which travels as it is, as
 * do all data: the network must be one that is trusted. Who greets with another token is told so and cut off; a
 * stranger who sends anything else, or nothing, is cut off without a word, and keeps nobody waiting meanwhile.
 *
 * Every wait has a deadline. One thread at a time for a door, and for a transport. */
#ifndef TUTTI_TCP_H
#define TUTTI_TCP_H

#include "collectives/transport/tcp_frame.h"
#include "collectives/transport/transport.h"

#include <poll.h>

enum { TUTTI_TCP_NAME = 96, TUTTI_TCP_STRANGERS = 64, TUTTI_TCP_WHY = 400 };

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
    unsigned char words[TUTTI_TCP_WORDS_BYTES], int *later, char why[TUTTI_TCP_WHY], int *socket);
/* The same to an address that may be out of date: who answers may be another server or program than is meant. So
 * whatever is no answer to these words is for later, too. */
tutti_status tutti_tcp_connect_stale(const char *address, int port, double timeout_s,
    const char *token, unsigned char words[TUTTI_TCP_WORDS_BYTES], int *later,
    char why[TUTTI_TCP_WHY], int *socket);

/* ---- what a transport of tutti_transport_tcp has beside the vtable ---- */

/* Moves what the socket takes and has, and keeps time; never waits. Test looks only at what passes have done. */
void tutti_tcp_pass(tutti_transport *transport);
/* What to wait for before the next pass. */
struct pollfd tutti_tcp_poll(const tutti_transport *transport);
/* NULL while the connection stands; else why it broke, as the end of a sentence: "has closed the connection". All
 * its messages then end with COMM. */
const char *tutti_tcp_broken(const tutti_transport *transport);
/* Breaks the connection from this end, at once. */
void tutti_tcp_break(tutti_transport *transport);
/* Of a send, 0 at first: of those of a lane that the other end wants, the largest goes first, a piece of
 * TUTTI_TCP_PIECE_BYTES at a time. Those of one lane and tag stay in their order. */
void tutti_tcp_set_priority(tutti_message *message, int priority);
/* Tells the other end that nothing more comes, once all is flushed; it breaks when that end has closed. */
void tutti_tcp_shut(tutti_transport *transport);
/* Whether all that was sent has gone out to the socket. */
int tutti_tcp_flushed(const tutti_transport *transport);

#endif
