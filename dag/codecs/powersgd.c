/* A matrix of low rank: the product of two factors, which are summed one after the other, each with those of
 * other gradients. A power iteration that continues from step to step finds the factors.
 *
 *   backward    p4 p3 p2 p1       each: allreduce
 *   then        q4 q3 q2 q1       each: allreduce
 *
 * Bytes: those of rank (rows + columns) numbers of a gradient's rows columns, whatever the number of replicas.
 * Source: Vogels et al. 2019 (dag/kernels/codec.h). */
#include "dag/base/rng.h"
#include "dag/codecs/rows.h"
#include "dag/kernels/codec.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

static const char factor_prefix[] = "factor.";

static int rank_of(const tutti_compressed *c)
{
    const int64_t least = c->rows < c->columns ? c->rows : c->columns;
    return (double)least < c->value ? (int)least : (int)c->value;
}

static int64_t numbers(const tutti_compressed *c)
{
    return rank_of(c) * (c->rows + c->columns);
}

static tutti_powersgd_desc desc_of(const tutti_builder *b, const tutti_compressed *c)
{
    const tutti_tensor *factor = tutti_graph_get_tensor(b->graph, c->trained->factor);
    return (tutti_powersgd_desc){.rows = c->rows,
        .columns = c->columns,
        .rank = rank_of(c),
        .seed = b->options->seed,
        .stream = tutti_rng_stream(factor->name)};
}

static tutti_status declare(tutti_builder *b, const tutti_compressed *c)
{
    const int rank = rank_of(c);
    tutti_status status = tutti_builder_state(b, factor_prefix, c->l, c->suffix, TUTTI_F32,
        tutti_shape_of(rank, c->columns), &c->trained->factor);
    if (status != TUTTI_OK) return status;
    return tutti_builder_tensor(b, "code.", c->layer, c->suffix, -1, TUTTI_ROLE_SCRATCH, TUTTI_F32,
        tutti_shape_of(rank, c->rows), &c->trained->code);
}

/* A factor, which a kernel computes and all replicas sum. */
static tutti_status send_factor(tutti_builder *b, const tutti_compressed *c, const tutti_op *op,
    int accesses, const tutti_access access[], int factor)
{
    const tutti_powersgd_desc desc = desc_of(b, c);
    int node;
    tutti_status status =
        tutti_compressed_kernel(b, c, op, &desc, sizeof desc, 1, accesses, access);
    if (status != TUTTI_OK) return status;
    return tutti_builder_mark(b, c->l, TUTTI_MARK_ALLREDUCE, factor, 0, &node);
}

static tutti_status send(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_trained *t = c->trained;
    const tutti_access access[] = {tutti_reads(t->gradient), tutti_writes(t->code),
        tutti_updates(t->factor), tutti_updates(t->residual)};
    return send_factor(b, c, &tutti_op_powersgd_left, 4, access, t->code);
}

static tutti_status send_again(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_trained *t = c->trained;
    const tutti_access access[] = {
        tutti_updates(t->code), tutti_updates(t->residual), tutti_writes(t->factor)};
    return send_factor(b, c, &tutti_op_powersgd_right, 3, access, t->factor);
}

static tutti_status receive(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_powersgd_desc desc = desc_of(b, c);
    const tutti_trained *t = c->trained;
    const tutti_access access[] = {
        tutti_reads(t->code), tutti_reads(t->factor), tutti_writes(t->gradient)};
    return tutti_compressed_kernel(b, c, &tutti_op_powersgd_sum, &desc, sizeof desc, 0, 3, access);
}

const tutti_codec tutti_codec_powersgd = {.name = "powersgd",
    .summary = "a product of two factors of low rank",
    .key = "r",
    .help = "the rank of the product",
    .low = 1,
    .high = 64,
    .example = 4,
    .whole = 1,
    .compresses = 1,
    .numbers = numbers,
    .sums = 1,
    .declare = declare,
    .send = send,
    .send_again = send_again,
    .receive = receive};
