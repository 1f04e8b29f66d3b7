#include "dag/base/rng.h"

#include <math.h>

void tutti_rng_philox(uint64_t key, uint64_t hi, uint64_t lo, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)lo, c1 = (uint32_t)(lo >> 32), c2 = (uint32_t)hi,
             c3 = (uint32_t)(hi >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

uint64_t tutti_rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t w[4];
    tutti_rng_philox(seed, stream, index, w);
    return (uint64_t)w[1] << 32 | w[0];
}

double tutti_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(tutti_rng_u64(seed, stream, index) >> 11) * 0x1p-53;
}

double tutti_rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t w[4];
    tutti_rng_philox(seed, stream, index, w);
    double u = ((double)w[0] + 1.0) * 0x1p-32; /* in (0, 1] */
    double v = (double)w[1] * 0x1p-32;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint64_t tutti_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)tutti_rng_u64(seed, stream, index) * bound) >> 64);
}

uint64_t tutti_rng_stream(const char *name)
{
    uint64_t h = 14695981039346656037ull;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211ull;
    return h;
}
