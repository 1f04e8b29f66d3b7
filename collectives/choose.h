/* Which algorithm runs a collective: a table by name, and the choice by size and ranks. [P]
 *
 *   name                allreduce           broadcast, reduce  allgather  reduce-scatter
 *   auto                by size, see below  tree               ring       ring
 *   ring                ring                tree               ring       ring
 *   recursive-doubling  recursive doubling  tree               ring       ring
 *   tree                tree                tree               ring       ring
 *   rsag                Rabenseifner        tree               ring       ring
 *   direct              direct              tree               ring       direct
 *   mpi                 the MPI library's own nonblocking collective, for every kind
 *
 * In all of them but mpi, the barrier is a dissemination barrier; gather, scatter and alltoall send
 * every part directly to its destination; scan uses recursive doubling. An operator that does not
 * commute has separate schedules, whatever the name. Allreduce: recursive doubling; for more than 4
 * KiB (64 KiB where all ranks share a machine's memory) on more than two ranks, direct. Reduce: the
 * tree, from rank 0. Reduce-scatter: direct.
 *
 * auto, allreduce of S bytes on P ranks, over a network: recursive doubling up to 4 KiB, where the
 * number of steps dominates the cost (up to 256 KiB for P = 2, where it sends no more than the
 * others); then rsag up to 128 KiB if P is a power of two; else ring. Messages of all algorithms
 * are pipelined in segments of 60 KiB (longer where a vector would have more than 8192). With its
 * header, such a message stays below the 64 KiB up to which Open MPI sends over TCP at once. A
 * longer one waits for an answer that, between two hosts that send to each other, queues behind the
 * data already on its way: a 1 Gbit/s link is then 70 % busy instead of 99 %.
 *
 * Where all ranks share a machine's memory (near): recursive doubling below 64 KiB, but rsag
 * between 4000 and 8000 bytes, where half a vector is below the 4 KiB that Open MPI copies at once
 * and a whole one is above; then rsag below 256 KiB if P > 2 is a power of two; else ring, in
 * segments of 512 KiB, which need fewer answers and still pipeline.
 *
 * Sums and products of a type with a wider accumulator (TUTTI_BF16) are rounded at each of a ring's
 * P - 1 hops, but once by direct, which sends as few bytes. So auto takes direct for P > 2 above 4
 * KiB, on either kind of machine, and for every reduce-scatter. Up to 4 KiB, recursive doubling
 * rounds log2 P times; on two ranks, every algorithm rounds once.
 *
 * The choice depends on nothing else, so it is the same on every rank and in every run. */
#ifndef TUTTI_CHOOSE_H
#define TUTTI_CHOOSE_H

#include "collectives/value/args.h"
#include "collectives/sched/sched.h"

#include <stddef.h>

typedef struct tutti_algorithm {
    const char *name, *summary;
    tutti_sched_builder build[TUTTI_COLL_KINDS]; /* all NULL: the transport's own collective */
    int chooses;                                 /* auto: size and ranks decide the allreduce */
} tutti_algorithm;

/* NULL-terminated. */
extern const tutti_algorithm *const tutti_algorithms[];
/* NULL for an unknown name; a NULL name means auto. */
const tutti_algorithm *tutti_algorithm_find(const char *name);
/* Whether collectives are the transport's own (mpi): of all ranks, and not to be taken back. NULL:
 * auto; 0 for unknown names. */
int tutti_algorithm_is_library(const char *name);
/* "auto, ring, ..." into text; returns text. */
char *tutti_algorithm_names(char *text, size_t size);

/* What the choice depends on. */
typedef struct tutti_choice_key {
    tutti_coll_kind kind;
    int P, near;    /* near: as in tutti_transport */
    int64_t count;  /* elements of the largest buffer of any rank */
    size_t element; /* bytes */
    int wide;       /* there is a wider accumulator (tutti_coll_accumulator) */
    int ordered;    /* the operator does not commute */
} tutti_choice_key;

typedef struct tutti_choice {
    const tutti_algorithm *algorithm; /* never auto */
    tutti_sched_builder build;        /* NULL: the transport's own collective */
    int64_t segment;                  /* elements; for tutti_sched_shape, as is: */
    int wide;                         /* the schedule uses accumulators */
} tutti_choice;

tutti_choice tutti_coll_choose(const tutti_algorithm *wanted, const tutti_choice_key *key);

#endif
