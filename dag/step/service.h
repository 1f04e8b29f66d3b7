/* Parameter servers: which ranks they are, and what each of them has. A worker is a replica of the net: a rank, or, in
 * stages, as many that follow each other. The workers are the first clients * workers, on the first ranks. The servers
 * are the ranks behind them; or every rank is both, and first is 0: then there are no stages. Workers form clients of
 * equal size: client c has workers c * workers to (c + 1) * workers - 1, which add up among themselves, each stage
 * what it has; towards servers a client is one.
 *
 * A key is what servers add up: the gradient of a parameter, or the statistics of a batch norm. A key belongs to one
 * server, which has the parameter, too, and what the update rule keeps for it. A large parameter is as many keys as
 * there are servers, its portions: each is a range of elements, and no two differ by more than one. Other keys are
 * partitioned by bytes, from the largest on, each to the server that has the fewest so far. So no server has more than
 * another by as much as an eighth of what it would have if all were equal, unless a portion would be too small to be
 * worth a message. Within a client, all that belongs to the n-th parameter or statistics belongs to worker n modulo
 * the workers, whose rank of that stage is its root, which alone sends it to servers and hears of it: so all links of a
 * client are used.
 *
 * Threads: [P], but that errors are logged. */
#ifndef TUTTI_SERVICE_H
#define TUTTI_SERVICE_H

#include "dag/base/status.h"
#include "dag/net/net.h"

#include <stdint.h>

/* Zeroes: there are no servers. */
typedef struct tutti_service {
    int servers, first;   /* how many; the rank of the first, 0: everywhere */
    int clients, workers; /* how many; those of each client */
    int stages;           /* ranks of a worker; 0: 1 */
    const int *end;       /* of several stages: as in tutti_pipeline */
    int serves;           /* whether this rank is a server */
    int server;           /* of a server: its number */
    int client,
        worker; /* of a worker: its client, and its number there; the stage is that of the pipeline */
    /* tutti_mark.group, of ranks that have the same stage, in order of rank: of a worker of a client of several, its
     * client's; of several workers, all */
    int group, all;
} tutti_service;

/* Whether every rank is both, worker and server; whether this rank is a server and nothing else. */
static inline int tutti_service_everywhere(const tutti_service *service)
{
    return service->servers && !service->first;
}
static inline int tutti_service_only_serves(const tutti_service *service)
{
    return service->serves && service->first;
}

static inline int tutti_service_stages(const tutti_service *service)
{
    return service->stages ? service->stages : 1;
}
/* How many ranks train. */
static inline int tutti_service_working_ranks(const tutti_service *service)
{
    return service->clients * service->workers * tutti_service_stages(service);
}
/* The rank that has a stage of a worker. */
static inline int tutti_service_rank(
    const tutti_service *service, int client, int worker, int stage)
{
    return (client * service->workers + worker) * tutti_service_stages(service) + stage;
}

enum { TUTTI_KEY_STATISTICS = -1 };

typedef struct tutti_key {
    int layer, parameter;  /* the layer's parameter, or TUTTI_KEY_STATISTICS */
    int number;            /* of that, in net order */
    int portion, portions; /* which of how many; of 1, all of it */
    int64_t first, count;  /* its elements */
    int64_t bytes;
    int server;
} tutti_key;

/* How many keys a net has where large parameters have so many portions (1: they are whole); fills key[], in net order,
 * unless it is NULL. */
int tutti_service_keys(const tutti_net *net, int portions, tutti_key key[]);
/* Says which of `servers` has each. */
void tutti_service_partition(int servers, int keys, tutti_key key[]);
/* INVAL (logged): numbers that do not fit each other, or the ranks of `replicas` workers. */
tutti_status tutti_service_check(const tutti_service *service, int replicas);

#endif
