/* What the CPU kernels share, and the rows that table.c collects. Internal to dag/kernels.
 *
 * Files with loops of our own are compiled once for each instruction set (dag/base/clones.h). Their
 * vectors have as many floats as a register of that set: wider ones the compiler would move through
 * the stack. Sums over elements are kept as TUTTI_SUMS partial sums whatever the width, so all
 * clones add in the same order. */
#ifndef TUTTI_CPU_H
#define TUTTI_CPU_H

#include "dag/base/bf16.h"
#include "dag/base/clones.h"
#include "dag/base/status.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/open.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define TUTTI_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
enum { TUTTI_LANES = 16 };
#define TUTTI_CVTPS_PD(half) (tutti_dlanes) _mm512_cvtps_pd((__m256)(half))
#elif defined(__AVX2__)
enum { TUTTI_LANES = 8 };
#define TUTTI_CVTPS_PD(half) (tutti_dlanes) _mm256_cvtps_pd((__m128)(half))
#else
enum { TUTTI_LANES = 4 };
#define TUTTI_CVTPS_PD(half) __builtin_convertvector(half, tutti_dlanes)
#endif
enum { TUTTI_SUMS = 16 };

typedef float tutti_lanes __attribute__((vector_size(4 * TUTTI_LANES)));
typedef int32_t tutti_ilanes __attribute__((vector_size(4 * TUTTI_LANES)));
typedef uint32_t tutti_ulanes __attribute__((vector_size(4 * TUTTI_LANES)));
typedef uint16_t tutti_halves __attribute__((vector_size(2 * TUTTI_LANES)));

/* A register has half as many doubles; tutti_wide has those of a vector of floats. */
typedef double tutti_dlanes __attribute__((vector_size(4 * TUTTI_LANES)));
typedef float tutti_flanes __attribute__((vector_size(2 * TUTTI_LANES)));
typedef struct tutti_wide {
    tutti_dlanes half[2];
} tutti_wide;

/* Reads or writes the first `lanes` floats; in the main loops the compiler knows that these are
 * all. Vectors are passed by pointer, because passing them by value depends on the instruction
 * set. */
TUTTI_INLINE void tutti_load(tutti_lanes *v, const float *from, int lanes)
{
    if (lanes == TUTTI_LANES) {
        memcpy(v, from, sizeof *v);
    } else {
        memset(v, 0, sizeof *v);
        memcpy(v, from, (size_t)lanes * sizeof *from);
    }
}

TUTTI_INLINE void tutti_store(float *to, const tutti_lanes *v, int lanes)
{
    memcpy(to, v, lanes == TUTTI_LANES ? sizeof *v : (size_t)lanes * sizeof *to);
}

/* Loops over the vectors of a strip, which are in registers only if there is no loop left. */
#define TUTTI_EACH(j, count) _Pragma("GCC unroll 16") for (int j = 0; j < (count); j++)

TUTTI_INLINE void tutti_to_double(tutti_wide *wide, const tutti_lanes *v)
{
    tutti_flanes half[2];
    memcpy(half, v, sizeof half);
    TUTTI_EACH (i, 2) wide->half[i] = TUTTI_CVTPS_PD(half[i]);
}

/* Half by half: a copy of the whole struct goes through memory. */
TUTTI_INLINE void tutti_load_wide(tutti_wide *wide, const double *from)
{
    TUTTI_EACH (i, 2) memcpy(&wide->half[i], from + i * TUTTI_LANES / 2, sizeof wide->half[i]);
}

TUTTI_INLINE void tutti_store_wide(double *to, const tutti_wide *wide)
{
    TUTTI_EACH (i, 2) memcpy(to + i * TUTTI_LANES / 2, &wide->half[i], sizeof wide->half[i]);
}

TUTTI_INLINE void tutti_to_float(tutti_lanes *v, const tutti_wide *wide)
{
    tutti_flanes half[2];
    TUTTI_EACH (i, 2) half[i] = __builtin_convertvector(wide->half[i], tutti_flanes);
    memcpy(v, half, sizeof half);
}

/* tutti_load and tutti_store for a tensor's elements from the i-th on, of type F32 or BF16, which is
 * a constant where these are called: then one loop in float32 is compiled for both
 * (TUTTI_CPU_VALUES_FN). */
TUTTI_INLINE void tutti_get_lanes(
    tutti_lanes *v, tutti_dtype dtype, const void *from, int64_t i, int lanes)
{
    tutti_halves half = {0};
    if (dtype == TUTTI_F32) {
        tutti_load(v, (const float *)from + i, lanes);
        return;
    }
    const size_t bytes = lanes == TUTTI_LANES ? sizeof half : (size_t)lanes * sizeof(uint16_t);
    memcpy(&half, (const uint16_t *)from + i, bytes);
    *v = (tutti_lanes)(__builtin_convertvector(half, tutti_ulanes) << 16);
}

