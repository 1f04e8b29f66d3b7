/* The random numbers of dag/base/rng.h, where kernels for CUDA draw them. Internal to dag/kernels. */
#ifndef TUTTI_RNG_CUH
#define TUTTI_RNG_CUH

#include "dag/kernels/cuda.cuh"

#include "dag/base/normal.h"

#include <math.h>

namespace
{

/* The first two words of Philox4x32-10, as tutti_rng_u64. */
TUTTI_BOTH inline uint64_t drawn_bits(uint64_t key, uint64_t hi, uint64_t lo)
{
    uint64_t c0 = (uint32_t)lo, c1 = lo >> 32, c2 = (uint32_t)hi, c3 = hi >> 32;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = c0 * 0xD2511F53u, p1 = c2 * 0xCD9E8D57u;
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c1 << 32 | c0;
}

/* Times 2^-53: tutti_rng_uniform. */
TUTTI_BOTH inline uint64_t drawn(uint64_t seed, uint64_t stream, uint64_t index)
{
    return drawn_bits(seed, stream, index) >> 11;
}

TUTTI_BOTH inline double drawn_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)drawn(seed, stream, index) * 0x1p-53;
}

/* tutti_rng_normal. */
TUTTI_BOTH inline double drawn_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    const uint64_t bits = drawn_bits(seed, stream, index);
    return sqrt(tutti_normal_square((uint32_t)bits)) * tutti_normal_cosine((uint32_t)(bits >> 32));
}

} // namespace

#endif
