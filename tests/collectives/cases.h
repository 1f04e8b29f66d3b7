/* Every kind of collective with odd counts, in place and not, with several types, operators and
 * roots: run by every rank over any transport, checked against the expected results. Ranks may be
 * threads, so failures are printed and counted. */
#ifndef TUTTI_TEST_CASES_H
#define TUTTI_TEST_CASES_H

#include "collectives/coll.h"

/* Runs the cases of all kinds that an algorithm (NULL: auto) has schedules of its own for, many in flight at once, on
 * all lanes; auto and ring have all kinds. Returns the number of failures. Called by all ranks. */
int cases_run(tutti_comm *comm, const char *algorithm);

/* Reductions of random bf16: the very bits of a sum in the order of ranks that is rounded once
 * where this algorithm promises that, else a value within the bound of its roundings. Returns the
 * number of failures. */
int cases_bf16(tutti_comm *comm, const char *algorithm, uint64_t seed);
/* Two long ones, with the algorithm direct, where arrivals take turns in memory. */
int cases_bf16_long(tutti_comm *comm, uint64_t seed);

/* Allreduces of reals, complex numbers and pairs, among them NaNs, infinities and zeros: afterwards every
 * rank holds the same bits. Returns the number of failures. */
int cases_same_bits(tutti_comm *comm, uint64_t seed, int library);
/* Integers wrap around in every element of a long vector. Returns the number of failures. */
int cases_wrap(tutti_comm *comm);

/* Reductions of several random vectors of each rank, whose number differs between ranks: the very
 * bits of those that are combined first, and then reduced. Returns the number of failures. */
int cases_extras(tutti_comm *comm, uint64_t seed);

/* A program's own operator, which does not commute, on up to 9 ranks. Returns the number of
 * failures. */
int cases_in_order(tutti_comm *comm);
/* An operator that is never cut: it gets all elements of two operands. */
int cases_whole(tutti_comm *comm);

#endif
