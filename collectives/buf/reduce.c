#include "collectives/buf/buf.h"
#include "collectives/buf/nan.h"
#include "dag/base/bf16.h"
#include "dag/base/clones.h"

#include <string.h>

typedef void (*reduce_fn)(void *dst, const void *src, int64_t count);

#define SUM(T, a, b) (T)((a) + (b))
#define PROD(T, a, b) (T)((a) * (b))
#define MIN(T, a, b) ((a) < (b) ? (a) : (b))
#define MAX(T, a, b) ((a) > (b) ? (a) : (b))
#define LAND(T, a, b) (T)((a) && (b))
#define LOR(T, a, b) (T)((a) || (b))
#define LXOR(T, a, b) (T)(!(a) != !(b))
#define BAND(T, a, b) (T)((a) & (b))
#define BOR(T, a, b) (T)((a) | (b))
#define BXOR(T, a, b) (T)((a) ^ (b))

/* T is the type of the elements; the arithmetic is done in U, which is unsigned for integers, where
 * overflow is defined. The fixed inner count lets the compiler vectorise at any optimisation
 * level. */
#define REDUCE(name, T, U, OP, first, second)                                                      \
    static void name(void *restrict dst, const void *restrict src, int64_t count)                  \
        REDUCE_EACH(T, U, OP, first, second)

/* The same with clones: for the operators that gradients need. */
#define REDUCE_CLONES(name, T, U, OP, first, second)                                               \
    TUTTI_CLONES(                                                                                  \
        name, (void *restrict dst, const void *restrict src, int64_t count), (dst, src, count))    \
    REDUCE_EACH(T, U, OP, first, second)

#define REDUCE_EACH(T, U, OP, first, second)                                                       \
    {                                                                                              \
        enum { STRIP = 16 };                                                                       \
        T *restrict d = dst;                                                                       \
        const T *restrict s = src;                                                                 \
        int64_t i = 0;                                                                             \
        for (; i + STRIP <= count; i += STRIP)                                                     \
            for (int j = 0; j < STRIP; j++) d[i + j] = OP(T, (U)first[i + j], (U)second[i + j]);   \
        for (; i < count; i++) d[i] = OP(T, (U)first[i], (U)second[i]);                            \
    }