/* The lower halves. Without AVX-512 the compiler would take them one by one. */
TUTTI_INLINE void tutti_narrow(tutti_halves *half, const tutti_ulanes *v)
{
#if defined(__SSE2__) && !defined(__AVX512F__)
    const tutti_ilanes extended = (tutti_ilanes)(*v << 16) >> 16; /* packing saturates nothing */
    __m128i part[TUTTI_LANES / 4], packed;
    memcpy(part, &extended, sizeof part);
    packed = _mm_packs_epi32(part[0], part[TUTTI_LANES / 4 - 1]);
    memcpy(half, &packed, sizeof *half);
#else
    *half = __builtin_convertvector(*v, tutti_halves);
#endif
}

TUTTI_INLINE void tutti_put_lanes(
    tutti_dtype dtype, void *to, int64_t i, const tutti_lanes *v, int lanes)
{
    if (dtype == TUTTI_F32) {
        tutti_store((float *)to + i, v, lanes);
        return;
    }
    const tutti_ulanes bits = (tutti_ulanes)*v, rounded = TUTTI_BF16_ROUND(bits);
    tutti_halves half;
    tutti_narrow(&half, &rounded);
    const size_t bytes = lanes == TUTTI_LANES ? sizeof half : (size_t)lanes * sizeof(uint16_t);
    memcpy((uint16_t *)to + i, &half, bytes);
}

/* What tutti_get_lanes reads where tutti_put_lanes has written v. */
TUTTI_INLINE void tutti_round(tutti_dtype dtype, tutti_lanes *v)
{
    const tutti_ulanes bits = (tutti_ulanes)*v;
    if (dtype == TUTTI_BF16) *v = (tutti_lanes)(TUTTI_BF16_ROUND(bits) << 16);
}

/* Asks for the cache line of element i, which need not exist: soon it is read, or written. */
TUTTI_INLINE void tutti_ask(tutti_dtype dtype, const void *from, int64_t i, int writes)
{
    const size_t bytes = dtype == TUTTI_F32 ? sizeof(float) : sizeof(uint16_t);
    const void *line = (const void *)((uintptr_t)from + (uintptr_t)i * bytes);
    if (writes)
        __builtin_prefetch(line, 1);
    else
        __builtin_prefetch(line, 0);
}

/* v where condition is not 0, else 0. Each lane of a condition is -1 or 0, as comparisons make
 * it. */
TUTTI_INLINE void tutti_keep(tutti_lanes *v, const tutti_ilanes *condition)
{
    *v = (tutti_lanes)((tutti_ilanes)*v & *condition);
}

/* max(v, 0); NaN stays NaN. */
TUTTI_INLINE void tutti_rectify(tutti_lanes *v)
{
    tutti_ilanes keep = ~(*v <= 0.0f);
    tutti_keep(v, &keep);
}

/* min(v, limit); NaN stays NaN. */
TUTTI_INLINE void tutti_limit(tutti_lanes *v, const tutti_lanes *limit)
{
    const tutti_ilanes over = *v > *limit;
    *v = (tutti_lanes)(((tutti_ilanes)*v & ~over) | ((tutti_ilanes)*limit & over));
}

/* Between bf16 and float32 (dag/base/bf16.h). A kernel that computes in float32 on tensors of bf16
 * converts block by block, in a buffer of TUTTI_CPU_BLOCK floats. */
enum { TUTTI_CPU_BLOCK = 512 };

TUTTI_INLINE void tutti_cpu_widen(float *to, const uint16_t *from, int64_t count)
{
    tutti_lanes v;
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) {
        tutti_get_lanes(&v, TUTTI_BF16, from, i, TUTTI_LANES);
        tutti_put_lanes(TUTTI_F32, to, i, &v, TUTTI_LANES);
    }
    for (; i < count; i++) to[i] = tutti_bf16_widen(from[i]);
}

TUTTI_INLINE void tutti_cpu_narrow(uint16_t *to, const float *from, int64_t count)
{
    tutti_lanes v;
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) {
        tutti_get_lanes(&v, TUTTI_F32, from, i, TUTTI_LANES);
        tutti_put_lanes(TUTTI_BF16, to, i, &v, TUTTI_LANES);
    }
    for (; i < count; i++) to[i] = tutti_bf16_narrow(from[i]);
}

/* INVAL, logged with the names of the op and the number, unless least <= value < 2^31. */
tutti_status tutti_cpu_check(const char *op, const char *what, int64_t value, int64_t least);
/* INVAL, logged, when the product is too large to address as floats. */
tutti_status tutti_cpu_check_count(const char *op, const int64_t factor[], int factors);

