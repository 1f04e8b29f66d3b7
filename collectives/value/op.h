/* The operators of reductions. */
#ifndef TUTTI_OP_H
#define TUTTI_OP_H

#include <stdint.h>

#include <tutti/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/*                        integers   F32, F64   C64, C128   pairs
 *   SUM, PROD            x          x          x
 *   MIN, MAX             x          x
 *   LAND, LOR, LXOR      x                                        of truth: the result is 0 or 1
 *   BAND, BOR, BXOR      x                                        of bits
 *   MINLOC, MAXLOC                                         x      of equal values the lowest index */
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

/* A program's own operator: result[i] = left[i] op right[i] for i < count elements of dtype. `result` is
 * `left` or `right`: an element's operands are read before its result is written. It must be associative, as
 * collectives set the brackets where they like; and, like the result of any function, depend on its operands
 * alone. Called on any thread, also on several at once. */
typedef void (*tutti_op_function)(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result);

#ifdef __cplusplus
}
#endif
#endif