/* Both orders of the operands. */
#define BOTH(dtype, op, T, U, OP)                                                                  \
    REDUCE(dtype##_##op, T, U, OP, d, s)                                                           \
    REDUCE(dtype##_##op##_src_first, T, U, OP, s, d)

#define BOTH_CLONES(dtype, op, T, U, OP)                                                           \
    REDUCE_CLONES(dtype##_##op, T, U, OP, d, s)                                                    \
    REDUCE_CLONES(dtype##_##op##_src_first, T, U, OP, s, d)

/* Sum and product use U; min and max compare as T. */
#define REDUCE_INTEGER(dtype, T, U)                                                                \
    BOTH(dtype, sum, T, U, SUM)                                                                    \
    BOTH(dtype, prod, T, U, PROD)                                                                  \
    BOTH(dtype, min, T, T, MIN)                                                                    \
    BOTH(dtype, max, T, T, MAX)                                                                    \
    BOTH(dtype, land, T, U, LAND)                                                                  \
    BOTH(dtype, lor, T, U, LOR)                                                                    \
    BOTH(dtype, lxor, T, U, LXOR)                                                                  \
    BOTH(dtype, band, T, U, BAND)                                                                  \
    BOTH(dtype, bor, T, U, BOR)                                                                    \
    BOTH(dtype, bxor, T, U, BXOR)

REDUCE_INTEGER(i8, int8_t, unsigned)
REDUCE_INTEGER(i16, int16_t, unsigned)
REDUCE_INTEGER(i32, int32_t, uint32_t)
REDUCE_INTEGER(i64, int64_t, uint64_t)
REDUCE_INTEGER(u8, uint8_t, unsigned)
REDUCE_INTEGER(u16, uint16_t, unsigned)
REDUCE_INTEGER(u32, uint32_t, uint32_t)
REDUCE_INTEGER(u64, uint64_t, uint64_t)

/* Reals: the rule for NaNs and zeros is in nan.h. */
#define SUM_F32(T, a, b) tutti_f32_one_nan((a) + (b))
#define PROD_F32(T, a, b) tutti_f32_one_nan((a) * (b))
#define MIN_F32(T, a, b) tutti_f32_min(a, b)
#define MAX_F32(T, a, b) tutti_f32_max(a, b)
#define SUM_F64(T, a, b) tutti_f64_one_nan((a) + (b))
#define PROD_F64(T, a, b) tutti_f64_one_nan((a) * (b))
#define MIN_F64(T, a, b) tutti_f64_min(a, b)
#define MAX_F64(T, a, b) tutti_f64_max(a, b)
BOTH_CLONES(f32, sum, float, float, SUM_F32)
BOTH(f32, prod, float, float, PROD_F32)
BOTH(f32, min, float, float, MIN_F32)
BOTH(f32, max, float, float, MAX_F32)
BOTH_CLONES(f64, sum, double, double, SUM_F64)
BOTH(f64, prod, double, double, PROD_F64)
BOTH(f64, min, double, double, MIN_F64)
BOTH(f64, max, double, double, MAX_F64)

/* Computed in float32; every result is rounded. */
#define IN_F32(compute, a, b)                                                                      \
    tutti_bf16_narrow(compute(float, tutti_bf16_widen(a), tutti_bf16_widen(b)))
#define SUM_BF16(T, a, b) IN_F32(SUM_F32, a, b)
#define PROD_BF16(T, a, b) IN_F32(PROD_F32, a, b)
#define MIN_BF16(T, a, b) IN_F32(MIN_F32, a, b)
#define MAX_BF16(T, a, b) IN_F32(MAX_F32, a, b)
BOTH_CLONES(bf16, sum, uint16_t, uint16_t, SUM_BF16)
BOTH(bf16, prod, uint16_t, uint16_t, PROD_BF16)
BOTH(bf16, min, uint16_t, uint16_t, MIN_BF16)
BOTH(bf16, max, uint16_t, uint16_t, MAX_BF16)

/* Elements that are structs: the same function combines two in either order, so that both ends of
 * an exchange run the same instructions (in a copy of the code, a compiler might fuse another
 * product and sum). */
#define EACH(name, T, combine, first, second)                                                      \
    static void name(void *restrict dst, const void *restrict src, int64_t count)                  \
    {                                                                                              \
        T *restrict d = dst;                                                                       \
        const T *restrict s = src;                                                                 \
        for (int64_t i = 0; i < count; i++) combine(first + i, second + i, d + i);                 \
    }

#define EACH_BOTH(name, T)                                                                         \
    EACH (name##_dst_first, T, name, d, s)                                                         \
        EACH (name##_src_first, T, name, s, d)

#define REDUCE_COMPLEX(dtype, T, one_nan)                                                          \
    typedef struct dtype {                                                                         \
        T re, im;                                                                                  \
    } dtype;                                                                                       \
    __attribute__((noinline)) static void dtype##_sum(                                             \
        const dtype *a, const dtype *b, dtype *result)                                             \
    {                                                                                              \
        *result = (dtype){one_nan(a->re + b->re), one_nan(a->im + b->im)};                         \
    }                                                                                              \
    __attribute__((noinline)) static void dtype##_prod(                                            \
        const dtype *a, const dtype *b, dtype *result)                                             \
    {                                                                                              \
        *result = (dtype){                                                                         \
            one_nan(a->re * b->re - a->im * b->im), one_nan(a->re * b->im + a->im * b->re)};       \
    }                                                                                              \
    EACH_BOTH(dtype##_sum, dtype)                                                                  \
    EACH_BOTH(dtype##_prod, dtype)

/* Among equal values the lower index wins, and a NaN wins over numbers. The kept element is the same in
 * either order, also if index and value are equal and only the signs of their zeros differ. Members are read
 * one by one: the last element that MPI libraries pass may end in front of its padding. */
#define PAIR(name, T, better, one_nan)                                                             \
    __attribute__((noinline)) static void name(const T *a, const T *b, T *result)                  \
    {                                                                                              \
        int nan_a = a->value != a->value, nan_b = b->value != b->value;                            \
        int alike = nan_a || nan_b ? nan_a && nan_b : b->value == a->value;                        \
        int wins = nan_b ? !nan_a : !nan_a && b->value better a->value;                            \
        int lower = b->index < a->index ||                                                         \
                    (b->index == a->index && memcmp(&b->value, &a->value, sizeof b->value) < 0);   \
        const T *kept = wins || (alike && lower) ? b : a;                                          \
        result->value = one_nan(kept->value);                                                      \
        result->index = kept->index;                                                               \
    }                                                                                              \
    EACH_BOTH(name, T)

#define REDUCE_PAIR(dtype, T, one_nan)                                                             \
    PAIR(dtype##_minloc, T, <, one_nan)                                                            \
    PAIR(dtype##_maxloc, T, >, one_nan)

REDUCE_COMPLEX(c64, float, tutti_f32_one_nan)
REDUCE_COMPLEX(c128, double, tutti_f64_one_nan)
REDUCE_PAIR(float_int, tutti_float_int, tutti_f32_one_nan)
REDUCE_PAIR(double_int, tutti_double_int, tutti_f64_one_nan)
REDUCE_PAIR(int_int, tutti_int_int, )
REDUCE_PAIR(long_int, tutti_long_int, )

#define OP(dtype, op)                                                                              \
    {                                                                                              \
        dtype##_##op, dtype##_##op##_src_first                                                     \
    }
#define OP_OF_STRUCT(dtype, op)                                                                    \
    {                                                                                              \
        dtype##_##op##_dst_first, dtype##_##op##_src_first                                         \
    }

#define OPS_OF_REALS(dtype)                                                                        \
    [TUTTI_SUM] = OP(dtype, sum), [TUTTI_PROD] = OP(dtype, prod), [TUTTI_MIN] = OP(dtype, min),    \
    [TUTTI_MAX] = OP(dtype, max)

#define REAL(dtype)                                                                                \
    {                                                                                              \
        OPS_OF_REALS(dtype)                                                                        \
    }
#define INTEGER(dtype)                                                                             \
    {                                                                                              \
        OPS_OF_REALS(dtype), [TUTTI_LAND] = OP(dtype, land), [TUTTI_LOR] = OP(dtype, lor),         \
                             [TUTTI_LXOR] = OP(dtype, lxor), [TUTTI_BAND] = OP(dtype, band),       \
                             [TUTTI_BOR] = OP(dtype, bor), [TUTTI_BXOR] = OP(dtype, bxor)          \
    }
#define COMPLEX(dtype)                                                                             \
    {                                                                                              \
        [TUTTI_SUM] = OP_OF_STRUCT(dtype, sum), [TUTTI_PROD] = OP_OF_STRUCT(dtype, prod)           \
    }
#define LOCATED(dtype)                                                                             \
    {                                                                                              \
        [TUTTI_MINLOC] = OP_OF_STRUCT(dtype, minloc), [TUTTI_MAXLOC] = OP_OF_STRUCT(dtype, maxloc) \
    }

static const reduce_fn table[TUTTI_DTYPE_COUNT][TUTTI_REDUCE_OPS][2] = {
    [TUTTI_F32] = REAL(f32),
    [TUTTI_F64] = REAL(f64),
    [TUTTI_I32] = INTEGER(i32),
    [TUTTI_I64] = INTEGER(i64),
    [TUTTI_U8] = INTEGER(u8),
    [TUTTI_I8] = INTEGER(i8),
    [TUTTI_I16] = INTEGER(i16),
    [TUTTI_U16] = INTEGER(u16),
    [TUTTI_U32] = INTEGER(u32),
    [TUTTI_U64] = INTEGER(u64),
    [TUTTI_C64] = COMPLEX(c64),
    [TUTTI_C128] = COMPLEX(c128),
    [TUTTI_FLOAT_INT] = LOCATED(float_int),
    [TUTTI_DOUBLE_INT] = LOCATED(double_int),
    [TUTTI_INT_INT] = LOCATED(int_int),
    [TUTTI_LONG_INT] = LOCATED(long_int),
    [TUTTI_BF16] = REAL(bf16),
};

int tutti_buf_reduces(tutti_dtype dtype, tutti_reduce_op op)
{
    return table[dtype][op][0] != NULL;
}

void tutti_buf_reduce(
    tutti_dtype dtype, tutti_reduce_op op, void *dst, const void *src, int64_t count, int src_first)
{
    table[dtype][op][src_first != 0](dst, src, count);
}

void tutti_buf_reduce_user(const tutti_user_op *op, tutti_dtype dtype, void *dst, const void *src,
    int64_t count, int src_first)
{
    op->function(op->ctx, dtype, count, src_first ? src : dst, src_first ? dst : src, dst);
}

/* From `From` to `To`, element by element; like REDUCE. */
#define EACH_WIDE(name, To, From, expression)                                                      \
    TUTTI_CLONES(                                                                                  \
        name, (void *restrict dst, const void *restrict src, int64_t count), (dst, src, count))    \
    {                                                                                              \
        enum { STRIP = 16 };                                                                       \
        To *restrict d = dst;                                                                      \
        const From *restrict s = src;                                                              \
        int64_t i = 0;                                                                             \
        for (; i + STRIP <= count; i += STRIP, d += STRIP, s += STRIP)                             \
            for (int j = 0; j < STRIP; j++) d[j] = expression;                                     \
        for (int j = 0; i + j < count; j++) d[j] = expression;                                     \
    }

EACH_WIDE(bf16_widen, float, uint16_t, tutti_bf16_widen(s[j]))
EACH_WIDE(bf16_narrow, uint16_t, float, tutti_bf16_narrow(tutti_f32_one_nan(s[j])))
EACH_WIDE(bf16_add, float, uint16_t, d[j] + tutti_bf16_widen(s[j]))
EACH_WIDE(bf16_multiply, float, uint16_t, d[j] * tutti_bf16_widen(s[j]))

/* Types that have a wider accumulator. */
static const struct {
    reduce_fn widen, narrow, accumulate[TUTTI_REDUCE_OPS];
} wide[TUTTI_DTYPE_COUNT] = {
    [TUTTI_BF16] = {bf16_widen, bf16_narrow,
        {[TUTTI_SUM] = bf16_add, [TUTTI_PROD] = bf16_multiply}},
};

void tutti_buf_widen(tutti_dtype dtype, void *accumulators, const void *src, int64_t count)
{
    wide[dtype].widen(accumulators, src, count);
}

void tutti_buf_narrow(tutti_dtype dtype, void *dst, const void *accumulators, int64_t count)
{
    wide[dtype].narrow(dst, accumulators, count);
}

void tutti_buf_accumulate(
    tutti_dtype dtype, tutti_reduce_op op, void *accumulators, const void *src, int64_t count)
{
    wide[dtype].accumulate[op](accumulators, src, count);
}

void tutti_buf_copy(void *dst, const void *src, size_t bytes)
{
    if (bytes) memcpy(dst, src, bytes);
}
