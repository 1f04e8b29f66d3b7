/* From random words (dag/base/rng.h) to numbers, with the same bits on every machine. [P] */
#ifndef TUTTI_DRAW_H
#define TUTTI_DRAW_H

#include <stdint.h>

/* 0 to below `bound`. */
static inline int tutti_draw_below(uint32_t word, int bound)
{
    return (int)(((uint64_t)word * (uint64_t)bound) >> 32);
}

/* 0 to below 1. */
static inline double tutti_draw_unit(uint32_t word)
{
    return word * (1.0 / 4294967296.0);
}

/* e to the x, |x| < 1.3, with the same bits on every machine, which libm does not promise. */
static inline double tutti_draw_exp(double x)
{
    double sum = 1;
    for (int n = 18; n > 0; n--) sum = 1 + sum * x / n;
    return sum;
}

/* Of x >= 0. */
static inline int tutti_draw_rounded(double x)
{
    return (int)(x + 0.5);
}

#endif
