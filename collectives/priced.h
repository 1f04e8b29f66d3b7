/* The choice by price: of the algorithms that can do a collective, the one that takes least time on a topology
 * (sched/price.h). Prices are of vectors whose bytes are a power of two, the next one, up to 16 MiB: a program pays for
 * each such size once. They depend on nothing that ranks do not share, so the choice is the same on all. Not locked. */
#ifndef TUTTI_PRICED_H
#define TUTTI_PRICED_H

#include "collectives/choose.h"
#include "collectives/links/topology.h"
#include "collectives/sched/price.h"

/* The algorithms of the table that do a kind, one of each that do the same, in its order; without those of the
 * library. Returns their number, up to `most`. */
int tutti_algorithm_candidates(tutti_coll_kind kind, const tutti_algorithm *candidate[], int most);

/* The price of a choice for this key, from this root. host: as in tutti_sched_shape. Errors of tutti_sched_price_of and
 * of builders. */
tutti_status tutti_price_choice(const tutti_topology *topology, const int *host,
    const tutti_choice_key *key, int root, const tutti_choice *choice, tutti_sched_price *price);

typedef struct tutti_priced tutti_priced;

/* For P ranks, of which number r is rank of[r] of the topology; NULL: r itself. The topology and
 * `host` (as in tutti_sched_shape) outlive it. INVAL: the topology has fewer. NOMEM. */
tutti_status tutti_priced_new(
    const tutti_topology *topology, int P, const int of[], const int *host, tutti_priced **priced);
void tutti_priced_free(tutti_priced *priced); /* accepts NULL */
/* The choice for a key, without `radix`. What is not a plain sum, broadcast or reduce, and sums of types with a wider
 * accumulator, whose rounding is not a matter of time, are as auto has them. Errors of tutti_price_choice. */
tutti_status tutti_priced_choose(
    tutti_priced *priced, const tutti_choice_key *key, int root, tutti_choice *choice);

#endif
