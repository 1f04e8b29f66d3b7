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
 *                                                                 index */
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
 * operator must be associative, because collectives group the operands in any way, and its result
 * must depend on its operands alone. Called on any thread, and on several threads at once. */
typedef void (*tutti_op_function)(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result);

#ifdef __cplusplus
}
#endif
#endif
