#include "designs/attach/operators.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = TUTTI_USER_OPS_END - TUTTI_USER_OP };

static tutti_user_op *copy_of(const tutti_user_op *op)
{
    size_t length = strlen(op->name) + 1;
    tutti_user_op *copy = malloc(sizeof *copy + length);
    if (!copy) return NULL;
    *copy = *op;
    copy->name = memcpy(copy + 1, op->name, length);
    return copy;
}

tutti_status tutti_operators_add(
    tutti_operators *o, const tutti_user_op *op, tutti_reduce_op *number)
{
    if (o->ops == MOST)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "tutti_operator: a session can have at most %d operators", (int)MOST);
    tutti_user_op **wider = realloc(o->op, ((size_t)o->ops + 1) * sizeof *wider);
    if (wider) o->op = wider;
    tutti_user_op *copy = wider ? copy_of(op) : NULL;
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_operator: no memory");
    o->op[o->ops] = copy;
    *number = (tutti_reduce_op)(TUTTI_USER_OP + o->ops++);
    return TUTTI_OK;
}

const tutti_user_op *tutti_operators_find(const tutti_operators *o, tutti_reduce_op number)
{
    int64_t at = (int64_t)number - TUTTI_USER_OP;
    return at >= 0 && at < o->ops ? o->op[at] : NULL;
}

void tutti_operators_free(tutti_operators *o)
{
    for (int i = 0; i < o->ops; i++) free(o->op[i]);
    free(o->op);
    *o = (tutti_operators){0};
}
