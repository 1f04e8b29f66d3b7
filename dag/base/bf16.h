/* bfloat16, the upper half of a float32: eight bits of exponent, seven of mantissa. The only place
 * where a float becomes a bf16, but for packs of them on a GPU (dag/kernels/cuda.cuh).
 *
 * Rounding is to nearest, ties to even, in integer arithmetic: instructions for bf16 (AVX-512 BF16,
 * AMX) flush denormal numbers to zero, and the bits of a sum must not depend on the machine.
 * Infinities stay; what is too large becomes infinite. A NaN stays one, quiet, with its sign and
 * the upper bits of its payload. Loops over these functions vectorise. [P] */
#ifndef TUTTI_BF16_H
#define TUTTI_BF16_H

#include <stdint.h>
#include <string.h>

/* The rounding itself, from the bits of a float32 to those of a bf16: of a uint32_t, or of a vector
 * of them. What is dropped carries from the middle up; in the middle itself only if the last place
 * kept is odd. A carry may raise the exponent, as it should. */
#define TUTTI_BF16_CARRIED(bits) ((bits) + 0x7fff + ((bits) >> 16 & 1))
/* The top bit of the difference to infinity is set for a NaN alone. */
#define TUTTI_BF16_IF_NAN(bits) (-((0x7f800000 - ((bits)&0x7fffffff)) >> 31))
#define TUTTI_BF16_ROUND(bits)                                                                     \
    ((TUTTI_BF16_CARRIED(bits) ^                                                                   \
         ((TUTTI_BF16_CARRIED(bits) ^ ((bits) | 0x00400000)) & TUTTI_BF16_IF_NAN(bits))) >>        \
        16)

/* Exact. */
static inline float tutti_bf16_widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t tutti_bf16_narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)TUTTI_BF16_ROUND(bits);
}

#endif
