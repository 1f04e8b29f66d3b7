/* Not oneDNN's primitive: its gradients in bf16 are off by up to 2 % in the tests' cases (2.6.3,
 * AVX-512), and its bits depend on the processor. */
#include "dag/kernels/lrn.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>
#include <stdlib.h>

/* An opened kernel: its descriptor, and scratch for one pixel. The channels of the scratch are
 * rounded up to whole lanes, with `half` zeros before and behind them, so that a sum over a window
 * needs no cases. */
typedef struct lrn {
    tutti_lrn_desc desc;
    int64_t half;
    int quarters; /* 4 * beta, if that is a whole number up to 12; else 0 */
    float *square, *share, *first;
} lrn;

static void lrn_close(void *args)
{
    lrn *l = args;
    if (!l) return;
    free(l->square);
    free(l->share);
    free(l->first);
    free(l);
}

TUTTI_CPU_OPEN(lrn)
{
    tutti_status status = tutti_check_lrn(desc);
    if (status) return status;
    lrn *l = calloc(1, sizeof *l);
    if (!l) return tutti_fail(TUTTI_ERR_NOMEM, "lrn: no memory to open the kernel");
    l->desc = *(const tutti_lrn_desc *)desc;
    l->half = l->desc.size / 2;
    const double quarters = 4 * (double)l->desc.beta;
    if (quarters >= 1 && quarters <= 12 && quarters == floor(quarters)) l->quarters = (int)quarters;
    const size_t count = (size_t)((l->desc.C / TUTTI_LANES + 1) * TUTTI_LANES + 2 * l->half);
    l->square = calloc(count, sizeof(float));
    l->share = calloc(count, sizeof(float));
    l->first = calloc(count, sizeof(float));
    if (!l->square || !l->share || !l->first) {
        lrn_close(l);
        return tutti_fail(TUTTI_ERR_NOMEM, "lrn: no memory for a pixel of %lld channels",
            (long long)((const tutti_lrn_desc *)desc)->C);
    }
    *args = l;
    return TUTTI_OK;
}

/* v^-1/4 of normal positive numbers: a guess from the exponents, off by at most 12 %, and Newton's
 * method, of which each step squares the error, times 2.5. */
TUTTI_INLINE void root(tutti_lanes *v)
{
    enum { STEPS = 4 };
    tutti_lanes r = (tutti_lanes)(0x4f600000 - ((tutti_ilanes)*v >> 2));
    for (int i = 0; i < STEPS; i++) r = r * (1.25f - 0.25f * *v * (r * r) * (r * r));
    *v = r;
}

/* base^-beta */
TUTTI_INLINE void power(tutti_lanes *p, const lrn *l, const tutti_lanes *base)
{
    float each[TUTTI_LANES];
    tutti_lanes r = *base;
    if (!l->quarters) {
        tutti_store(each, base, TUTTI_LANES);
        for (int i = 0; i < TUTTI_LANES; i++) each[i] = powf(each[i], -l->desc.beta);
        tutti_load(p, each, TUTTI_LANES);
        return;
    }
    root(&r);
    *p = r;
    for (int i = 1; i < l->quarters; i++) *p *= r;
}

/* The sum over the window around each of the channels from c on. */
TUTTI_INLINE void sum_window(tutti_lanes *sum, const lrn *l, const float *padded, int64_t c)
{
    tutti_lanes next;
    tutti_load(sum, padded + c, TUTTI_LANES);
    for (int64_t o = 1; o < l->desc.size; o++) {
        tutti_load(&next, padded + c + o, TUTTI_LANES);
        *sum += next;
    }
}

TUTTI_INLINE int lanes_at(const lrn *l, int64_t c)
{
    return l->desc.C - c < TUTTI_LANES ? (int)(l->desc.C - c) : TUTTI_LANES;
}

TUTTI_INLINE void square_pixel(const lrn *l, const void *x, int64_t at, tutti_dtype dtype)
{
    for (int64_t c = 0; c < l->desc.C; c += TUTTI_LANES) {
        tutti_lanes v;
        tutti_get_lanes(&v, dtype, x, at + c, lanes_at(l, c));
        v *= v;
        tutti_store(l->square + l->half + c, &v, TUTTI_LANES);
    }
}

/* The base and its power of the channels from c on, from the squares. */
TUTTI_INLINE void normalise(const lrn *l, int64_t c, tutti_lanes *base, tutti_lanes *p)
{
    sum_window(base, l, l->square, c);
    *base = l->desc.k + l->desc.alpha / (float)l->desc.size * *base;
    power(p, l, base);
}

TUTTI_INLINE void lrn_forward(const void *args, void *const buf[], tutti_dtype dtype)
{
    const lrn *l = args;
    const int64_t C = l->desc.C, count = l->desc.N * l->desc.H * l->desc.W * C;
    for (int64_t at = 0; at < count; at += C) {
        square_pixel(l, buf[0], at, dtype);
        for (int64_t c = 0; c < C; c += TUTTI_LANES) {
            tutti_lanes v, base, p;
            normalise(l, c, &base, &p);
            tutti_get_lanes(&v, dtype, buf[0], at + c, lanes_at(l, c));
            v *= p;
            tutti_put_lanes(dtype, buf[1], at + c, &v, lanes_at(l, c));
        }
    }
}

/* dx[c] = dy[c] * base[c]^-beta - 2*alpha/size*beta * x[c] * sum of dy * x * base^(-beta-1) */
TUTTI_INLINE void lrn_backward(const void *args, void *const buf[], tutti_dtype dtype)
{
    const lrn *l = args;
    const int64_t C = l->desc.C, count = l->desc.N * l->desc.H * l->desc.W * C;
    const float factor = 2 * l->desc.alpha / (float)l->desc.size * l->desc.beta;
    for (int64_t at = 0; at < count; at += C) {
        tutti_lanes v, dv, base, p;
        square_pixel(l, buf[0], at, dtype);
        for (int64_t c = 0; c < C; c += TUTTI_LANES) {
            normalise(l, c, &base, &p);
            tutti_get_lanes(&v, dtype, buf[0], at + c, lanes_at(l, c));
            tutti_get_lanes(&dv, dtype, buf[1], at + c, lanes_at(l, c));
            dv *= p;
            tutti_store(l->first + c, &dv, TUTTI_LANES);
            v *= dv / base;
            tutti_store(l->share + l->half + c, &v, TUTTI_LANES);
        }
        for (int64_t c = 0; c < C; c += TUTTI_LANES) {
            sum_window(&p, l, l->share, c);
            tutti_get_lanes(&v, dtype, buf[0], at + c, lanes_at(l, c));
            tutti_load(&dv, l->first + c, TUTTI_LANES);
            dv -= factor * v * p;
            tutti_put_lanes(dtype, buf[2], at + c, &dv, lanes_at(l, c));
        }
    }
}

TUTTI_CPU_VALUES_FN(lrn_forward)
TUTTI_CPU_VALUES_FN(lrn_backward)

const tutti_kernel TUTTI_CLONE(tutti_kernels_lrn)[] = {
    TUTTI_CPU_LOOPS(lrn, lrn_open, lrn_forward, lrn_close),
    TUTTI_CPU_LOOPS(lrn_bwd, lrn_open, lrn_backward, lrn_close),
    {0},
};
