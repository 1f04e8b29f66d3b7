/* A standard normal number of two words (Box and Muller 1958), in C and in CUDA. Internal to dag/base
 * and dag/kernels.
 *
 * Additions, multiplications, a division and a square root, in a fixed order, and nothing that a C
 * library may round in its own way: processors and GPUs draw the same bits, unless a compiler
 * contracts a*b+c. There are no branches, so that loops over it become vectors. Logarithm, sine and
 * cosine are their Taylor series, up to terms below the rounding of a double. */
#ifndef TUTTI_NORMAL_H
#define TUTTI_NORMAL_H

#include <stdint.h>
#include <string.h>

#ifndef TUTTI_BOTH
#define TUTTI_BOTH
#endif

TUTTI_BOTH static inline int64_t tutti_bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

TUTTI_BOTH static inline double tutti_of_bits(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The square of its distance from 0: -2 log((w + 1) / 2^32). The logarithm is that of a power of two, e log(2), and of
 * f in [sqrt(1/2), sqrt(2)): 2 atanh((f - 1) / (f + 1)). */
TUTTI_BOTH static inline double tutti_normal_square(uint32_t w)
{
    const int64_t one = 0x4330000000000000,
                  root = 0x3FE6A09E667F3BCD; /* the bits of 2^52 and sqrt(1/2) */
    const int64_t bits = tutti_bits_of((tutti_of_bits(one | w) - (0x1p52 - 1)) * 0x1p-32);
    const int64_t above =
        bits - root + (1024ll << 52); /* the exponent, which is 0 or less, and 1024 */
    const double e = tutti_of_bits(one | (above >> 52)) - (0x1p52 + 1024);
    const double f = tutti_of_bits((above & 0xFFFFFFFFFFFFF) + root);
    const double s = (f - 1) / (f + 1), z = s * s;
    double sum = 2.0 / 21;
    sum = sum * z + 2.0 / 19;
    sum = sum * z + 2.0 / 17;
    sum = sum * z + 2.0 / 15;
    sum = sum * z + 2.0 / 13;
    sum = sum * z + 2.0 / 11;
    sum = sum * z + 2.0 / 9;
    sum = sum * z + 2.0 / 7;
    sum = sum * z + 2.0 / 5;
    sum = sum * z + 2.0 / 3;
    return -2 * (e * 0.693147180559945309417 + (2 * s + s * z * sum));
}

/* Its direction: cos(2 pi w / 2^32), from sine and cosine of what is left of the nearest quarter of a turn. */
TUTTI_BOTH static inline double tutti_normal_cosine(uint32_t w)
{
    const uint32_t quarter = (w + (1u << 29)) >> 30;
    const double r = (double)(int32_t)(w - (quarter << 30)) * (6.283185307179586476925 * 0x1p-32),
                 z = r * r;
    double c = 1.0 / 20922789888000, s = 1.0 / 355687428096000; /* 16!, 17! */
    c = c * z - 1.0 / 87178291200;
    c = c * z + 1.0 / 479001600;
    c = c * z - 1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 1.0 / 2;
    c = c * z + 1;
    s = s * z - 1.0 / 1307674368000;
    s = s * z + 1.0 / 6227020800;
    s = s * z - 1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    s = r + r * z * s;
    /* By bits: a compiler makes a branch of ?:, and then the loop is no vector. */
    const int64_t sine = -(int64_t)(quarter & 1), minus = (int64_t)((quarter + 1) >> 1 & 1);
    const int64_t x = (tutti_bits_of(s) & sine) | (tutti_bits_of(c) & ~sine);
    return tutti_of_bits(x ^ (int64_t)((uint64_t)minus << 63));
}

#endif
