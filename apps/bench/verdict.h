/* The targets of a grid of results, as a table with a verdict for each number.
 *
 *   step / limit    at most 1.05 where communication bounds the step (its time on the wire exceeds
 *                   the computation), at most 1.15 where computation does; the limit is the larger
 *                   of the two. A ratio below 1 in every block is marked as such and misses
 *   hidden share    of the communication that can be hidden: (compute + communicate - step) /
 *                   min(compute, communicate), each measured alone in the same run; at least 0.90;
 *                   unknown if its error, from the spread over blocks, exceeds 0.25
 *   step / peer     at most 1.00 in every cell; geometric mean at most 0.70
 *   concurrent / funneled   at most 1.05; designs within 3 % of each other where computation bounds
 *
 * [M] */
#ifndef TUTTI_BENCH_VERDICT_H
#define TUTTI_BENCH_VERDICT_H

#include "apps/bench/grid_rows.h"

/* Prints the table and the verdicts; returns how many numbers miss. */
int tutti_verdict_print(const tutti_grid_rows *rows);

#endif
