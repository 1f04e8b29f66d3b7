/* Shares computed from measured times; noise can push them below 0 or above 1. [P] */
#ifndef TUTTI_BENCH_SHARE_H
#define TUTTI_BENCH_SHARE_H

#include <jansson.h>
#include <stdint.h>

/* The error of the median of these values: half the distance between the quartiles, with fewer than
 * four values between the extremes; NAN with fewer than two. Sorts the values, ascending. */
double tutti_share_error(int64_t count, double values[]);

/* The share, between 0 and 1. NAN (unknown) if the error exceeds a quarter or is not a number, or
 * if the value lies outside of 0 to 1 by more than the error: then something else was measured. */
double tutti_share_of(double value, double error);
/* "0.93", or "unknown". Returns text. */
char *tutti_share_text(double share, char text[16]);
/* The same for JSON: a number, or the string "unknown". */
json_t *tutti_share_json(double share);

#endif
