#include "dag/base/rng.h"

#include "dag/base/clones.h"
#include "dag/base/normal.h"

#include <math.h>

/* Inlined, so that loops over it become vectors. */
static inline __attribute__((always_inline)) void philox(
    uint64_t key, uint64_t hi, uint64_t lo, uint32_t out[4])
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

void tutti_rng_philox(uint64_t key, uint64_t hi, uint64_t lo, uint32_t out[4])
{
    philox(key, hi, lo, out);
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
    philox(seed, stream, index, w);
    return sqrt(tutti_normal_square(w[0])) * tutti_normal_cosine(w[1]);
}

/* So many that each loop becomes a few vectors; square roots may set errno, so they have one of their own. */
enum { BLOCK = 64 };

TUTTI_CLONES(draw_block, (uint64_t seed, uint64_t stream, uint64_t first, double *x),
    (seed, stream, first, x))
{
    uint32_t near[BLOCK], far[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        uint32_t w[4];
        philox(seed, stream, first + (uint64_t)i, w);
        near[i] = w[0];
        far[i] = w[1];
    }
    for (int i = 0; i < BLOCK; i++) x[i] = tutti_normal_square(near[i]);
    for (int i = 0; i < BLOCK; i++) x[i] = sqrt(x[i]);
    for (int i = 0; i < BLOCK; i++) x[i] *= tutti_normal_cosine(far[i]);
}

void tutti_rng_normals(uint64_t seed, uint64_t stream, uint64_t first, size_t count, double *x)
{
    for (; count >= BLOCK; first += BLOCK, count -= BLOCK, x += BLOCK)
        draw_block(seed, stream, first, x);
    for (size_t i = 0; i < count; i++) x[i] = tutti_rng_normal(seed, stream, first + i);
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
