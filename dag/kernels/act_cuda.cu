#include "dag/kernels/cuda.cuh"
#include "dag/kernels/rng.cuh"

extern "C" {
#include "dag/kernels/act.h"
}

#include <math.h>

namespace
{

/* The limit as values of this type have it; 0: none. */
template <typename Value> float limit_of(const tutti_relu_desc *d)
{
    Value limit;
    put(&limit, 0, d->limit);
    return get(&limit, 0);
}

template <typename Value, bool LIMITED> struct Relu {
    const Value *x;
    Value *y;
    float limit;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<Value, WIDE> from = pack_at<WIDE>(x, i);
        float to[WIDE];
        for (int j = 0; j < WIDE; j++) {
            to[j] = rectified(get(from, j));
            if (LIMITED && to[j] > limit) to[j] = limit;
        }
        put_pack(y, i, packed<Value>(to));
    }
};

template <typename Value, bool LIMITED>
tutti_status launch_relu(const tutti_relu_desc *d, void *const buf[], void *queue)
{
    const Relu<Value, LIMITED> element = {
        (const Value *)buf[0], (Value *)buf[1], limit_of<Value>(d)};
    constexpr int WIDE = WIDEST<Value>;
    const bool packs = has_packs<WIDE>(element.x) && has_packs<WIDE>(element.y);
    return launch_packs<WIDE>("relu", d->count, packs, element, queue);
}

template <typename Value> tutti_status relu(const void *args, void *const buf[], void *queue)
{
    const tutti_relu_desc *d = (const tutti_relu_desc *)args;
    return d->limit > 0 ? launch_relu<Value, true>(d, buf, queue)
                        : launch_relu<Value, false>(d, buf, queue);
}

template <typename Value, bool LIMITED> struct ReluBwd {
    const Value *y, *dy;
    Value *dx;
    float limit;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<Value, WIDE> values = pack_at<WIDE>(y, i), slopes = pack_at<WIDE>(dy, i);
        float to[WIDE];
        for (int j = 0; j < WIDE; j++) {
            const float v = get(values, j);
            to[j] = v > 0.0f && (!LIMITED || v < limit) ? get(slopes, j) : 0.0f;
        }
        put_pack(dx, i, packed<Value>(to));
    }
};

template <typename Value, bool LIMITED>
tutti_status launch_relu_bwd(const tutti_relu_desc *d, void *const buf[], void *queue)
{
    const ReluBwd<Value, LIMITED> element = {
        (const Value *)buf[0], (const Value *)buf[1], (Value *)buf[2], limit_of<Value>(d)};
    constexpr int WIDE = WIDEST<Value>;
    const bool packs =
        has_packs<WIDE>(element.y) && has_packs<WIDE>(element.dy) && has_packs<WIDE>(element.dx);
    return launch_packs<WIDE>("relu_bwd", d->count, packs, element, queue);
}

template <typename Value> tutti_status relu_bwd(const void *args, void *const buf[], void *queue)
{
    const tutti_relu_desc *d = (const tutti_relu_desc *)args;
    return d->limit > 0 ? launch_relu_bwd<Value, true>(d, buf, queue)
                        : launch_relu_bwd<Value, false>(d, buf, queue);
}

template <typename Value> struct Dropout {
    const Value *x;
    const int64_t *step;
    Value *y;
    uint64_t seed, stream, offset, threshold;
    float scale;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const uint64_t random = drawn(seed + (uint64_t)*step, stream, offset + (uint64_t)i);
        put(y, i, random >= threshold ? get(x, i) * scale : 0.0f);
    }
};

/* Forward and backward are the same function of different tensors. */
template <typename Value> tutti_status dropout(const void *args, void *const buf[], void *queue)
{
    const tutti_dropout_desc *d = (const tutti_dropout_desc *)args;
    const Dropout<Value> element = {(const Value *)buf[0], (const int64_t *)buf[1], (Value *)buf[2],
        d->seed, d->stream, (uint64_t)d->offset,
        (uint64_t)ceil((double)d->rate * 9007199254740992.0 /* 2^53 */), 1 / (1 - d->rate)};
    return launch("dropout", d->count, element, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(act)[] = {
    ROWS(relu, tutti_open_relu, relu),
    ROWS(relu_bwd, tutti_open_relu, relu_bwd),
    ROWS(dropout, tutti_open_dropout, dropout),
    ROWS(dropout_bwd, tutti_open_dropout, dropout),
    {},
};
