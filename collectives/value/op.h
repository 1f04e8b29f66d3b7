/* SPDX-License-Identifier: BSD-3-Clause */
/* The operators of reductions. */
#ifndef TUTTI_OP_H
#define TUTTI_OP_H

#include <stdint.h>

#include <tutti/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/*                        integers   F32, F64,  C64, C128   pairs
 *                                   BF16
 *   SUM, PROD            x          x          x
 *   MIN, MAX             x          x
 *   LAND, LOR, LXOR      x                                        logical: the result is 0 or 1
 *   BAND, BOR, BXOR      x                                        bitwise
 *   MINLOC, MAXLOC                                         x      among equal values, the lowest
 *                                                                 index
 *
 * Results have the same bits on every rank. With every algorithm, "mpi" included:
 *   integers  SUM and PROD wrap around (modulo 2 to the number of bits).
 *   NaN       a result that is not a number is the quiet NaN without sign and payload (0x7fc00000 in
 *             F32), whatever the operands' NaNs are. MIN, MAX, MINLOC and MAXLOC prefer a NaN to
 *             every number. A value that was combined with no other one stays as it is.
 *   zeros     MIN and MAX: -0 is less than +0. */
typedef enum tutti_reduce_op {
    TUTTI_SUM,
    TUTTI_PROD,
    TUTTI_MIN,
    TUTTI_MAX,
    TUTTI_LAND,
    TUTTI_LOR,
    TUTTI_LXOR,
    TUTTI_BAND,
    TUTTI_BOR,
    TUTTI_BXOR,
    TUTTI_MINLOC,
    TUTTI_MAXLOC,
    TUTTI_REDUCE_OPS,
    TUTTI_USER_OP = 1024, /* a program's own operators begin here */
    TUTTI_USER_OPS_END = 2048
} tutti_reduce_op;

/* A program's own operator: result[i] = left[i] op right[i] for i < count elements of dtype.
 * `result` is `left` or `right`: read an element's operands before you write its result. The
 * operator must be associative, because collectives group the operands in any way. The bits of a
 * result must depend on the two operands alone: not on `count`, the position, or whether `result` is
 * `left` or `right`. Where an operand is a NaN, processors may not grant this: return one NaN, always
 * the same, or ranks may differ in its sign and payload. Called on any thread, and on several threads
 * at once. */
typedef void (*tutti_op_function)(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result);

#ifdef __cplusplus
}
#endif
#endif
