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

/* Groups of workers (tutti_mark.group), which are numbered from 1, kind by kind. All ranks make all of them. */
typedef enum tutti_placement_kind {
    TUTTI_GROUP_CLIENT,  /* of a client of several replicas, those that have one stage */
    TUTTI_GROUP_STAGE,   /* all that have one stage */
    TUTTI_GROUP_REPLICA, /* the stages of a replica, in their order */
    TUTTI_GROUP_BLOCKS,  /* of a stage, those that share divided layers, in the order of blocks */
    TUTTI_GROUP_ALIKE,   /* of a stage, those that have the same block */
    TUTTI_GROUP_KINDS
} tutti_placement_kind;

/* What a rank is. A server and nothing else has a stage behind the last one, of replica 0. */
typedef struct tutti_rank_role {
    int works, serves;
    int stage, replica, block, client;
    int global_replica; /* its number among those of a store's clients */
    int server;         /* its number among servers */
    /* Its group of each kind. 0, the group of all ranks: this kind has no groups, or the rank is in none of them */
    int group[TUTTI_GROUP_KINDS];
} tutti_rank_role;

/* Zeroes: one rank, which has all. */
typedef struct tutti_placement {
    int rank;             /* this one */
    int stages, replicas; /* 0: 1. Replicas train on different images */
    int blocks;           /* 0, 1: no layer is divided */
    int clients, servers;
    int everywhere; /* every rank is a server and a worker; then there is one stage */
    /* Of a client of a store of keys: 1; the number of its first replica among those of all clients, and how many
     * these are (0: `replicas`) */
    int stored, first_replica, global_replicas;
    int64_t divided_least; /* weights of a layer that is divided; 0: TUTTI_DIVISION_LEAST */
    int end[TUTTI_PLACEMENT_STAGES]; /* of each of several stages: the layer behind its last one */
    /* Once it is complete */
    int ranks, working_ranks; /* all; those that train */
    int workers;              /* replicas of a client */
    tutti_rank_role own;
} tutti_placement;

/* Puts in what follows from the numbers that were given, and for zeroes what they stand for. INVAL (logged): numbers
 * that do not fit each other; an invalid rank. */
tutti_status tutti_placement_complete(tutti_placement *p);
/* Whether ranks differ in what they have: then there are groups of them, and they wait for each other in every pass.
 * Of a placement that is not complete, too. */
static inline int tutti_placement_is_divided(const tutti_placement *p)
{
    return p->stages > 1 || p->blocks > 1 || p->servers;
}

/* ---- of a complete one ---- */

tutti_rank_role tutti_placement_role(const tutti_placement *p, int rank);
static inline int tutti_placement_rank(const tutti_placement *p, int replica, int stage)
{
    return replica * p->stages + stage;
}
static inline int tutti_placement_server_rank(const tutti_placement *p, int server)
{
    return p->everywhere ? server : p->working_ranks + server;
}
/* The number of groups. */
int tutti_placement_groups(const tutti_placement *p);
/* Stores the ranks of a group, in order; `ranks` has room for all ranks. Returns their number. */
int tutti_placement_group(const tutti_placement *p, int number, int ranks[]);

#endif
