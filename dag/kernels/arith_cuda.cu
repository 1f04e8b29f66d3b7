#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/arith.h"
}

namespace
{

/* y = (y +) x0 + x1 + ..., up to MOST inputs: what fits into a kernel's parameters. */
enum { MOST = 256 };

template <typename From, typename To> struct Sum {
    const From *x[MOST];
    To *y;
    int inputs, relu;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        float total = get(x[0], i);
        for (int input = 1; input < inputs; input++) total += get(x[input], i);
        put(y, i, relu ? rectified(total) : total);
    }
};

template <typename From, typename To>
tutti_status sum(const void *args, void *const buf[], void *queue)
{
    const tutti_sum_desc *d = (const tutti_sum_desc *)args;
    Sum<From, To> element = {{}, (To *)buf[d->inputs], 0, d->relu};
    if (d->into) element.x[element.inputs++] = (const From *)buf[d->inputs];
    if (d->inputs > MOST - element.inputs)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "sum: %d inputs on a GPU, which takes %d",
            d->inputs, MOST - element.inputs);
    for (int i = 0; i < d->inputs; i++) element.x[element.inputs++] = (const From *)buf[i];
    return launch("sum", d->count, element, queue);
}

template <typename From, typename To> struct Convert {
    const From *x;
    To *y;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        put(y, i, get(x, i));
    }
};

template <typename From, typename To>
tutti_status convert(const void *args, void *const buf[], void *queue)
{
    const Convert<From, To> element = {(const From *)buf[0], (To *)buf[1]};
    return launch("widen, narrow", ((const tutti_widen_desc *)args)->count, element, queue);
}

} // namespace

#define ROW(op, dtype, open, ...)                                                                  \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, dtype, open, __VA_ARGS__, tutti_cpu_free                       \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(arith)[] = {
    ROW(sum, TUTTI_F32, tutti_open_sum, sum<float, float>),
    ROW(sum, TUTTI_BF16, tutti_open_sum, sum<uint16_t, uint16_t>),
    ROW(sum_narrow, TUTTI_F32, tutti_open_sum_narrow, sum<float, uint16_t>),
    ROW(narrow, TUTTI_F32, tutti_open_widen, convert<float, uint16_t>),
    ROW(widen, TUTTI_BF16, tutti_open_widen, convert<uint16_t, float>),
    {},
};
