/* A session's user-defined operators, numbered from TUTTI_USER_OP. [M] */
#ifndef TUTTI_OPERATORS_H
#define TUTTI_OPERATORS_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

/* Zero-initialise. */
typedef struct tutti_operators {
    tutti_user_op **op;
    int ops;
} tutti_operators;

/* Adds a copy of op and of its name; *number: the next one. NOMEM; UNSUPPORTED: too many. */
tutti_status tutti_operators_add(
    tutti_operators *operators, const tutti_user_op *op, tutti_reduce_op *number);
/* NULL: unknown number. The pointer stays valid until free. */
const tutti_user_op *tutti_operators_find(const tutti_operators *operators, tutti_reduce_op number);
void tutti_operators_free(tutti_operators *operators);

#endif
