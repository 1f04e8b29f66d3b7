/* Whole numbers as elements of any type, and the operators' results on them, for tests of
 * collectives. A number is an element's value; for a complex type, its real part; for a pair, 16
 * times the value plus the index, so that of equal values the lower index has the lower number.
 * Padding is zero. A bf16 holds whole numbers up to 256, and larger ones rounded. [P] */
#ifndef TUTTI_TEST_VALUES_H
#define TUTTI_TEST_VALUES_H

#include "collectives/value/args.h"

enum { VALUES_LARGEST = 16 }; /* bytes of an element */

void values_store(tutti_dtype dtype, void *data, int64_t element, int64_t value);
/* Whether the element is this number, bit for bit; padding may be anything. */
int values_are(tutti_dtype dtype, const void *data, int64_t element, int64_t value);
int64_t values_load(tutti_dtype dtype, const void *data, int64_t element);
/* a op b, for an operator of the list. */
int64_t values_combine(tutti_reduce_op op, int64_t a, int64_t b);

/* Operators that a program might make, for every type. `compose` does not commute: a number is a
 * map x -> (v & 255) x + (v >> 8 & 255), and the result is the left map after the right one. `xor`
 * commutes. In a type of 8 bits, the results' lowest 8 bits are right. `record` is `xor` of vectors of
 * VALUES_RECORD_COUNT elements, which are never cut: of any others the result is 0. */
enum { VALUES_COMPOSE, VALUES_XOR, VALUES_RECORD, VALUES_OPERATORS, VALUES_RECORD_COUNT = 11 };
extern const tutti_user_op values_operators[VALUES_OPERATORS];
extern const char *const values_operator_names[]; /* the same order; ends with NULL */
/* a op b, for an operator of the list or, unless `user` is NULL, one with such a function. */
int64_t values_combine_with(tutti_reduce_op op, const tutti_user_op *user, int64_t a, int64_t b);

#endif
