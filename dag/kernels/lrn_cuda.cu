#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/lrn.h"
}

#include <math.h>

namespace
{

/* What an opened kernel computes with. */
struct Lrn {
    tutti_lrn_desc d;
    int quarters; /* 4 * beta, if that is a whole number up to 12; else 0 */
};

tutti_status open_lrn(const void *desc, void **args)
{
    const tutti_status status = tutti_check_lrn((const tutti_lrn_desc *)desc);
    if (status) return status;
    Lrn *l = (Lrn *)malloc(sizeof *l);
    if (!l) return tutti_fail(TUTTI_ERR_NOMEM, "lrn: no memory to open the kernel");
    l->d = *(const tutti_lrn_desc *)desc;
    const double quarters = 4 * (double)l->d.beta;
    const int whole = quarters >= 1 && quarters <= 12 && quarters == floor(quarters);
    l->quarters = whole ? (int)quarters : 0;
    *args = l;
    return TUTTI_OK;
}

/* v^-1/4 by Newton's method, as on the CPU. */
TUTTI_BOTH inline float root(float v)
{
    int32_t bits;
    float r;
    memcpy(&bits, &v, sizeof bits);
    bits = 0x4f600000 - (bits >> 2);
    memcpy(&r, &bits, sizeof r);
    for (int i = 0; i < 4; i++) r = r * (1.25f - 0.25f * v * (r * r) * (r * r));
    return r;
}

/* base^-beta */
TUTTI_BOTH inline float power(const Lrn &l, float base)
{
    if (!l.quarters) return powf(base, -l.d.beta);
    const float r = root(base);
    float p = r;
    for (int i = 1; i < l.quarters; i++) p *= r;
    return p;
}

/* k + alpha/size * s of channel c of the pixel whose channels begin at `at`. A channel that does not
 * exist counts as 0, as on the CPU. */
template <typename Value>
TUTTI_BOTH inline float base_of(const Lrn &l, const Value *x, int64_t at, int64_t c)
{
    float sum = 0;
    for (int64_t o = c - l.d.size / 2; o <= c + l.d.size / 2; o++) {
        const float v = o < 0 || o >= l.d.C ? 0.0f : get(x, at + o);
        sum += v * v;
    }
    return l.d.k + l.d.alpha / (float)l.d.size * sum;
}

template <typename Value> struct Forward {
    const Value *x;
    Value *y;
    Lrn l;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t c = i % l.d.C;
        put(y, i, get(x, i) * power(l, base_of(l, x, i - c, c)));
    }
};

inline int64_t count_of(const Lrn *l)
{
    return l->d.N * l->d.H * l->d.W * l->d.C;
}

template <typename Value> tutti_status lrn(const void *args, void *const buf[], void *queue)
{
    const Lrn *l = (const Lrn *)args;
    const Forward<Value> element = {(const Value *)buf[0], (Value *)buf[1], *l};
    return launch("lrn", count_of(l), element, queue);
}

template <typename Value> struct Backward {
    const Value *x, *dy;
    Value *dx;
    Lrn l;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t c = i % l.d.C, at = i - c;
        const float factor = 2 * l.d.alpha / (float)l.d.size * l.d.beta;
        float sum = 0, own = 0;
        for (int64_t o = c - l.d.size / 2; o <= c + l.d.size / 2; o++) {
            float share = 0;
            if (o >= 0 && o < l.d.C) {
                const float base = base_of(l, x, at, o), first = get(dy, at + o) * power(l, base);
                share = get(x, at + o) * (first / base);
                if (o == c) own = first;
            }
            sum += share;
        }
        put(dx, i, own - factor * get(x, i) * sum);
    }
};

template <typename Value> tutti_status lrn_bwd(const void *args, void *const buf[], void *queue)
{
    const Lrn *l = (const Lrn *)args;
    const Backward<Value> element = {
        (const Value *)buf[0], (const Value *)buf[1], (Value *)buf[2], *l};
    return launch("lrn_bwd", count_of(l), element, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(lrn)[] = {
    ROWS(lrn, open_lrn, lrn),
    ROWS(lrn_bwd, open_lrn, lrn_bwd),
    {},
};
