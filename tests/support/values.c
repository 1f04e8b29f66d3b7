#include "tests/support/values.h"

#include "dag/base/bf16.h"

#include <stddef.h>
#include <string.h>

enum { INDICES = 16 };

/* One row per type: how to write a number at d[i], how to read it, and how many bytes of the element say it. */
#define ROWS(X)                                                                                    \
    X(TUTTI_F32, float, 1, d[i] = (float)v, (int64_t)d[i], sizeof *d)                              \
    X(TUTTI_F64, double, 1, d[i] = (double)v, (int64_t)d[i], sizeof *d)                            \
    X(TUTTI_I32, int32_t, 1, d[i] = (int32_t)v, d[i], sizeof *d)                                   \
    X(TUTTI_I64, int64_t, 1, d[i] = v, d[i], sizeof *d)                                            \
    X(TUTTI_U8, uint8_t, 1, d[i] = (uint8_t)v, d[i], sizeof *d)                                    \
    X(TUTTI_I8, int8_t, 1, d[i] = (int8_t)v, d[i], sizeof *d)                                      \
    X(TUTTI_I16, int16_t, 1, d[i] = (int16_t)v, d[i], sizeof *d)                                   \
    X(TUTTI_U16, uint16_t, 1, d[i] = (uint16_t)v, d[i], sizeof *d)                                 \
    X(TUTTI_U32, uint32_t, 1, d[i] = (uint32_t)v, d[i], sizeof *d)                                 \
    X(TUTTI_U64, uint64_t, 1, d[i] = (uint64_t)v, (int64_t)d[i], sizeof *d)                        \
    X(TUTTI_C64, float, 2, COMPLEX(float), (int64_t)d[2 * i], 2 * sizeof *d)                       \
    X(TUTTI_C128, double, 2, COMPLEX(double), (int64_t)d[2 * i], 2 * sizeof *d)                    \
    X(TUTTI_FLOAT_INT, tutti_float_int, 1, PAIR(float), LOADED, PAIRED(tutti_float_int))           \
    X(TUTTI_DOUBLE_INT, tutti_double_int, 1, PAIR(double), LOADED, PAIRED(tutti_double_int))       \
    X(TUTTI_INT_INT, tutti_int_int, 1, PAIR(int), LOADED, PAIRED(tutti_int_int))                   \
    X(TUTTI_LONG_INT, tutti_long_int, 1, PAIR(long), LOADED, PAIRED(tutti_long_int))               \
    X(TUTTI_BF16, uint16_t, 1, d[i] = tutti_bf16_narrow((float)v),                                 \
        (int64_t)tutti_bf16_widen(d[i]), sizeof *d)

#define COMPLEX(T) (d[2 * i] = (T)v, d[2 * i + 1] = 0)
#define PAIR(T)                                                                                    \
    (memset(&d[i], 0, sizeof d[i]), d[i].value = (T)(v / INDICES), d[i].index = (int)(v % INDICES))
#define LOADED (int64_t) d[i].value *INDICES + d[i].index
#define PAIRED(T) offsetof(T, index) + sizeof(int)

#define FUNCTIONS(dtype, T, of, write, read, bytes)                                                \
    static void store_##dtype(void *data, int64_t i, int64_t v)                                    \
    {                                                                                              \
        T *d = data;                                                                               \
        write;                                                                                     \
    }                                                                                              \
    static int64_t load_##dtype(const void *data, int64_t i)                                       \
    {                                                                                              \
        const T *d = data;                                                                         \
        return read;                                                                               \
    }                                                                                              \
    static int is_##dtype(const void *data, int64_t i, int64_t v)                                  \
    {                                                                                              \
        const T *d = data;                                                                         \
        T one[of];                                                                                 \
        store_##dtype(one, 0, v);                                                                  \
        return !memcmp(one, &d[of * i], bytes);                                                    \
    }
ROWS(FUNCTIONS)

static const struct {
    void (*store)(void *data, int64_t i, int64_t v);
    int64_t (*load)(const void *data, int64_t i);
    int (*is)(const void *data, int64_t i, int64_t v);
} rows[TUTTI_DTYPE_COUNT] = {
#define ROW(dtype, T, of, write, read, bytes) [dtype] = {store_##dtype, load_##dtype, is_##dtype},
    ROWS(ROW)};

void values_store(tutti_dtype dtype, void *data, int64_t element, int64_t value)
{
    rows[dtype].store(data, element, value);
}

int64_t values_load(tutti_dtype dtype, const void *data, int64_t element)
{
    return rows[dtype].load(data, element);
}

int values_are(tutti_dtype dtype, const void *data, int64_t element, int64_t value)
{
    return rows[dtype].is(data, element, value);
}

int64_t values_combine(tutti_reduce_op op, int64_t a, int64_t b)
{
    int64_t least = a < b ? a : b, most = a > b ? a : b;
    const int64_t results[TUTTI_REDUCE_OPS] = {
        [TUTTI_SUM] = a + b,
        [TUTTI_PROD] = a * b,
        [TUTTI_MIN] = least,
        [TUTTI_MAX] = most,
        [TUTTI_LAND] = a && b,
        [TUTTI_LOR] = a || b,
        [TUTTI_LXOR] = !a != !b,
        [TUTTI_BAND] = a & b,
        [TUTTI_BOR] = a | b,
        [TUTTI_BXOR] = a ^ b,
        [TUTTI_MINLOC] = least,
        [TUTTI_MAXLOC] = a / INDICES == b / INDICES ? least : most,
    };
    return results[op];
}

/* ---- a program's own operators ---- */

static int64_t compose(int64_t left, int64_t right)
{
    int64_t a = left & 255, b = left >> 8 & 255, c = right & 255, d = right >> 8 & 255;
    return (a * c & 255) | ((a * d + b) & 255) << 8;
}

static int64_t differ(int64_t left, int64_t right)
{
    return left ^ right;
}

static void apply(int64_t (*combine)(int64_t left, int64_t right), tutti_dtype dtype, int64_t count,
    const void *left, const void *right, void *result)
{
    for (int64_t i = 0; i < count; i++)
        values_store(
            dtype, result, i, combine(values_load(dtype, left, i), values_load(dtype, right, i)));
}

static void apply_compose(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    (void)ctx;
    apply(compose, dtype, count, left, right, result);
}

static void apply_xor(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    (void)ctx;
    apply(differ, dtype, count, left, right, result);
}

static void apply_record(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    apply_xor(ctx, dtype, count, left, right, result);
    for (int64_t i = 0; i < count && count != VALUES_RECORD_COUNT; i++)
        values_store(dtype, result, i, 0);
}

const char *const values_operator_names[] = {"compose", "xor", "record", NULL};
const tutti_user_op values_operators[VALUES_OPERATORS] = {
    [VALUES_COMPOSE] = {.name = "compose", .function = apply_compose},
    [VALUES_XOR] = {.name = "xor", .function = apply_xor, .commutes = 1},
    [VALUES_RECORD] = {.name = "record", .function = apply_record, .commutes = 1, .whole = 1},
};

int64_t values_combine_with(tutti_reduce_op op, const tutti_user_op *user, int64_t a, int64_t b)
{
    if (!user) return values_combine(op, a, b);
    return user->function == apply_compose ? compose(a, b) : differ(a, b);
}
