/* A codec: in what form a gradient that is complete on a replica travels to the others, and how they
 * read its sum. A codec is a file in dag/codecs/, with its line in rows.h and its row in codecs.c there.
 * One that compresses keeps what it did not send, the residual, which the next step's gradient is added
 * to; checkpoints have that of every replica.
 *
 *   backward    each gradient, as soon as it is complete:   send
 *   then        from the last layer on: each                send_again, if the codec has it
 *   then        each                                        receive, before its update
 *
 * Invariant: what `receive` writes is a function of what all replicas have sent, so it is the same, bit
 * for bit, on all of them. Threads: [M]. */
#ifndef TUTTI_CODEC_H
#define TUTTI_CODEC_H

#include "dag/graph/graph.h"
#include "dag/kernels/codec.h"
#include "dag/step/step.h"

struct tutti_builder;
struct tutti_trained;

/* A gradient that travels as a code: that of parameter p of layer l, as a matrix. */
typedef struct tutti_compressed {
    int l;
    const char *layer, *suffix; /* of its name */
    struct tutti_trained *trained;
    int64_t rows, columns, count; /* rows: of the parameter's first dimension */
    double value;                 /* the codec's number, as the user has given it */
} tutti_compressed;

struct tutti_codec {
    const char *name, *summary; /* "topk" */
    /* The number that follows the name and a colon; key NULL: there is none */
    const char *key, *help;
    double low, high, example;
    int whole; /* no fractions */
    /* The type in which gradients are summed that do not travel compressed */
    tutti_dtype wire;
    int compresses; /* 0: all of them. Then the functions below are NULL */
    /* Numbers of 4 bytes that a replica sends in place of a gradient. [P] */
    int64_t (*numbers)(const tutti_compressed *c);
    /* Whether these are summed, and not gathered; */
    int sums;
    /* Declares what is sent, in trained->code, and what else is kept from step to step, which begins as
     * zeros. */
    tutti_status (*declare)(struct tutti_builder *b, const tutti_compressed *c);
    tutti_status (*send)(struct tutti_builder *b, const tutti_compressed *c);
    tutti_status (*send_again)(struct tutti_builder *b, const tutti_compressed *c);
    tutti_status (*receive)(struct tutti_builder *b, const tutti_compressed *c);
};

/* Appends a kernel of a codec, "<layer>.<suffix>.<op>". sends: ranks wait for what it writes. */
tutti_status tutti_compressed_kernel(struct tutti_builder *b, const tutti_compressed *c,
    const tutti_op *op, const void *desc, size_t desc_bytes, int sends, int accesses,
    const tutti_access access[]);
/* ---- of codes that are gathered, whose descriptors begin with tutti_compressed_rows ---- */

/* Declares trained->code, a row of codec->numbers words for each replica: tutti_codec.declare. Where in it
 * the code is, unless it is gathered with others. */
tutti_status tutti_compressed_declare_rows(struct tutti_builder *b, const tutti_compressed *c);
tutti_compressed_rows tutti_compressed_rows_of(
    const struct tutti_builder *b, const tutti_compressed *c);
/* Appends the kernel that compresses (of gradient, code and residual), and the mark that gathers; the kernel
 * that decodes (of code and gradient). */
tutti_status tutti_compressed_gather(struct tutti_builder *b, const tutti_compressed *c,
    const tutti_op *op, const void *desc, size_t desc_bytes);
tutti_status tutti_compressed_decode(struct tutti_builder *b, const tutti_compressed *c,
    const tutti_op *op, const void *desc, size_t desc_bytes);

/* INVAL (logged): a number out of range; a strategy, a division or a type on the wire that codes cannot have. */
tutti_status tutti_codec_check(const tutti_step_options *options, const tutti_strategy *strategy);

#endif
