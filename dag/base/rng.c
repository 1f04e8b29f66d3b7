#include "dag/base/rng.h"

#include "dag/base/clones.h"
#include "dag/base/normal.h"

#include <math.h>
#if TUTTI_HAS_CLONES
#include <immintrin.h>
#endif

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

/* The first two words of each of BLOCK counters. */
static void draw_words(
    uint64_t seed, uint64_t stream, uint64_t first, uint32_t near[], uint32_t far[])
{
    for (int i = 0; i < BLOCK; i++) {
        uint32_t w[4];
        philox(seed, stream, first + (uint64_t)i, w);
        near[i] = w[0];
        far[i] = w[1];
    }
}

#if TUTTI_HAS_CLONES
/* Eight counters at a time, in two vectors of four. Each word is the lower half of 64 bits: products ignore what is
 * above it. A compiler moves words between vectors for each product instead, which takes 2.5 times as long. */
enum { AT_ONCE = 4, VECTORS = 2 };

/* Of counters lo, lo + step, ...: c[word][vector]. */
static inline __attribute__((always_inline, target("avx2"))) void philox_avx2(
    uint64_t key, uint64_t hi, uint64_t lo, uint64_t step, __m256i c[4][VECTORS])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++)
    {
        const uint64_t first = lo + step * (uint64_t)(AT_ONCE * v);
        c[0][v] = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)first),
            _mm256_setr_epi64x(0, (int64_t)step, (int64_t)(2 * step), (int64_t)(3 * step)));
        c[1][v] = _mm256_srli_epi64(c[0][v], 32);
        c[2][v] = _mm256_set1_epi64x((int64_t)hi);
        c[3][v] = _mm256_srli_epi64(c[2][v], 32);
    }
    for (int round = 0; round < 10; round++) {
        _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++)
        {
            const __m256i p0 = _mm256_mul_epu32(_mm256_set1_epi64x(0xD2511F53), c[0][v]);
            const __m256i p1 = _mm256_mul_epu32(_mm256_set1_epi64x(0xCD9E8D57), c[2][v]);
            c[0][v] = _mm256_srli_epi64(p1, 32) ^ c[1][v] ^ _mm256_set1_epi64x(k0);
            c[2][v] = _mm256_srli_epi64(p0, 32) ^ c[3][v] ^ _mm256_set1_epi64x(k1);
            c[1][v] = p1;
            c[3][v] = p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

__attribute__((target("avx2"))) static void draw_words_avx2(
    uint64_t seed, uint64_t stream, uint64_t first, uint32_t near[], uint32_t far[])
{
    const __m256i lower = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    for (int i = 0; i < BLOCK; i += AT_ONCE * VECTORS) {
        __m256i c[4][VECTORS];
        philox_avx2(seed, stream, first + (uint64_t)i, 1, c);
        _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++)
        {
            _mm_storeu_si128((__m128i *)(near + i + AT_ONCE * v),
                _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(c[0][v], lower)));
            _mm_storeu_si128((__m128i *)(far + i + AT_ONCE * v),
                _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(c[1][v], lower)));
        }
    }
}

/* As many of the counters as whole vectors take; returns how many. */
__attribute__((target("avx2"))) static size_t draw_many_avx2(
    uint64_t key, uint64_t hi, uint64_t lo, uint64_t step, size_t count, uint32_t (*out)[4])
{
    const __m256i lower = _mm256_set1_epi64x(0xffffffff);
    size_t i = 0;
    for (; i + AT_ONCE * VECTORS <= count; i += AT_ONCE * VECTORS) {
        __m256i c[4][VECTORS];
        philox_avx2(key, hi, lo + step * i, step, c);
        _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++)
        {
            const __m256i w01 = (c[0][v] & lower) | _mm256_slli_epi64(c[1][v], 32);
            const __m256i w23 = (c[2][v] & lower) | _mm256_slli_epi64(c[3][v], 32);
            const __m256i even = _mm256_unpacklo_epi64(w01, w23);
            const __m256i odd = _mm256_unpackhi_epi64(w01, w23);
            __m256i *to = (__m256i *)out[i + (size_t)(AT_ONCE * v)];
            _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
            _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
        }
    }
    return i;
}
#endif

TUTTI_CLONES(make_normals, (const uint32_t near[], const uint32_t far[], double *x), (near, far, x))
{
    for (int i = 0; i < BLOCK; i++) x[i] = tutti_normal_square(near[i]);
    for (int i = 0; i < BLOCK; i++) x[i] = sqrt(x[i]);
    for (int i = 0; i < BLOCK; i++) x[i] *= tutti_normal_cosine(far[i]);
}

static void draw_block(uint64_t seed, uint64_t stream, uint64_t first, double *x)
{
    uint32_t near[BLOCK], far[BLOCK];
#if TUTTI_HAS_CLONES
    if (tutti_isa_chosen() >= TUTTI_ISA_AVX2)
        draw_words_avx2(seed, stream, first, near, far);
    else
#endif
        draw_words(seed, stream, first, near, far);
    make_normals(near, far, x);
}

void tutti_rng_normals(uint64_t seed, uint64_t stream, uint64_t first, size_t count, double *x)
{
    for (; count >= BLOCK; first += BLOCK, count -= BLOCK, x += BLOCK)
        draw_block(seed, stream, first, x);
    for (size_t i = 0; i < count; i++) x[i] = tutti_rng_normal(seed, stream, first + i);
}

void tutti_rng_philoxes(
    uint64_t key, uint64_t hi, uint64_t lo, uint64_t step, size_t count, uint32_t (*out)[4])
{
    size_t i = 0;
#if TUTTI_HAS_CLONES
    if (tutti_isa_chosen() >= TUTTI_ISA_AVX2) i = draw_many_avx2(key, hi, lo, step, count, out);
#endif
    for (; i < count; i++) philox(key, hi, lo + step * i, out[i]);
}

uint64_t tutti_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)tutti_rng_u64(seed, stream, index) * bound) >> 64);
}

uint64_t tutti_rng_stream_of(const char *name, size_t length)
{
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 1099511628211ull;
    return h;
}

uint64_t tutti_rng_stream(const char *name)
{
    return tutti_rng_stream_of(name, strlen(name));
}
