#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/pixel.h"
}

namespace
{

template <typename Value> struct Normalise {
    const uint8_t *x;
    Value *y;
    int64_t C;
    float mean[TUTTI_PIXEL_CHANNELS], deviation[TUTTI_PIXEL_CHANNELS];
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t c = i % C;
        put(y, i, ((float)x[i] / 255.0f - mean[c]) / deviation[c]);
    }
};

template <typename Value> tutti_status normalise(const void *args, void *const buf[], void *queue)
{
    const tutti_normalise_desc *d = (const tutti_normalise_desc *)args;
    Normalise<Value> element = {(const uint8_t *)buf[0], (Value *)buf[1], d->C, {}, {}};
    memcpy(element.mean, d->mean, sizeof element.mean);
    memcpy(element.deviation, d->deviation, sizeof element.deviation);
    return launch("normalise", d->pixels * d->C, element, queue);
}

} // namespace

#define ROW(op, run)                                                                               \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, TUTTI_U8, tutti_open_normalise, run, tutti_cpu_free            \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(pixel)[] = {
    ROW(normalise, normalise<float>),
    ROW(normalise_narrow, normalise<uint16_t>),
    {},
};
