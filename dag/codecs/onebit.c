/* A bit for each element, and two values for each group of 1024; every replica gets the codes of all, and
 * adds what they stand for. The residual is what makes that converge.
 *
 * Bytes: 1/30 of a gradient from each replica to each other one; so with R replicas R/60 of a sum's.
 * Source: Seide et al. 2014 (dag/kernels/codec.h). */
#include "dag/codecs/rows.h"
#include "dag/kernels/codec.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

static int64_t numbers(const tutti_compressed *c)
{
    return tutti_onebit_words(c->count);
}

static tutti_onebit_desc desc_of(const tutti_builder *b, const tutti_compressed *c)
{
    return (tutti_onebit_desc){.rows = tutti_compressed_rows_of(b, c), .count = c->count};
}

static tutti_status send(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_onebit_desc desc = desc_of(b, c);
    return tutti_compressed_gather(b, c, &tutti_op_onebit_encode, &desc, sizeof desc);
}

static tutti_status receive(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_onebit_desc desc = desc_of(b, c);
    return tutti_compressed_decode(b, c, &tutti_op_onebit_decode, &desc, sizeof desc);
}

const tutti_codec tutti_codec_onebit = {.name = "onebit",
    .summary = "a bit for each element, and two values for each 1024 of them",
    .compresses = 1,
    .numbers = numbers,
    .declare = tutti_compressed_declare_rows,
    .send = send,
    .receive = receive};
