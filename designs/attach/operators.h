/* A session's own operators, by number from TUTTI_USER_OP on. [M] */
#ifndef TUTTI_OPERATORS_H
#define TUTTI_OPERATORS_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

/* Begins zeroed. */
typedef struct tutti_operators {
    tutti_user_op **op;
    int ops;
} tutti_operators;

/* Adds a copy, also of the name; *number: the next one. NOMEM; UNSUPPORTED: there are too many. */
tutti_status tutti_operators_add(
    tutti_operators *operators, const tutti_user_op *op, tutti_reduce_op *number);
/* NULL: none has this number. It stays where it is until free. */
const tutti_user_op *tutti_operators_find(const tutti_operators *operators, tutti_reduce_op number);
void tutti_operators_free(tutti_operators *operators);

#endif
