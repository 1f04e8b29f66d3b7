/* Shares that are worked out from measured times, which noise can put anywhere. [P] */
#ifndef TUTTI_BENCH_SHARE_H
#define TUTTI_BENCH_SHARE_H

#include <jansson.h>
#include <stdint.h>

/* How far a median of these may be off: half the distance between the quartiles, of fewer than four half
 * the distance between the extremes; NAN of fewer than two. Sorts the values, ascending. */
double tutti_share_error(int64_t count, double values[]);

/* The share, between 0 and 1. NAN, which is unknown: where the error is above a quarter or not a number, or
 * the value lies outside of 0 to 1 by more than the error, so that something else was measured. */
double tutti_share_of(double value, double error);
/* "0.93", or "unknown". Returns text. */
char *tutti_share_text(double share, char text[16]);
/* The same for JSON: a number, or the string "unknown". */
json_t *tutti_share_json(double share);

#endif
