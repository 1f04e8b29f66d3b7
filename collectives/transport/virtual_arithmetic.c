/* Local steps in virtual time: they take a rank's own time, and compute nothing. */
#include "collectives/transport/virtual_parts.h"

struct tutti_local_step {
    int ended;
    int gone; /* it was taken for ended before its time */
};

static void arithmetic_select(tutti_arithmetic *base)
{
    (void)base;
}

static int arithmetic_combines(const tutti_arithmetic *a, tutti_dtype dtype, tutti_reduce_op op)
{
    (void)a, (void)dtype, (void)op;
    return 1;
}

static tutti_status arithmetic_start(
    tutti_arithmetic *base, const tutti_local *local, tutti_local_step **step)
{
    tutti_virtual_arithmetic *a = (tutti_virtual_arithmetic *)base;
    const tutti_point_kind *kind = tutti_topology_kind_of(a->world->topology, a->rank);
    const double bytes = (double)local->count * (double)tutti_dtype_bytes(local->dtype);
    const double rate = local->kind == TUTTI_LOCAL_COPY ? kind->copy : kind->reduce;
    tutti_local_step *s = malloc(sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a step");
    *s = (tutti_local_step){.ended = 0};
    tutti_status status = tutti_virtual_add_event(a->world,
        tutti_virtual_use_time(a->world, a->rank, rate > 0 ? bytes / rate : 0),
        (tutti_virtual_subject){.step = s, .rank = a->rank});
    if (status)
        free(s);
    else
        *step = s;
    return status;
}

void tutti_virtual_end_step(tutti_local_step *step)
{
    step->ended = 1;
    if (step->gone) free(step);
}

static tutti_status arithmetic_test(tutti_arithmetic *base, tutti_local_step *step, int *done)
{
    *done = step->ended;
    if (*done)
        free(step);
    else if (((tutti_virtual_arithmetic *)base)->world->broken)
        *done = step->gone = 1;
    return TUTTI_OK;
}

static tutti_status arithmetic_prepare(tutti_arithmetic *base, size_t bytes)
{
    (void)base, (void)bytes;
    return TUTTI_OK;
}

static tutti_status arithmetic_take(tutti_arithmetic *base, size_t bytes, void **memory)
{
    (void)bytes;
    *memory = ((tutti_virtual_arithmetic *)base)->world->payload;
    return TUTTI_OK;
}

static void arithmetic_give(tutti_arithmetic *base, void *memory)
{
    (void)base, (void)memory;
}

static void arithmetic_close(tutti_arithmetic *base)
{
    free(base);
}

const tutti_arithmetic_ops tutti_virtual_arithmetic_ops = {
    .select = arithmetic_select,
    .combines = arithmetic_combines,
    .start = arithmetic_start,
    .test = arithmetic_test,
    .prepare = arithmetic_prepare,
    .take = arithmetic_take,
    .give = arithmetic_give,
    .close = arithmetic_close,
};
