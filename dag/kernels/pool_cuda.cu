/* Pooling. The argmax is the place in its window of each output's maximum, row by row. */
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/pool.h"
}

namespace
{

enum { MOST_PLACES = 256 }; /* of a window, which an argmax of a byte can name */

/* A descriptor, with the sizes of y. A GPU takes several times as long to divide in 64 bits. */
struct Pool {
    int32_t N, H, W, C, R, S, stride[2], pad[2], P, Q;
    int counts_padding;
};

inline Pool pool_of(const void *args)
{
    const tutti_pool_desc *d = (const tutti_pool_desc *)args;
    return {(int32_t)d->N, (int32_t)d->H, (int32_t)d->W, (int32_t)d->C, (int32_t)d->R,
        (int32_t)d->S, {(int32_t)d->stride[0], (int32_t)d->stride[1]},
        {(int32_t)d->pad[0], (int32_t)d->pad[1]}, (int32_t)tutti_pool_height(d),
        (int32_t)tutti_pool_width(d), d->counts_padding};
}

inline int64_t x_count(const Pool &d)
{
    return (int64_t)d.N * d.H * d.W * d.C;
}

inline int64_t y_count(const Pool &d)
{
    return (int64_t)d.N * d.P * d.Q * d.C;
}

tutti_status open_avg(const void *desc, void **args)
{
    const tutti_pool_desc *d = (const tutti_pool_desc *)desc;
    const int64_t most = INT32_MAX, axis = most / 4; /* also for an axis with its padding */
    const tutti_status status = tutti_check_pool(d);
    if (status) return status;
    const int64_t y = d->N * tutti_pool_height(d) * tutti_pool_width(d) * d->C;
    if (d->N * d->H * d->W * d->C > most || y > most || d->R > axis || d->S > axis ||
        d->stride[0] > axis || d->stride[1] > axis)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "pool: a tensor of %lld images has more than 2^31 - 1 elements, which is too much for "
            "a GPU: use a smaller batch, or micro-batches",
            (long long)d->N);
    return tutti_cpu_copy("pool", desc, sizeof(tutti_pool_desc), args);
}

tutti_status open_max(const void *desc, void **args)
{
    const tutti_pool_desc *d = (const tutti_pool_desc *)desc;
    if (d->R * d->S > MOST_PLACES)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "pool: the maximum of a window of %lld pixels on a GPU, which takes %d",
            (long long)(d->R * d->S), MOST_PLACES);
    return open_avg(desc, args);
}

/* The n, p, q, c of an element of a tensor of H x W pixels. */
struct Place {
    int32_t n, h, w, c;
};

TUTTI_BOTH inline Place place_of(int64_t i, int32_t H, int32_t W, int32_t C)
{
    const int32_t pixel = (int32_t)i / C, row = pixel / W, n = row / H;
    return {n, row - n * H, pixel - row * W, (int32_t)i - pixel * C};
}

/* The pixels of window p of an axis that exist: [first, end). */
struct Range {
    int32_t first, end;
};

TUTTI_BOTH inline Range pixels_of(
    int32_t p, int32_t in, int32_t window, int32_t stride, int32_t pad)
{
    const int32_t first = p * stride - pad, end = first + window;
    return {first < 0 ? 0 : first, end > in ? in : end};
}

/* The windows that pixel h of an axis is in. */
TUTTI_BOTH inline Range windows_of(
    int32_t h, int32_t out, int32_t window, int32_t stride, int32_t pad)
{
    const int32_t after = h + pad - window; /* the last place at which a window ends before h */
    const int32_t first = after < 0 ? 0 : after / stride + 1, end = (h + pad) / stride + 1;
    return {first, end > out ? out : end};
}

TUTTI_BOTH inline int32_t element_of(
    int32_t n, int32_t h, int32_t w, int32_t c, int32_t H, int32_t W, int32_t C)
{
    return ((n * H + h) * W + w) * C + c;
}

/* ---- Maximum ---- */

template <typename Value> struct Max {
    const Value *x;
    Value *y;
    uint8_t *argmax;
    Pool d;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = place_of(i, d.P, d.Q, d.C);
        const Range h = pixels_of(at.h, d.H, d.R, d.stride[0], d.pad[0]);
        const Range w = pixels_of(at.w, d.W, d.S, d.stride[1], d.pad[1]);
        int32_t best_h = h.first, best_w = w.first;
        float best = get(x, element_of(at.n, best_h, best_w, at.c, d.H, d.W, d.C));
        for (int32_t r = h.first; r < h.end; r++)
            for (int32_t s = w.first; s < w.end; s++) {
                const float v = get(x, element_of(at.n, r, s, at.c, d.H, d.W, d.C));
                if (!(v > best)) continue;
                best = v;
                best_h = r;
                best_w = s;
            }
        put(y, i, best);
        const int32_t r = best_h - at.h * d.stride[0] + d.pad[0];
        const int32_t s = best_w - at.w * d.stride[1] + d.pad[1];
        argmax[i] = (uint8_t)(r * d.S + s);
    }
};

