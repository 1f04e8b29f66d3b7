/* Chooses the algorithm of a collective: a table by name, and the choice by size and ranks. [P]
 *
 *   name                allreduce           broadcast, reduce  allgather  reduce-scatter
 *   auto                by size, see below  tree               ring       ring
 *   ring                ring                tree               ring       ring
 *   recursive-doubling  recursive doubling  tree               ring       ring
 *   tree                tree                tree               ring       ring
 *   rsag                Rabenseifner        tree               ring       ring
 *   direct              direct              tree               ring       direct
 *   pipelined-chain     chain               chain              ring       ring
 *   k-nomial:K          k-nomial tree       k-nomial tree      ring       ring
 *   chain-binomial:K    chains of K ranks under a binomial tree           ring
 *   chain-chain:K       chains of K ranks under a chain                   ring
 *   scatter-ring        ring                scatter and ring   ring       ring
 *   hierarchical        rings in each machine, then across    ring       ring
 *   forest:FILE         along the trees of a file (collectives/trees)      ring       ring
 *   mpi                 the MPI library's own nonblocking collective, for every kind
 *
 * In all of them but mpi, the barrier is a dissemination barrier; gather, scatter and alltoall send
 * every part directly to its destination; scan uses recursive doubling. An operator that does not
 * commute uses schedules that combine ranks in their order, whatever the name.
 *
 * auto asks the rules: a table that is built in (rules.h, `tutti-info --rules built-in`), and those of a file
 * (--algorithm rules:FILE). doc/algorithms.md has the reasons of the table. The choice is the same on every rank and in
 * every run. */
#ifndef TUTTI_CHOOSE_H
#define TUTTI_CHOOSE_H

#include "collectives/rules.h"
#include "collectives/value/args.h"
#include "collectives/sched/sched.h"

#include <stddef.h>

typedef struct tutti_algorithm {
    const char *name, *summary;
    tutti_sched_builder build[TUTTI_COLL_KINDS]; /* all NULL: the transport's own collective */
    int chooses;                                 /* auto: size and ranks decide the allreduce */
    int prices;                                  /* by price: priced.h */
    int radix, least_radix; /* of its trees, where the name says nothing, and the least; 0: it has none */
} tutti_algorithm;

/* NULL-terminated. */
extern const tutti_algorithm *const tutti_algorithms[];
/* NULL for an unknown name; a NULL name means auto. "k-nomial:8": a number may follow the name of an algorithm
 * with trees. "rules:FILE" and "priced" are auto with more to ask (rules.h, priced.h). "forest:FILE" has trees for all
 * ranks of a run alone. None of these three is in the table. */
const tutti_algorithm *tutti_algorithm_find(const char *name);
/* That number, or the algorithm's own; 0: it has none. */
int tutti_algorithm_radix(const char *name);
/* FILE of "rules:FILE"; NULL: the name is another. */
const char *tutti_algorithm_rules(const char *name);
/* Whether collectives are the transport's own (mpi): they need all ranks, and cannot be cancelled. NULL:
 * auto; 0 for unknown names. */
int tutti_algorithm_is_library(const char *name);
/* The file of "forest:FILE"; NULL: the algorithm has none. */
const char *tutti_algorithm_file(const char *name);
/* Reads that file; P: the ranks that its trees must have, 0: any. *hash: of its trees. USAGE (logged): what is wrong in
 * it. IO, NOMEM. */
tutti_status tutti_algorithm_read(const char *name, int P, tutti_forest **forest, uint64_t *hash);
/* The hash alone, which ranks compare; 0: the algorithm has no file, or a wrong one (logged). */
uint64_t tutti_algorithm_hash(const char *name);
/* "auto, ring, ..." into text; returns text. */
char *tutti_algorithm_names(char *text, size_t size);

typedef struct tutti_choice {
    const tutti_algorithm *algorithm; /* never auto */
    tutti_sched_builder build;        /* NULL: the transport's own collective */
    int64_t segment;                  /* elements, for tutti_sched_shape */
    int radix;                        /* for tutti_sched_shape */
    int wide; /* for tutti_sched_shape: the schedule uses accumulators; its roundings */
    const tutti_algorithm *refused;   /* what rules say, but cannot do it; NULL: nothing */
} tutti_choice;

tutti_choice tutti_coll_choose(const tutti_algorithm *wanted, const tutti_choice_key *key);

#endif
