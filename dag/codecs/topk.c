/* The elements of the largest magnitude, with their indices; every replica gets those of all, and adds them.
 *
 * Bytes: with a share s of the elements 2s of a gradient from each replica to each other one; so with R
 * replicas R s of a sum's.
 * Sources: Aji & Heafield 2017; Lin et al. 2018 (dag/kernels/codec.h). */
#include "dag/codecs/rows.h"
#include "dag/kernels/codec.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

#include <math.h>

static int64_t kept_of(const tutti_compressed *c)
{
    return (int64_t)ceil(c->value * (double)c->count);
}

static int64_t numbers(const tutti_compressed *c)
{
    return tutti_topk_words(kept_of(c));
}

static tutti_topk_desc desc_of(const tutti_builder *b, const tutti_compressed *c)
{
    return (tutti_topk_desc){
        .rows = tutti_compressed_rows_of(b, c), .count = c->count, .kept = kept_of(c)};
}

static tutti_status send(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_topk_desc desc = desc_of(b, c);
    return tutti_compressed_gather(b, c, &tutti_op_topk_encode, &desc, sizeof desc);
}

static tutti_status receive(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_topk_desc desc = desc_of(b, c);
    return tutti_compressed_decode(b, c, &tutti_op_topk_decode, &desc, sizeof desc);
}

/* Above a quarter, indices and elements take as many bytes as half of the gradient. */
const tutti_codec tutti_codec_topk = {.name = "topk",
    .summary = "the largest elements, with their indices",
    .key = "p",
    .help = "the share of the elements that is sent",
    .low = 0.00001,
    .high = 0.25,
    .example = 0.01,
    .compresses = 1,
    .numbers = numbers,
    .declare = tutti_compressed_declare_rows,
    .send = send,
    .receive = receive};
