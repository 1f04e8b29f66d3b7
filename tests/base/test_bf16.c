/* dag/base/bf16: every bf16 to float, every float to bf16. */
#include "dag/base/bf16.h"
#include "tests/support/testing.h"

#include <math.h>

enum { HALVES = 1 << 16, INFINITE = 0x7f80, QUIET = 0x0040, SIGN = 0x8000 };

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int is_nan(uint32_t half)
{
    return (half & (SIGN - 1)) > INFINITE;
}

/* The value of a bf16 by the definition of the format; infinity is the next power of two, from
 * which rounding to it is decided. */
static double value_of(uint32_t half)
{
    int exponent = (int)(half >> 7 & 0xff), mantissa = (int)(half & 0x7f);
    double size = exponent ? ldexp(128 + mantissa, exponent - 134) : ldexp(mantissa, -133);
    return half & SIGN ? -size : size;
}

START_TEST(every_bf16_comes_back)
{
    for (uint32_t half = 0; half < HALVES; half++) {
        float wide = tutti_bf16_widen((uint16_t)half);
        ck_assert_uint_eq(bits_of(wide), half << 16);
        if ((half & (SIGN - 1)) < INFINITE) ck_assert(wide == value_of(half));
        ck_assert_int_eq(isnan(wide) != 0, is_nan(half));
        ck_assert_uint_eq(tutti_bf16_narrow(wide), is_nan(half) ? half | QUIET : half);
    }
    ck_assert(isinf(tutti_bf16_widen(INFINITE)));
}
END_TEST

/* All floats whose upper half is this one lie between it and the next: those below the middle
 * become the one, those above it the other, and the middle itself becomes the even one. */
static int wrong_below(uint32_t half)
{
    double middle = (value_of(half) + value_of(half + 1)) / 2;
    double sign = half & SIGN ? -1 : 1;
    uint16_t at_middle = (uint16_t)(half % 2 ? half + 1 : half);
    int wrong = 0;
    middle *= sign;
    for (uint32_t low = 0; low < HALVES; low++) {
        float value = float_of(half << 16 | low);
        double size = sign * (double)value;
        uint32_t should = size < middle ? half : size > middle ? half + 1 : at_middle;
        wrong += tutti_bf16_narrow(value) != should;
    }
    return wrong;
}

START_TEST(every_float_becomes_the_nearest)
{
    const uint32_t step = testing_fewer() ? 61 : 1;
    for (uint32_t half = 0; half < INFINITE; half += step) {
        ck_assert_msg(!wrong_below(half), "floats from %#x", half << 16);
        ck_assert_msg(!wrong_below(half | SIGN), "floats from %#x", (half | SIGN) << 16);
    }
}
END_TEST

/* Sign and upper payload stay; the payload's other bits cannot make it an infinity. */
START_TEST(every_nan_stays_one)
{
    for (uint32_t half = INFINITE; half < SIGN; half++) {
        int wrong = 0;
        for (uint32_t low = half == INFINITE; low < HALVES; low++) {
            uint32_t bits = half << 16 | low;
            wrong += tutti_bf16_narrow(float_of(bits)) != (half | QUIET);
            wrong += tutti_bf16_narrow(float_of(bits | 0x80000000)) != (half | QUIET | SIGN);
        }
        ck_assert_msg(!wrong, "NaNs from %#x", half << 16);
    }
}
END_TEST

START_TEST(known_values)
{
    static const struct {
        float value;
        uint16_t half;
    } rows[] = {
        {0.0f, 0},
        {-0.0f, SIGN},
        {1.0f, 0x3f80},
        {-2.5f, 0xc020},
        {1.00390625f, 0x3f80},      /* 1 + 1/256: a tie, to even below */
        {1.01171875f, 0x3f82},      /* 1 + 3/256: a tie, to even above */
        {1.00390637f, 0x3f81},      /* just above the tie */
        {1.99999988f, 0x4000},      /* a carry into the exponent */
        {3.38953139e38f, 0x7f7f},   /* the largest bf16 */
        {3.39617752e38f, INFINITE}, /* half a place above it */
        {-3.40282347e38f, INFINITE | SIGN},
        {9.18354962e-41f, 1},      /* the smallest one above 0 */
        {4.59177481e-41f, 0},      /* half of it: a tie */
        {1.17549435e-38f, 0x0080}, /* the smallest normal number */
        {INFINITY, INFINITE},
        {-INFINITY, INFINITE | SIGN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_uint_eq(tutti_bf16_narrow(rows[i].value), rows[i].half);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bf16");
    TCase *tcase = testing_case(suite, "bf16");
    tcase_add_test(tcase, every_bf16_comes_back);
    tcase_add_test(tcase, every_float_becomes_the_nearest);
    tcase_add_test(tcase, every_nan_stays_one);
    tcase_add_test(tcase, known_values);
    return testing_run(suite);
}
