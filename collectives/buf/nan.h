/* The rule for NaNs and zeros of operators on reals (tutti/op.h): the bits of a result do not depend on
 * the order of its two operands. With two NaNs, processors return one of them by their order, which
 * compilers may change. So operators always return the same NaN, and -0 is smaller than +0. Loops over
 * these functions vectorise. [P] */
#ifndef TUTTI_BUF_NAN_H
#define TUTTI_BUF_NAN_H

#include <stdint.h>
#include <string.h>

/* The quiet NaN without sign or payload: 0x7fc00000, 0x7ff8000000000000. */
static inline float tutti_f32_one_nan(float value)
{
    return value == value ? value : __builtin_nanf("");
}

static inline double tutti_f64_one_nan(double value)
{
    return value == value ? value : __builtin_nan("");
}

/* Compares in both orders and combines the bits of the two results. If an operand is a NaN, each result
 * is one of the two operands, and bits | others is a NaN, too. Otherwise the results are equal, except that one
 * zero may be -0: the minimum keeps its sign by OR, the maximum drops it by AND. */
#define TUTTI_BUF_EXTREME(name, T, U, better, combine, one_nan)                                    \
    static inline T name(T a, T b)                                                                 \
    {                                                                                              \
        T one = a better b ? a : b, other = b better a ? b : a;                                    \
        U bits, others, either;                                                                    \
        memcpy(&bits, &one, sizeof bits);                                                          \
        memcpy(&others, &other, sizeof others);                                                    \
        either = bits | others;                                                                    \
        memcpy(&one, &either, sizeof one);                                                         \
        bits = bits combine others;                                                                \
        memcpy(&other, &bits, sizeof other);                                                       \
        return one == one ? other : one_nan(one);                                                  \
    }

TUTTI_BUF_EXTREME(tutti_f32_min, float, uint32_t, <, |, tutti_f32_one_nan)
TUTTI_BUF_EXTREME(tutti_f32_max, float, uint32_t, >, &, tutti_f32_one_nan)
TUTTI_BUF_EXTREME(tutti_f64_min, double, uint64_t, <, |, tutti_f64_one_nan)
TUTTI_BUF_EXTREME(tutti_f64_max, double, uint64_t, >, &, tutti_f64_one_nan)

#endif
