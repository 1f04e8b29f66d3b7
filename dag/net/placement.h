/* A placement: which rank does what. A few numbers, which all ranks share, and this rank's own; everything else
 * follows from them, for any number of ranks and without asking one.
 *
 *   stages     rank r has stage r mod S of replica r / S: the stages of a replica are neighbours, so that activations
 *              stay on a host that has several ranks
 *   blocks     replica r has block r mod G of the layers that are divided (dag/net/divide.h)
 *   clients    replicas form C clients of equal size, in their order: towards servers a client is one
 *   servers    the ranks behind the workers' serve parameters (dag/step/service.h); or every rank serves and works
 *
 *   S = 2, R = 4, C = 2, one server    rank       0   1   2   3   4   5   6   7   8
 *                                      stage      0   1   0   1   0   1   0   1   server
 *                                      replica      0       1       2       3
 *                                      client           0               1
 *
 * A client of a store of keys (tutti/kv.h) is a run of its own, with a placement of its ranks alone.
 *
 * Threads: [P], but that errors are logged. */
#ifndef TUTTI_PLACEMENT_H
#define TUTTI_PLACEMENT_H

#include "dag/base/status.h"

#include <stdint.h>

enum { TUTTI_PLACEMENT_STAGES = 64 };

/* Zeroes: one rank, which has all. */
typedef struct tutti_placement {
    int rank;             /* this one */
    int stages, replicas; /* 0: 1. Replicas train on different images */
    int blocks;           /* 0, 1: no layer is divided */
    int clients, servers; /* servers 0: none, unless `everywhere` */
    int everywhere;       /* every rank is a server and a worker; then there is one stage */
    /* Of a client of a store of keys: the number of its first replica among those of all clients, and how many
     * these are; 0: there is no store */
    int first_replica, all_replicas;
    int64_t divided_least; /* weights of a layer that is divided; 0: TUTTI_DIVISION_LEAST */
    int end[TUTTI_PLACEMENT_STAGES]; /* of each of several stages: the layer behind its last one */
} tutti_placement;

/* INVAL (logged): numbers that do not fit each other; a rank that is none. */
tutti_status tutti_placement_check(const tutti_placement *p);

/* ---- how many ---- */

static inline int tutti_placement_stages(const tutti_placement *p)
{
    return p->stages ? p->stages : 1;
}
static inline int tutti_placement_replicas(const tutti_placement *p)
{
    return p->replicas ? p->replicas : 1;
}
/* Of a store's clients all. */
static inline int tutti_placement_global_replicas(const tutti_placement *p)
{
    return p->all_replicas ? p->all_replicas : tutti_placement_replicas(p);
}
static inline int tutti_placement_working_ranks(const tutti_placement *p)
{
    return tutti_placement_stages(p) * tutti_placement_replicas(p);
}
static inline int tutti_placement_servers(const tutti_placement *p)
{
    return p->everywhere ? tutti_placement_working_ranks(p) : p->servers;
}
static inline int tutti_placement_ranks(const tutti_placement *p)
{
    return tutti_placement_working_ranks(p) + (p->everywhere ? 0 : p->servers);
}
/* Whether ranks differ in what they have: then there are groups of them, and they wait for each other in every pass. */
static inline int tutti_placement_is_divided(const tutti_placement *p)
{
    return p->stages > 1 || p->blocks > 1 || p->servers || p->everywhere;
}
/* Replicas, and ranks, of a client. */
static inline int tutti_placement_workers(const tutti_placement *p)
{
    return tutti_placement_replicas(p) / (p->clients ? p->clients : 1);
}
static inline int tutti_placement_client_ranks(const tutti_placement *p)
{
    return tutti_placement_workers(p) * tutti_placement_stages(p);
}

/* ---- who is what ---- */

/* What a rank is. A server and nothing else has a stage behind the last one, of replica 0. */
typedef struct tutti_rank_role {
    int works, serves;
    int stage, replica, block, client;
    int global_replica; /* its number among those of a store's clients */
    int server;         /* its number among servers */
} tutti_rank_role;

tutti_rank_role tutti_placement_role(const tutti_placement *p, int rank);
static inline tutti_rank_role tutti_placement_own(const tutti_placement *p)
{
    return tutti_placement_role(p, p->rank);
}
static inline int tutti_placement_rank(const tutti_placement *p, int replica, int stage)
{
    return replica * tutti_placement_stages(p) + stage;
}
static inline int tutti_placement_server_rank(const tutti_placement *p, int server)
{
    return p->everywhere ? server : tutti_placement_working_ranks(p) + server;
}
/* That of the same replica, if it had the whole net on a rank; of this rank in its client's own run, if all
 * clients of a placement share a store. */
tutti_placement tutti_placement_whole(const tutti_placement *p);
tutti_placement tutti_placement_client_run(const tutti_placement *p);

/* ---- groups ---- */

/* Groups of workers (tutti_mark.group), which are numbered from 1, kind by kind. All ranks make all of them. */
typedef enum tutti_placement_kind {
    TUTTI_GROUP_CLIENT,  /* of a client of several replicas, those that have one stage */
    TUTTI_GROUP_STAGE,   /* all that have one stage */
    TUTTI_GROUP_REPLICA, /* the stages of a replica, in their order */
    TUTTI_GROUP_BLOCKS,  /* of a stage, those that share divided layers, in the order of blocks */
    TUTTI_GROUP_ALIKE,   /* of a stage, those that have the same block */
    TUTTI_GROUP_KINDS
} tutti_placement_kind;

/* The ranks first, first + every, ..., `count` of them. */
typedef struct tutti_rank_range {
    int first, count, every;
} tutti_rank_range;

int tutti_placement_groups(const tutti_placement *p);
tutti_rank_range tutti_placement_group(const tutti_placement *p, int number);
/* The number of this rank's group of a kind. 0, the group of all ranks: there are none of this kind, or it works in
 * none. */
int tutti_placement_own_group(const tutti_placement *p, tutti_placement_kind kind);

#endif
