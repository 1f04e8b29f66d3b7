/* Gradients in fewer bytes: what a codec (dag/step/codec.h) sends in place of a gradient g of `count`
 * elements, and how it is read again. e is what this replica has not sent so far: its residual. Every
 * encoding first adds g to it, and leaves what it does not send: afterwards
 *     sent + e = g + what e was,
 * exactly, unless a difference is rounded.
 *
 * A code has a block of words (int32, whose bits may be those of a float) for each of `replicas`, at
 * the same place of a row that may have other codes beside it. ENCODE writes the block of `replica`, and DECODE
 * gives the sum of all, added in the order of replicas.
 *
 * ONEBIT: a bit for each element, 1 where it is not below 0, and for each TUTTI_ONEBIT_GROUP elements
 * two values that stand for those: the means of the ones below 0, and of the others.
 *   block   for each group: float below, float above, words of 32 bits, the lowest first
 * Source: Seide, Fu, Droppo, Li & Yu 2014, "1-Bit Stochastic Gradient Descent and its Application to
 * Data-Parallel Distributed Training of Speech DNNs", Interspeech, section 3.2 (whose groups are the
 * columns of a matrix).
 *
 * TOPK: the `kept` elements of the largest magnitude; among equal ones those that come first. NaN is
 * larger than all numbers, so it is not hidden.
 *   block   kept words: indices, ascending; kept floats: the elements there
 * Sources: Aji & Heafield 2017, "Sparse Communication for Distributed Gradient Descent",
 * arXiv:1704.05021; Lin, Han, Mao, Wang & Dally 2018, "Deep Gradient Compression", arXiv:1712.01887.
 * DECODE: INTERNAL (logged) if an index is not below count; on a GPU, g is then not a number.
 *
 * POWERSGD: g as a matrix (rows, columns) is sent as the product of two factors of `rank` vectors,
 * p (rank, rows) and q (rank, columns), which are summed one after the other:
 *   left     e += g;  p[j] = e q[j]                      then p is summed over the replicas
 *   right    p made orthonormal;  q[j] = p[j] e;  e -= sum over j of p[j]' q[j]
 *                                                        then q is summed
 *   sum      g = sum over j of p[j]' q[j]
 * left finds in q what the step before left there. A vector of q that is all 0 is drawn anew, evenly from -1
 * to 1, which needs no function that processors compute differently: so is the first one, and one that found
 * nothing. right leaves a vector of p that depends on earlier ones 0: what is left of it is rounding.
 * Source: Vogels, Karimireddy & Jaggi 2019, "PowerSGD: Practical Low-Rank Gradient Compression for
 * Distributed Optimization", arXiv:1905.13727, algorithms 1 and 2. */
#ifndef TUTTI_CODEC_KERNELS_H
#define TUTTI_CODEC_KERNELS_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

enum { TUTTI_ONEBIT_GROUP = 1024 };
/* A vector whose length falls below this part of what it was depends on those that it was freed of. */
#define TUTTI_POWERSGD_ROUNDING 1e-5

/* Where a code is: word w of replica r's block is number r * stride + first + w. The first member of
 * descriptors, which is set again when codes have found their places (tutti_step_place_compressed). */
typedef struct tutti_compressed_rows {
    int replica, replicas;
    int64_t first, stride;
} tutti_compressed_rows;

typedef struct tutti_onebit_desc {
    tutti_compressed_rows rows;
    int64_t count;
} tutti_onebit_desc;

typedef struct tutti_topk_desc {
    tutti_compressed_rows rows;
    int64_t count, kept;
} tutti_topk_desc;

typedef struct tutti_powersgd_desc {
    int64_t rows, columns;
    int rank; /* at most rows and columns */
    uint64_t seed, stream;
} tutti_powersgd_desc;

/* Words of a replica's block. [P] */
static inline int64_t tutti_onebit_words(int64_t count)
{
    const int64_t groups = (count + TUTTI_ONEBIT_GROUP - 1) / TUTTI_ONEBIT_GROUP;
    return 2 * groups + (count + 31) / 32; /* a group has a multiple of 32 elements, but the last */
}

static inline int64_t tutti_topk_words(int64_t kept)
{
    return 2 * kept;
}

extern const tutti_op tutti_op_onebit_encode, tutti_op_onebit_decode, tutti_op_topk_encode,
    tutti_op_topk_decode, tutti_op_powersgd_left, tutti_op_powersgd_right, tutti_op_powersgd_sum;

#endif
