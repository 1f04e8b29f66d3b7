#include "collectives/buf/buf.h"

#include <string.h>

typedef void (*reduce_fn)(void *dst, const void *src, int64_t count);

#define SUM(T, a, b) (T)((a) + (b))
#define PROD(T, a, b) (T)((a) * (b))
#define MIN(T, a, b) ((a) < (b) ? (a) : (b))
#define MAX(T, a, b) ((a) > (b) ? (a) : (b))

/* T holds the elements; the arithmetic is done in U, unsigned for integers, where overflow is
 * defined. The fixed inner count lets the compiler use vector instructions at any optimisation
 * level. */
#define REDUCE(name, T, U, OP, first, second)                                                      \
    static void name(void *restrict dst, const void *restrict src, int64_t count)                  \
    {                                                                                              \
        enum { STRIP = 16 };                                                                       \
        T *restrict d = dst;                                                                       \
        const T *restrict s = src;                                                                 \
        int64_t i = 0;                                                                             \
        for (; i + STRIP <= count; i += STRIP)                                                     \
            for (int j = 0; j < STRIP; j++) d[i + j] = OP(T, (U)first[i + j], (U)second[i + j]);   \
        for (; i < count; i++) d[i] = OP(T, (U)first[i], (U)second[i]);                            \
    }

/* U for sum and product; min and max compare as T. */
#define REDUCE_OF(dtype, T, U)                                                                     \
    REDUCE(dtype##_sum, T, U, SUM, d, s)                                                           \
    REDUCE(dtype##_prod, T, U, PROD, d, s)                                                         \
    REDUCE(dtype##_min, T, T, MIN, d, s)                                                           \
    REDUCE(dtype##_max, T, T, MAX, d, s)                                                           \
    REDUCE(dtype##_sum_src_first, T, U, SUM, s, d)                                                 \
    REDUCE(dtype##_prod_src_first, T, U, PROD, s, d)                                               \
    REDUCE(dtype##_min_src_first, T, T, MIN, s, d)                                                 \
    REDUCE(dtype##_max_src_first, T, T, MAX, s, d)

REDUCE_OF(f32, float, float)
REDUCE_OF(f64, double, double)
REDUCE_OF(i32, int32_t, uint32_t)
REDUCE_OF(i64, int64_t, uint64_t)
REDUCE_OF(u8, uint8_t, unsigned)

#define ROW(dtype)                                                                                 \
    {                                                                                              \
        [TUTTI_SUM] = {dtype##_sum, dtype##_sum_src_first},                                        \
        [TUTTI_PROD] = {dtype##_prod, dtype##_prod_src_first},                                     \
        [TUTTI_MIN] = {dtype##_min, dtype##_min_src_first},                                        \
        [TUTTI_MAX] = {dtype##_max, dtype##_max_src_first},                                        \
    }

static const reduce_fn table[TUTTI_DTYPE_COUNT][TUTTI_REDUCE_OPS][2] = {
    [TUTTI_F32] = ROW(f32),
    [TUTTI_F64] = ROW(f64),
    [TUTTI_I32] = ROW(i32),
    [TUTTI_I64] = ROW(i64),
    [TUTTI_U8] = ROW(u8),
};

void tutti_buf_reduce(
    tutti_dtype dtype, tutti_reduce_op op, void *dst, const void *src, int64_t count, int src_first)
{
    table[dtype][op][src_first != 0](dst, src, count);
}

void tutti_buf_copy(void *dst, const void *src, size_t bytes)
{
    if (bytes) memcpy(dst, src, bytes);
}
