/* Every kind of collective with odd counts, in place and not, with several types, operators and
 * roots: run by every rank over any transport, checked against the expected results. Ranks may be
 * threads, so failures are printed and counted. */
#ifndef TUTTI_TEST_CASES_H
#define TUTTI_TEST_CASES_H

#include "collectives/coll.h"

/* Runs all cases, many in flight at once, spread over the lanes. Returns the number of failures.
 * Called by all ranks. */
int cases_run(tutti_comm *comm);

/* Allreduces of random floats: afterwards every rank holds the same bits. Returns the number of
 * failures. */
int cases_same_bits(tutti_comm *comm, uint64_t seed);

/* A program's own operator, which does not commute, on up to 9 ranks. Returns the number of
 * failures. */
int cases_in_order(tutti_comm *comm);

#endif
