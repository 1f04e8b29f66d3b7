/* The inputs of a case's collectives, and their expected results. [P]
 *
 * All values are whole numbers that every element type holds exactly. The first rank in the group
 * that has a collective defines it: if the ranks disagree, the results of all are compared with
 * that definition. */
#ifndef TUTTI_DEADLOCK_EXPECT_H
#define TUTTI_DEADLOCK_EXPECT_H

#include "tests/deadlock/case.h"

/* Element `element` of a tensor on a rank before the first step: no two are equal, except for
 * TUTTI_BF16, whose values are 1 to 7, so that sums of up to 36 of them are exact. */
int64_t expect_input(tutti_dtype dtype, int rank, int tensor, int64_t element);
/* The same of a vector of the rank, of which number 0 is the tensor's input. */
int64_t expect_vector(tutti_dtype dtype, int rank, int tensor, int vector, int64_t element);
/* Writes a value as an element of this type. */
void expect_write(tutti_dtype dtype, void *data, int64_t element, int64_t value);
/* Whether the tensor of an op is wrong after all steps of the rank; describes the place in `what`
 * (may be NULL). Elements that are scratch on this rank are ignored. */
int expect_differs(
    const deadlock_case *c, int rank, const case_op *op, const void *data, char *what, size_t size);
/* Whether an op that is out of place has changed its input. */
int expect_changed(
    const deadlock_case *c, int rank, const case_op *op, const void *data, char *what, size_t size);

#endif
