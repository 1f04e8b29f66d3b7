/* Which clients a server has: who may come in, and who is there. Nothing here moves a byte.
 *
 *   expected -> here -> lost -> gone -> here again, where the type permits it
 *                    \-> gone (it has said bye)
 *
 * A client is here from its first worker's greeting on; the others come in one by one. It is lost from the moment
 * one of them has broken off until the server has handled that; only then may it return.
 *
 * LAW: a client that returns, or is new, begins with nothing on its way: what its earlier life had sent has landed or
 * was dropped before it is let in. [P] on different guests; the caller locks. */
#ifndef TUTTI_KV_GUESTS_H
#define TUTTI_KV_GUESTS_H

#include "designs/kv/hello.h"

typedef enum tutti_guest_state {
    TUTTI_GUEST_GONE,
    TUTTI_GUEST_EXPECTED,
    TUTTI_GUEST_HERE,
    TUTTI_GUEST_LOST,
} tutti_guest_state;

typedef struct tutti_guest {
    tutti_guest_state state;
    int64_t life;
    int workers_here;
    unsigned char here[TUTTI_HELLO_WORKERS / 8]; /* which of its workers: bits */
    int process;                                 /* of its first worker */
    char host[TUTTI_HELLO_HOST];
    char why[96]; /* it was lost: "has closed the connection" */
} tutti_guest;

enum { TUTTI_GUESTS_MORE = 64 }; /* clients beyond those that are expected, but in sync */

typedef struct tutti_guests {
    tutti_hello
        self; /* server, servers, clients, copies, rule; workers: of a client, 0 while none is here */
    int room; /* how many clients there may be */
    tutti_guest *guest;
} tutti_guests;

typedef enum tutti_guest_verdict {
    TUTTI_GUEST_WELCOME,
    TUTTI_GUEST_REFUSED,
    TUTTI_GUEST_LATER /* it may be otherwise soon */
} tutti_guest_verdict;

/* The expected clients are 0 to self->clients - 1. NOMEM. */
tutti_status tutti_guests_open(const tutti_hello *self, tutti_guests *guests);
void tutti_guests_close(tutti_guests *guests);
/* Nothing of a client is here any more. Once no other is here either, clients may have another number of workers. */
void tutti_guests_leave(tutti_guests *guests, int client);
/* One worker greets. WELCOME: hello->client is its number; *first: it is its client's first. Else why[] says why. */
enum { TUTTI_GUEST_WHY = TUTTI_HELLO_BYTES };
tutti_guest_verdict tutti_guests_greet(
    tutti_guests *guests, tutti_hello *hello, int *first, char why[TUTTI_GUEST_WHY]);

#endif