template <typename Value> tutti_status pool_max(const void *args, void *const buf[], void *queue)
{
    const Pool d = pool_of(args);
    const Max<Value> element = {(const Value *)buf[0], (Value *)buf[1], (uint8_t *)buf[2], d};
    return launch("pool_max", y_count(d), element, queue);
}

/* Each pixel adds the gradients of the windows of which it is the maximum, in their order. */
template <typename Value> struct MaxBwd {
    const Value *dy;
    const uint8_t *argmax;
    Value *dx;
    Pool d;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = place_of(i, d.H, d.W, d.C);
        const Range p = windows_of(at.h, d.P, d.R, d.stride[0], d.pad[0]);
        const Range q = windows_of(at.w, d.Q, d.S, d.stride[1], d.pad[1]);
        float sum = 0;
        for (int32_t r = p.first; r < p.end; r++)
            for (int32_t s = q.first; s < q.end; s++) {
                const int32_t from = element_of(at.n, r, s, at.c, d.P, d.Q, d.C);
                const int32_t row = at.h - r * d.stride[0] + d.pad[0];
                const int32_t column = at.w - s * d.stride[1] + d.pad[1];
                if (argmax[from] == row * d.S + column) sum += get(dy, from);
            }
        put(dx, i, sum);
    }
};

template <typename Value>
tutti_status pool_max_bwd(const void *args, void *const buf[], void *queue)
{
    const Pool d = pool_of(args);
    const MaxBwd<Value> element = {
        (const Value *)buf[0], (const uint8_t *)buf[1], (Value *)buf[2], d};
    return launch("pool_max_bwd", x_count(d), element, queue);
}

/* ---- Average ---- */

/* What the sum of a window is divided by. */
TUTTI_BOTH inline float pixels_in(const Pool &d, Range h, Range w)
{
    if (d.counts_padding) return (float)(d.R * d.S);
    return (float)((h.end - h.first) * (w.end - w.first));
}

template <typename Value> struct Avg {
    const Value *x;
    Value *y;
    Pool d;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = place_of(i, d.P, d.Q, d.C);
        const Range h = pixels_of(at.h, d.H, d.R, d.stride[0], d.pad[0]);
        const Range w = pixels_of(at.w, d.W, d.S, d.stride[1], d.pad[1]);
        float sum = 0;
        for (int32_t r = h.first; r < h.end; r++)
            for (int32_t s = w.first; s < w.end; s++)
                sum += get(x, element_of(at.n, r, s, at.c, d.H, d.W, d.C));
        put(y, i, sum / pixels_in(d, h, w));
    }
};

template <typename Value> tutti_status pool_avg(const void *args, void *const buf[], void *queue)
{
    const Pool d = pool_of(args);
    const Avg<Value> element = {(const Value *)buf[0], (Value *)buf[1], d};
    return launch("pool_avg", y_count(d), element, queue);
}

template <typename Value> struct AvgBwd {
    const Value *dy;
    Value *dx;
    Pool d;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = place_of(i, d.H, d.W, d.C);
        const Range p = windows_of(at.h, d.P, d.R, d.stride[0], d.pad[0]);
        const Range q = windows_of(at.w, d.Q, d.S, d.stride[1], d.pad[1]);
        float sum = 0;
        for (int32_t r = p.first; r < p.end; r++)
            for (int32_t s = q.first; s < q.end; s++) {
                const Range h = pixels_of(r, d.H, d.R, d.stride[0], d.pad[0]);
                const Range w = pixels_of(s, d.W, d.S, d.stride[1], d.pad[1]);
                sum += get(dy, element_of(at.n, r, s, at.c, d.P, d.Q, d.C)) / pixels_in(d, h, w);
            }
        put(dx, i, sum);
    }
};

template <typename Value>
tutti_status pool_avg_bwd(const void *args, void *const buf[], void *queue)
{
    const Pool d = pool_of(args);
    const AvgBwd<Value> element = {(const Value *)buf[0], (Value *)buf[1], d};
    return launch("pool_avg_bwd", x_count(d), element, queue);
}

} // namespace

#define ROWS(op, open)                                                                             \
    {&tutti_op_##op, TUTTI_CUDA, TUTTI_F32, open, op<float>, tutti_cpu_free},                      \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, TUTTI_BF16, open, op<uint16_t>, tutti_cpu_free                 \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(pool)[] = {
    ROWS(pool_max, open_max),
    ROWS(pool_max_bwd, open_max),
    ROWS(pool_avg, open_avg),
    ROWS(pool_avg_bwd, open_avg),
    {},
};
