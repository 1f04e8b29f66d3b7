/* Parameter servers: which ranks they are, and what each of them has. The workers are ranks 0 .. first - 1, the
 * servers those behind them. Workers form clients of equal size: client c has ranks c * workers to
 * (c + 1) * workers - 1, which add up among themselves; towards servers a client is one.
 *
 * A key is what servers add up: the gradient of a parameter, or the statistics of a batch norm. A key belongs to one
 * server, which has the parameter, too, and what the update rule keeps for it. Keys are dealt by bytes, from the
 * largest on, each to the server that has the fewest so far. Within a client, key k belongs to worker k modulo the
 * workers, its root, which alone sends it to the server and hears of it: so all links of a client are used.
 *
 * Threads: [P], but that errors are logged. */
#ifndef TUTTI_SERVICE_H
#define TUTTI_SERVICE_H

#include "dag/base/status.h"
#include "dag/net/net.h"

#include <stdint.h>

/* Zeroes: there are no servers. */
typedef struct tutti_service {
    int servers, first;   /* how many; the rank of the first */
    int clients, workers; /* how many; those of each client */
    int serves;           /* whether this rank is a server */
    int server;           /* of a server: its number */
    int client, worker;   /* of a worker: its client, and its number there */
    /* tutti_mark.group, in order of rank: of a worker of a client of several, its client's; of several workers, all */
    int group, all;
} tutti_service;

enum { TUTTI_KEY_STATISTICS = -1 };

typedef struct tutti_key {
    int layer, parameter; /* the layer's parameter, or TUTTI_KEY_STATISTICS */
    int64_t bytes;
    int server;
} tutti_key;

/* How many keys a net has; fills key[], in net order, unless it is NULL. */
int tutti_service_keys(const tutti_net *net, tutti_key key[]);
/* Says which of `servers` has each. */
void tutti_service_deal(int servers, int keys, tutti_key key[]);
/* INVAL (logged): numbers that do not fit each other, or the ranks of `replicas` workers. */
tutti_status tutti_service_check(const tutti_service *service, int replicas);

#endif
