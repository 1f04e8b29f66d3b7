/* What goes into the collectives of a case, and what must come out. [P]
 *
 * All values are whole numbers that every element type holds exactly. A collective of several ranks
 * is what the first rank of its group that has it says it is: when the ranks disagree about it,
 * whatever another rank gets is measured by that. */
#ifndef TUTTI_DEADLOCK_EXPECT_H
#define TUTTI_DEADLOCK_EXPECT_H

#include "tests/deadlock/case.h"

/* Element `element` of a tensor on a rank before the first step: no two are equal. */
int64_t expect_input(int rank, int tensor, int64_t element);
/* Writes a value as an element of this type. */
void expect_write(tutti_dtype dtype, void *data, int64_t element, int64_t value);
/* Whether the tensor of an op differs after all steps of the rank; says where in `what` (may be
 * NULL). Elements that are scratch on this rank are not looked at. */
int expect_differs(
    const deadlock_case *c, int rank, const case_op *op, const void *data, char *what, size_t size);

#endif
