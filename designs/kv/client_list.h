/* A server's clients: which are connected, and which may connect. No communication here.
 *
 *   expected -> here -> lost -> gone -> here again, where the type permits it
 *                    \-> gone (it has sent BYE)
 *
 * A client is HERE once its first worker is admitted; its other workers follow one by one. It is LOST when a worker's
 * connection breaks, until the server has handled that. Then it may return.
 *
 * LAW: a client that returns, or is new, begins with no messages in flight: those of its earlier life have arrived or
 * were dropped before it is admitted. [P] on different lists; the caller locks. */
#ifndef TUTTI_KV_CLIENT_LIST_H
#define TUTTI_KV_CLIENT_LIST_H

#include "designs/kv/hello.h"

typedef enum tutti_client_state {
    TUTTI_CLIENT_GONE,
    TUTTI_CLIENT_EXPECTED,
    TUTTI_CLIENT_HERE,
    TUTTI_CLIENT_LOST,
} tutti_client_state;

typedef struct tutti_client_entry {
    tutti_client_state state;
    int64_t life;
    unsigned char here[TUTTI_HELLO_WORKERS / 8]; /* which of its workers: bits */
    int process;                                 /* of its first worker */
    char host[TUTTI_HELLO_HOST];
    char why[96]; /* why it was lost: "has closed the connection" */
} tutti_client_entry;

enum { TUTTI_CLIENTS_EXTRA = 64 }; /* clients beyond the expected ones; none in sync */

typedef struct tutti_client_list {
    tutti_hello
        self; /* server, servers, clients, copies, rule; workers: of a client, 0 while none is here */
    int room; /* how many clients there may be */
    tutti_client_entry *client_entry;
} tutti_client_list;

typedef enum tutti_client_verdict {
    TUTTI_CLIENT_WELCOME,
    TUTTI_CLIENT_REFUSED,
    TUTTI_CLIENT_LATER /* refused for now */
} tutti_client_verdict;

/* The expected clients are 0 to self->clients - 1. NOMEM. */
tutti_status tutti_client_list_open(const tutti_hello *self, tutti_client_list *client_list);
void tutti_client_list_close(tutti_client_list *client_list);
/* A client has left. When the last has left, later clients may have another number of workers. */
void tutti_client_list_leave(tutti_client_list *client_list, int client);
/* Admits a worker or not. WELCOME: hello->client is its client's number; *first: it is the client's first worker.
 * Otherwise why[] has the reason. */
enum { TUTTI_CLIENT_WHY = TUTTI_HELLO_BYTES };
tutti_client_verdict tutti_client_list_admit(
    tutti_client_list *client_list, tutti_hello *hello, int *first, char why[TUTTI_CLIENT_WHY]);

#endif
