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

int64_t expect_vector(tutti_dtype dtype, int rank, int tensor, int vector, int64_t element)
{
    return expect_input(dtype, rank, tensor, element) + 7 * vector;
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

/* A number as an element of this type holds it. */
static int64_t stored(tutti_dtype dtype, int64_t value)
{
    _Alignas(VALUES_LARGEST) char element[VALUES_LARGEST];
    values_store(dtype, element, 0, value);
    return values_load(dtype, element, 0);
}

/* One element of every member's tensor, before and after one step of a kind without parts. */
static void one_step(const case_op *op, int members, int64_t value[])
{
    const tutti_coll_args *a = &op->args;
    int copies = a->kind == TUTTI_BROADCAST || a->kind == TUTTI_MESSAGE;
    int64_t result = copies ? value[a->root] : value[0];
    for (int m = 1; m < members && !copies; m++) {
        result = stored(a->dtype, values_combine_with(a->op, a->user, result, value[m]));
        if (a->kind == TUTTI_SCAN) value[m] = result;
    }
    for (int m = 0; m < members && a->kind != TUTTI_SCAN; m++) value[m] = result;
}

/* Where part r of an op's input begins, which holds all parts. */
static int64_t input_offset(const case_op *op, int r)
{
    const tutti_coll_args a = deadlock_case_args(op);
    int64_t offset;
    tutti_coll_part(a.counts, a.count, r, &offset);
    return offset;
}

/* Finds the part of the result that element *e lies in; *e becomes its index there. -1: in none. */
static int part_of(const case_op *op, int ranks, int64_t *e)
{
    const tutti_coll_args a = deadlock_case_args(op);
    const int64_t *counts = a.counts && a.kind == TUTTI_ALLTOALL ? a.counts + ranks : a.counts;
    for (int r = 0; r < ranks; r++) {
        int64_t offset, length = tutti_coll_part(counts, a.count, r, &offset);
        if (*e < offset + length) {
            *e -= offset;
            return r;
        }
    }
    return -1;
}

/* Element e of the tensor of parts of `op`, which is member `me`'s, after `steps` steps. `d` defines
 * the parts. Later steps change nothing, except that every second alltoall in place undoes the
 * previous one. */
static int64_t expected_of_parts(
    const deadlock_case *c, const case_op *op, const case_op *d, int me, int steps, int64_t e)
{
    const case_group *group = &c->group[d->group];
    tutti_dtype dtype = d->args.dtype;
    int t = d->tensor, root = d->args.root, undone = !op->apart && steps % 2 == 0;
    int scatters = d->args.kind == TUTTI_SCATTER;
    int64_t own = expect_input(dtype, group->rank[me], t, e), at = e;
    int part = scatters && op->apart ? me : part_of(d, group->ranks, &at);
    if (part < 0) return own; /* in no part */
    if (scatters)
        return part == me ? expect_input(dtype, group->rank[root], t, input_offset(d, me) + at)
                          : own;
    int sender = group->rank[part];
    const case_op *theirs = deadlock_case_op(c, sender, t);
    if (!theirs) theirs = d;
    if (d->args.kind == TUTTI_ALLTOALL)
        return undone ? own : expect_input(dtype, sender, t, input_offset(theirs, me) + at);
    if (d->args.kind == TUTTI_GATHER && me != root) return own;
    return expect_input(dtype, sender, t, theirs->apart ? at : input_offset(d, part) + at);
}

/* Element e of the tensor after the rank's last step. What works out of place has the same input in
 * every step. */
static int64_t expected(
    const deadlock_case *c, int rank, const case_op *op, const case_op *definition, int64_t e)
{
    const case_group *group = &c->group[op->group];
    int steps = c->program[rank].steps, me = deadlock_case_member(group, rank);
    tutti_dtype dtype = definition->args.dtype;
    int64_t value[CASE_MOST_RANKS];
    int pairs = definition->args.kind == TUTTI_ALLTOALL && op->parts;
    if (tutti_coll_trait_of(definition->args.kind)->parts)
        return expected_of_parts(c, op, pairs ? op : definition, me, steps, e);
    if (definition->args.kind == TUTTI_BARRIER) return expect_input(dtype, rank, op->tensor, e);
    for (int m = 0; m < group->ranks; m++) {
        const case_op *theirs = deadlock_case_op(c, group->rank[m], op->tensor);
        value[m] = stored(dtype, expect_input(dtype, group->rank[m], op->tensor, e));
        for (int k = 1; theirs && k < theirs->vectors; k++)
            value[m] += expect_vector(dtype, group->rank[m], op->tensor, k, e);
    }
    for (int s = 0; s < (op->apart ? 1 : steps); s++) one_step(definition, group->ranks, value);
    return value[me];
}

/* The elements that are defined on this rank: [*from, *to). */
static void meaningful(const deadlock_case *c, int rank, const case_op *op, const case_op *d,
    int64_t *from, int64_t *to)
{
    int P = c->group[op->group].ranks, me = deadlock_case_member(&c->group[op->group], rank);
    *from = 0;
    *to = deadlock_case_count(c, rank, op);
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
    snprintf(what, size, "rank %d's '%s' [%" PRId64 "] is %" PRId64 ", not %" PRId64, rank,
        c->tensor[op->tensor], e, values_load(op->args.dtype, data, e),
        stored(op->args.dtype, wanted));
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

int expect_changed(
    const deadlock_case *c, int rank, const case_op *op, const void *data, char *what, size_t size)
{
    int64_t count = deadlock_case_input_count(c, rank, op);
    for (int64_t e = 0; e < count; e++) {
        int64_t wanted = expect_input(op->args.dtype, rank, op->tensor, e);
        if (values_are(op->args.dtype, data, e, wanted)) continue;
        if (what) tell(c, rank, op, e, data, wanted, what, size);
        return 1;
    }
    return 0;
}
