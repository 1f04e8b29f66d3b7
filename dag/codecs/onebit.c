/* A bit for each element, and two values for each group of 1024; every replica gets the codes of all, and
 * adds what they stand for. The residual is what makes that converge.
 *
 * Bytes: 1/30 of a gradient from each replica to each other one; so with R replicas R/60 of a sum's.
 * Source: Seide et al. 2014 (dag/kernels/codec.h). */
#include "dag/kernels/codec.h"
#include "dag/net/builder.h"
#include "dag/net/codec.h"

static int64_t numbers(const tutti_coded *c)
{
    return tutti_onebit_words(c->count);
}

static tutti_onebit_desc desc_of(const tutti_builder *b, const tutti_coded *c)
{
    return (tutti_onebit_desc){
        .count = c->count, .replica = b->options->replica, .replicas = b->options->replicas};
}

static tutti_status declare(tutti_builder *b, const tutti_coded *c)
{
    return tutti_coded_declare_blocks(b, c, tutti_onebit_words(c->count));
}

static tutti_status send(tutti_builder *b, const tutti_coded *c)
{
    const tutti_onebit_desc desc = desc_of(b, c);
    const tutti_trained *t = c->trained;
    const tutti_access access[] = {
        tutti_reads(t->gradient), tutti_writes(t->code), tutti_updates(t->residual)};
    tutti_status status =
        tutti_coded_kernel(b, c, &tutti_op_onebit_encode, &desc, sizeof desc, 1, 3, access);
    return status == TUTTI_OK ? tutti_coded_gather(b, c) : status;
}

static tutti_status receive(tutti_builder *b, const tutti_coded *c)
{
    const tutti_onebit_desc desc = desc_of(b, c);
    const tutti_access access[] = {
        tutti_reads(c->trained->code), tutti_writes(c->trained->gradient)};
    return tutti_coded_kernel(b, c, &tutti_op_onebit_decode, &desc, sizeof desc, 0, 2, access);
}

const tutti_codec tutti_codec_onebit = {.name = "onebit",
    .summary = "a bit for each element, and two values for each 1024 of them",
    .encodes = 1,
    .numbers = numbers,
    .declare = declare,
    .send = send,
    .receive = receive};
