/* Host memory of the collectives: a pool of reused blocks, and reductions of two or more vectors. */
#ifndef TUTTI_BUF_H
#define TUTTI_BUF_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

#include <stddef.h>

/* dst[i] = dst[i] op src[i], or src[i] op dst[i] when src_first, for i < count.
 *   dst  [in,out]  count elements of dtype      src  [in]  the same; disjoint from dst
 * For built-in operators the order of the operands does not change the bits: NaNs and zeros follow the
 * rule in tutti/op.h (nan.h). Integer overflow wraps. The operator must apply to the type.
 * [A] on disjoint dst. */
void tutti_buf_reduce(tutti_dtype dtype, tutti_reduce_op op, void *dst, const void *src,
    int64_t count, int src_first);
/* Whether there is a function for this type and operator; both must be valid enumerators. [P] */
int tutti_buf_reduces(tutti_dtype dtype, tutti_reduce_op op);
/* The same with a program's own operator. */
void tutti_buf_reduce_user(const tutti_user_op *op, tutti_dtype dtype, void *dst, const void *src,
    int64_t count, int src_first);

/* dst[i] = ((src[0][i] op src[1][i]) op src[2][i]) and so on, for n >= 1 vectors and i < count, in one pass over
 * them: the bits of n - 1 reductions. dst may be src[0], and is disjoint from the others. user: a program's own
 * operator, or NULL. [A] on disjoint dst. */
void tutti_buf_combine(const tutti_user_op *user, tutti_dtype dtype, tutti_reduce_op op, void *dst,
    const void *const src[], int n, int64_t count);

/* Reductions in wider accumulators (tutti_coll_accumulator in collectives/value/args.h): many elements
 * are combined, and the result is rounded once. `count` elements of dtype on one side, `count`
 * accumulators on the other; disjoint. [A] on disjoint destinations. */
void tutti_buf_widen(tutti_dtype dtype, void *accumulators, const void *src, int64_t count);
/* accumulators[i] = accumulators[i] op src[i] */
void tutti_buf_accumulate(
    tutti_dtype dtype, tutti_reduce_op op, void *accumulators, const void *src, int64_t count);
void tutti_buf_narrow(tutti_dtype dtype, void *dst, const void *accumulators, int64_t count);

/* Copies bytes; dst and src are disjoint. [A] */
void tutti_buf_copy(void *dst, const void *src, size_t bytes);

/* Blocks aligned to 64 bytes, kept when they are returned, so that a steady state allocates
 * nothing. A pool is not locked. */
typedef struct tutti_pool tutti_pool;
tutti_status tutti_pool_new(tutti_pool **pool);
/* Where a pool has its memory from, in multiples of 64 bytes. When it has no more, blocks are of ordinary memory. */
typedef struct tutti_pool_source {
    void *ctx;
    tutti_status (*take)(void *ctx, size_t bytes, void **memory);
    void (*give)(void *ctx, void *memory);
} tutti_pool_source;
tutti_status tutti_pool_new_from(const tutti_pool_source *source, tutti_pool **pool);
/* How many of its blocks were new when they were taken. */
int64_t tutti_pool_made(const tutti_pool *pool);
void tutti_pool_free(tutti_pool *pool); /* accepts NULL; every block must have been returned */
/* A block of at least `bytes` bytes with undefined contents. NOMEM (logged). */
tutti_status tutti_pool_take(tutti_pool *pool, size_t bytes, void **block);
void tutti_pool_give(tutti_pool *pool, void *block); /* accepts NULL */

#endif
