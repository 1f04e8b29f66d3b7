#include "tests/deadlock/expect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t expect_input(int rank, int tensor, int64_t element)
{
    return 1000 * (tensor + 1) + 50 * (rank + 1) + element % 50;
}

void expect_write(tutti_dtype dtype, void *data, int64_t element, int64_t value)
{
    switch (dtype) {
    case TUTTI_F32:
        ((float *)data)[element] = (float)value;
        break;
    case TUTTI_F64:
        ((double *)data)[element] = (double)value;
        break;
    case TUTTI_I32:
        ((int32_t *)data)[element] = (int32_t)value;
        break;
    case TUTTI_I64:
        ((int64_t *)data)[element] = value;
        break;
    default:
        ((uint8_t *)data)[element] = (uint8_t)value;
        break;
    }
}

static int64_t combine(tutti_reduce_op op, int64_t a, int64_t b)
{
    if (op == TUTTI_SUM) return a + b;
    if (op == TUTTI_PROD) return a * b;
    if (op == TUTTI_MIN) return a < b ? a : b;
    return a > b ? a : b;
}

/* The op that says what the collective on this tensor is. */
static const case_op *defining(const deadlock_case *c, const case_op *op)
{
    const case_group *group = &c->group[op->group];
    for (int m = 0; m < group->ranks; m++) {
        const case_op *first = deadlock_case_op(c, group->rank[m], op->tensor);
        if (first && first->group == op->group) return first;
    }
    return op;
}

/* One element of every member's tensor, before and after one step. */
static void one_step(const case_op *op, int members, int64_t value[])
{
    const tutti_coll_args *a = &op->args;
    int64_t result = a->kind == TUTTI_BROADCAST ? value[a->root] : value[0];
    for (int m = 1; m < members && a->kind != TUTTI_BROADCAST; m++)
        result = combine(a->op, result, value[m]);
    for (int m = 0; m < members; m++) value[m] = result;
}

/* Element e of the tensor after the rank's last step. */
static int64_t expected(
    const deadlock_case *c, int rank, const case_op *op, const case_op *definition, int64_t e)
{
    const case_group *group = &c->group[op->group];
    int64_t value[CASE_MOST_RANKS];
    if (definition->args.kind == TUTTI_ALLGATHER) {
        int64_t n = definition->args.count;
        return expect_input(group->rank[e / n % group->ranks], op->tensor, e % n);
    }
    if (definition->args.kind == TUTTI_BARRIER) return expect_input(rank, op->tensor, e);
    for (int m = 0; m < group->ranks; m++) value[m] = expect_input(group->rank[m], op->tensor, e);
    for (int s = 0; s < c->program[rank].steps; s++) one_step(definition, group->ranks, value);
    return value[deadlock_case_member(group, rank)];
}

/* The elements that mean something on this rank: [*from, *to). */
static void meaningful(const deadlock_case *c, int rank, const case_op *op, const case_op *d,
    int64_t *from, int64_t *to)
{
    int P = c->group[op->group].ranks, me = deadlock_case_member(&c->group[op->group], rank);
    *from = 0;
    *to = op->args.kind == TUTTI_ALLGATHER ? op->args.count * P : op->args.count;
    if (d->args.kind == TUTTI_REDUCE && d->args.root != me) *to = 0;
    if (d->args.kind == TUTTI_REDUCE_SCATTER) {
        int64_t length;
        tutti_coll_block(op->args.count, P, me, from, &length);
        *to = *from + length;
    }
}

static void tell(const deadlock_case *c, int rank, const case_op *op, int64_t e, const void *found,
    const void *wanted, char *what, size_t size)
{
    char text[2][32];
    const void *value[] = {found, wanted};
    for (int i = 0; i < 2; i++) {
        double number = 0;
        switch (op->args.dtype) {
        case TUTTI_F32:
            number = *(const float *)value[i];
            break;
        case TUTTI_F64:
            number = *(const double *)value[i];
            break;
        case TUTTI_I32:
            number = *(const int32_t *)value[i];
            break;
        case TUTTI_I64:
            number = (double)*(const int64_t *)value[i];
            break;
        default:
            number = *(const uint8_t *)value[i];
            break;
        }
        snprintf(text[i], sizeof text[i], "%.10g", number);
    }
    snprintf(what, size, "rank %d's '%s' [%" PRId64 "] is %s, not %s", rank, c->tensor[op->tensor],
        e, text[0], text[1]);
}

int expect_differs(
    const deadlock_case *c, int rank, const case_op *op, const void *data, char *what, size_t size)
{
    const case_op *definition = defining(c, op);
    size_t width = tutti_dtype_bytes(op->args.dtype);
    int64_t from, to;
    if (c->program[rank].steps == 0) return 0;
    meaningful(c, rank, op, definition, &from, &to);
    for (int64_t e = from; e < to; e++) {
        int64_t wanted[1];
        expect_write(op->args.dtype, wanted, 0, expected(c, rank, op, definition, e));
        const char *found = (const char *)data + (size_t)e * width;
        if (!memcmp(found, wanted, width)) continue;
        if (what) tell(c, rank, op, e, found, wanted, what, size);
        return 1;
    }
    return 0;
}
