#include "apps/train/widen.h"

#include "dag/base/bf16.h"

#include <math.h>
#include <string.h>

/* A number of one sign bit, `exponent` bits and `mantissa` bits, with the usual bias and denormal
 * numbers. ieee: the largest exponent is for infinity and NaN; else only all ones are NaN. */
static float widen_bits(unsigned bits, int exponent, int mantissa, int ieee)
{
    const unsigned ones = (1U << exponent) - 1, fraction = bits & ((1U << mantissa) - 1),
                   power = bits >> mantissa & ones, whole = (1U << mantissa) - 1;
    const int negative = bits >> (exponent + mantissa) & 1, bias = (int)(ones >> 1);
    float value = power ? ldexpf((float)(fraction | 1U << mantissa), (int)power - bias - mantissa)
                        : ldexpf((float)fraction, 1 - bias - mantissa);
    if (power == ones && (ieee ? fraction != 0 : fraction == whole)) value = NAN;
    if (power == ones && ieee && !fraction) value = INFINITY;
    return negative ? -value : value;
}

static void from_f32(const void *from, int64_t count, float *to)
{
    memcpy(to, from, (size_t)count * sizeof *to);
}

static void from_f64(const void *from, int64_t count, float *to)
{
    const double *value = from;
    for (int64_t i = 0; i < count; i++) to[i] = (float)value[i];
}

static void from_f16(const void *from, int64_t count, float *to)
{
    const uint16_t *value = from;
    for (int64_t i = 0; i < count; i++) to[i] = widen_bits(value[i], 5, 10, 1);
}

static void from_bf16(const void *from, int64_t count, float *to)
{
    const uint16_t *value = from;
    for (int64_t i = 0; i < count; i++) to[i] = tutti_bf16_widen(value[i]);
}

static void from_e4m3(const void *from, int64_t count, float *to)
{
    const uint8_t *value = from;
    for (int64_t i = 0; i < count; i++) to[i] = widen_bits(value[i], 4, 3, 0);
}

static void from_e5m2(const void *from, int64_t count, float *to)
{
    const uint8_t *value = from;
    for (int64_t i = 0; i < count; i++) to[i] = widen_bits(value[i], 5, 2, 1);
}

static const struct {
    const char *type;
    size_t bytes;
    tutti_widen_function *widen;
} types[] = {
    {"F32", 4, from_f32},
    {"F64", 8, from_f64},
    {"F16", 2, from_f16},
    {"BF16", 2, from_bf16},
    {"F8_E4M3", 1, from_e4m3},
    {"F8_E5M2", 1, from_e5m2},
    {"F8_E8M0", 1, NULL},
    {"BOOL", 1, NULL},
    {"U8", 1, NULL},
    {"I8", 1, NULL},
    {"U16", 2, NULL},
    {"I16", 2, NULL},
    {"U32", 4, NULL},
    {"I32", 4, NULL},
    {"U64", 8, NULL},
    {"I64", 8, NULL},
    {"C64", 8, NULL},
};
enum { TYPES = sizeof types / sizeof *types };

static int find(const char *type)
{
    int t = 0;
    while (t < TYPES && strcmp(types[t].type, type) != 0) t++;
    return t;
}

tutti_widen_function *tutti_widen_find(const char *type)
{
    const int t = find(type);
    return t < TYPES ? types[t].widen : NULL;
}

size_t tutti_widen_bytes(const char *type)
{
    const int t = find(type);
    return t < TYPES ? types[t].bytes : 0;
}