/* The heads of a family's functions: those that open, run and close kernels, and those that count an
 * op's flops and bytes. */
#define TUTTI_CPU_OPEN(name) static tutti_status name##_open(const void *desc, void **args)
#define TUTTI_CPU_FN(name)                                                                         \
    static tutti_status name##_run(const void *args, void *const buf[], void *queue)
#define TUTTI_CPU_CLOSE(name) static void name##_close(void *args)
#define TUTTI_CPU_FLOPS(name) static double name##_flops(const void *desc)
#define TUTTI_CPU_BYTES(name) static double name##_bytes(const void *desc, size_t element)

/* The functions name_run and name_bf16_run of a loop over values of type `dtype`,
 *     TUTTI_INLINE void name(const void *args, void *const buf[], tutti_dtype dtype) */
#define TUTTI_CPU_VALUES_FN(name)                                                                  \
    static void name##_f32(const void *args, void *const buf[])                                    \
    {                                                                                              \
        name(args, buf, TUTTI_F32);                                                                \
    }                                                                                              \
    static void name##_bf16(const void *args, void *const buf[])                                   \
    {                                                                                              \
        name(args, buf, TUTTI_BF16);                                                               \
    }                                                                                              \
    TUTTI_CPU_FN(name)                                                                             \
    {                                                                                              \
        (void)queue;                                                                               \
        name##_f32(args, buf);                                                                     \
        return TUTTI_OK;                                                                           \
    }                                                                                              \
    TUTTI_CPU_FN(name##_bf16)                                                                      \
    {                                                                                              \
        (void)queue;                                                                               \
        name##_bf16(args, buf);                                                                    \
        return TUTTI_OK;                                                                           \
    }

/* A row for an element type of the op's first buffer on the CPU; for float32. */
#define TUTTI_CPU_ROW_OF(op, dtype, open, fn, close)                                               \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CPU, dtype, open, fn, close, NULL                                    \
    }
#define TUTTI_CPU_ROW(op, open, fn, close) TUTTI_CPU_ROW_OF(op, TUTTI_F32, open, fn, close)
/* The same for a kernel that needs only its descriptor. */
#define TUTTI_CPU_LOOP(op, open, fn) TUTTI_CPU_ROW(op, open, fn, tutti_cpu_free)
#define TUTTI_CPU_LOOP_OF(op, dtype, open, fn) TUTTI_CPU_ROW_OF(op, dtype, open, fn, tutti_cpu_free)
/* The functions name_open and name_bf16_open of a kernel whose type `open` takes:
 *     tutti_status open(const void *desc, how, tutti_dtype dtype, void **args) */
#define TUTTI_CPU_OPEN_VALUES(name, open, how)                                                     \
    TUTTI_CPU_OPEN(name)                                                                           \
    {                                                                                              \
        return open(desc, how, TUTTI_F32, args);                                                   \
    }                                                                                              \
    TUTTI_CPU_OPEN(name##_bf16)                                                                    \
    {                                                                                              \
        return open(desc, how, TUTTI_BF16, args);                                                  \
    }

/* The two rows of such an op; of a loop of TUTTI_CPU_VALUES_FN. */
#define TUTTI_CPU_ROWS(op, fn, close)                                                              \
    TUTTI_CPU_ROW_OF(op, TUTTI_F32, op##_open, fn, close),                                         \
        TUTTI_CPU_ROW_OF(op, TUTTI_BF16, op##_bf16_open, fn, close)
#define TUTTI_CPU_LOOPS(op, open, name, close)                                                     \
    TUTTI_CPU_ROW_OF(op, TUTTI_F32, open, name##_run, close),                                      \
        TUTTI_CPU_ROW_OF(op, TUTTI_BF16, open, name##_bf16_run, close)

/* The rows of each family; the last one has no op. Those of loops of our own: of each clone. */
extern const tutti_kernel tutti_kernels_conv_cpu[], tutti_kernels_dense_cpu[],
    tutti_kernels_loss_cpu[], tutti_kernels_pixel_cpu[], tutti_kernels_pool_cpu[];

#define TUTTI_CPU_CLONED(family)                                                                   \
    extern const tutti_kernel tutti_kernels_##family##_default[], tutti_kernels_##family##_avx2[], \
        tutti_kernels_##family##_avx512[]
TUTTI_CPU_CLONED(act);
TUTTI_CPU_CLONED(arith);
TUTTI_CPU_CLONED(codec);
TUTTI_CPU_CLONED(lrn);
TUTTI_CPU_CLONED(mixup);
TUTTI_CPU_CLONED(norm);
TUTTI_CPU_CLONED(optim);
TUTTI_CPU_CLONED(share);

#endif
