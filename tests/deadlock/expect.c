#include "tests/deadlock/expect.h"

#include "tests/support/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t expect_input(tutti_dtype dtype, int rank, int tensor, int64_t element)
{
    if (dtype == TUTTI_BF16) return 1 + (3 * tensor + rank + element) % 7;
    return 1000 * (tensor + 1) + 50 * (rank + 1) + element % 50;
}

void expect_write(tutti_dtype dtype, void *data, int64_t element, int64_t value)
{
    values_store(dtype, data, element, value);
}

/* The op that defines the collective on this tensor. */
static const case_op *defining(const deadlock_case *c, const case_op *op)
{
    const case_group *group = &c->group[op->group];
    for (int m = 0; m < group->ranks; m++) {
        const case_op *first = deadlock_case_op(c, group->rank[m], op->tensor);
        if (first && first->group == op->group) return first;
    }
    return op;
}

/* One element of every member's tensor, before and after one step of a kind without parts. */
static void one_step(const case_op *op, int members, int64_t value[])
{
    const tutti_coll_args *a = &op->args;
    int64_t result = a->kind == TUTTI_BROADCAST ? value[a->root] : value[0];
    for (int m = 1; m < members && a->kind != TUTTI_BROADCAST; m++) {
        result = values_combine(a->op, result, value[m]);
        if (a->kind == TUTTI_SCAN) value[m] = result;
    }
    for (int m = 0; m < members && a->kind != TUTTI_SCAN; m++) value[m] = result;
}

/* Element e of a tensor of parts on member `me` after `steps` steps. Later steps change nothing, except that every
 * second alltoall undoes the previous one. */
static int64_t expected_of_parts(
    const case_group *group, int me, const case_op *d, int steps, int64_t e)
{
    tutti_dtype dtype = d->args.dtype;
    int64_t n = d->args.count, offset, at = e;
    int part = 0, from = me;
    for (int64_t length; part < group->ranks; part++, at -= length)
        if ((length = tutti_coll_part(deadlock_case_parts(d), n, part, &offset)) > at) break;
    if (part == group->ranks)
        return expect_input(dtype, group->rank[me], d->tensor, e); /* in no part */
    if (d->args.kind == TUTTI_ALLGATHER)
        return expect_input(dtype, group->rank[part], d->tensor, at);
    if (d->args.kind == TUTTI_GATHER && me == d->args.root) from = part;
    if (d->args.kind == TUTTI_SCATTER && me == part) from = d->args.root;
    if (d->args.kind == TUTTI_ALLTOALL && steps % 2)
        return expect_input(dtype, group->rank[part], d->tensor, me * n + at);
    return expect_input(dtype, group->rank[from], d->tensor, e);
}

/* Element e of the tensor after the rank's last step. */
static int64_t expected(
    const deadlock_case *c, int rank, const case_op *op, const case_op *definition, int64_t e)
{
    const case_group *group = &c->group[op->group];
    int steps = c->program[rank].steps, me = deadlock_case_member(group, rank);
    tutti_dtype dtype = definition->args.dtype;
    int64_t value[CASE_MOST_RANKS];
    if (tutti_coll_trait_of(definition->args.kind)->parts)
        return expected_of_parts(group, me, definition, steps, e);
    if (definition->args.kind == TUTTI_BARRIER) return expect_input(dtype, rank, op->tensor, e);
    for (int m = 0; m < group->ranks; m++)
        value[m] = expect_input(dtype, group->rank[m], op->tensor, e);
    for (int s = 0; s < steps; s++) one_step(definition, group->ranks, value);
    return value[me];
}

/* The elements that are defined on this rank: [*from, *to). */
static void meaningful(const deadlock_case *c, int rank, const case_op *op, const case_op *d,
    int64_t *from, int64_t *to)
{
    int P = c->group[op->group].ranks, me = deadlock_case_member(&c->group[op->group], rank);
    *from = 0;
    *to = deadlock_case_count(c, op);
    if (d->args.kind == TUTTI_REDUCE && d->args.root != me) *to = 0;
    if (d->args.kind == TUTTI_REDUCE_SCATTER) {
        int64_t length;
        tutti_coll_block(op->args.count, P, me, from, &length);
        *to = *from + length;
    }
}

static void tell(const deadlock_case *c, int rank, const case_op *op, int64_t e, const void *data,
    int64_t wanted, char *what, size_t size)
{
    _Alignas(VALUES_LARGEST) char stored[VALUES_LARGEST];
    values_store(op->args.dtype, stored, 0, wanted);
    snprintf(what, size, "rank %d's '%s' [%" PRId64 "] is %" PRId64 ", not %" PRId64, rank,
        c->tensor[op->tensor], e, values_load(op->args.dtype, data, e),
        values_load(op->args.dtype, stored, 0));
}

int expect_differs(
    const deadlock_case *c, int rank, const case_op *op, const void *data, char *what, size_t size)
{
    const case_op *definition = defining(c, op);
    int64_t from, to;
    if (c->program[rank].steps == 0) return 0;
    meaningful(c, rank, op, definition, &from, &to);
    for (int64_t e = from; e < to; e++) {
        int64_t wanted = expected(c, rank, op, definition, e);
        if (values_are(op->args.dtype, data, e, wanted)) continue;
        if (what) tell(c, rank, op, e, data, wanted, what, size);
        return 1;
    }
    return 0;
}
