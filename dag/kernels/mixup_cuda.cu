#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/mixup.h"
}

namespace
{

template <typename Value> struct Mixup {
    const Value *x;
    const float *part;
    Value *y;
    int64_t each;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t n = i / each, partner = (n ^ 1) * each + i % each;
        put(y, i, part[n] * get(x, i) + (1 - part[n]) * get(x, partner));
    }
};

template <typename Value> tutti_status mixup(const void *args, void *const buf[], void *queue)
{
    const tutti_mixup_desc *d = (const tutti_mixup_desc *)args;
    const Mixup<Value> element = {
        (const Value *)buf[0], (const float *)buf[1], (Value *)buf[2], d->each};
    return launch("mixup", d->N * d->each, element, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(mixup)[] = {
    {&tutti_op_mixup, TUTTI_CUDA, TUTTI_F32, tutti_open_mixup, mixup<float>, tutti_cpu_free},
    {&tutti_op_mixup, TUTTI_CUDA, TUTTI_BF16, tutti_open_mixup, mixup<uint16_t>, tutti_cpu_free},
    {},
};
