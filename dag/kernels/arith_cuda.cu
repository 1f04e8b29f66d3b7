#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/arith.h"
}

namespace
{

/* y = (y +) x0 + x1 + ... */
template <typename From, typename To> struct Sum {
    const From *x[MOST_INPUTS + 1];
    To *y;
    int inputs, relu;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<From, WIDE> first = pack_at<WIDE>(x[0], i);
        float total[WIDE];
        Pack<To, WIDE> to;
        for (int j = 0; j < WIDE; j++) total[j] = get(first.value, j);
        for (int input = 1; input < inputs; input++) {
            const Pack<From, WIDE> from = pack_at<WIDE>(x[input], i);
            for (int j = 0; j < WIDE; j++) total[j] += get(from.value, j);
        }
        for (int j = 0; j < WIDE; j++) put(to.value, j, relu ? rectified(total[j]) : total[j]);
        put_pack(y, i, to);
    }
};

template <typename From, typename To>
tutti_status sum(const void *args, void *const buf[], void *queue)
{
    const tutti_sum_desc *d = (const tutti_sum_desc *)args;
    const tutti_status status = check_inputs("sum", d->inputs);
    if (status) return status;
    Sum<From, To> element = {{}, (To *)buf[d->inputs], 0, d->relu};
    if (d->into) element.x[element.inputs++] = (const From *)buf[d->inputs];
    for (int i = 0; i < d->inputs; i++) element.x[element.inputs++] = (const From *)buf[i];
    constexpr int WIDE = WIDEST<From>;
    bool packs = has_packs<WIDE>(element.y);
    for (int i = 0; i < element.inputs; i++) packs = packs && has_packs<WIDE>(element.x[i]);
    return launch_packs<WIDE>("sum", d->count, packs, element, queue);
}

template <typename From, typename To> struct Convert {
    const From *x;
    To *y;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        put(y, i, get(x, i));
    }
};

struct Accumulate {
    const uint16_t *x;
    float *y;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        y[i] += get(x, i);
    }
};

template <typename From, typename To>
tutti_status convert(const void *args, void *const buf[], void *queue)
{
    const Convert<From, To> element = {(const From *)buf[0], (To *)buf[1]};
    return launch("widen, narrow", ((const tutti_widen_desc *)args)->count, element, queue);
}

tutti_status accumulate(const void *args, void *const buf[], void *queue)
{
    const Accumulate element = {(const uint16_t *)buf[0], (float *)buf[1]};
    return launch("accumulate", ((const tutti_widen_desc *)args)->count, element, queue);
}

/* What only moves is moved as it is: `Value` is float for four bytes, uint16_t for two. */

/* Which part of a concatenation channel c of a pixel is in, and where there. */
struct Parts {
    int64_t C[TUTTI_CONCAT_PARTS], channels;
    int parts;
    TUTTI_BOTH int part_of(int64_t *c) const
    {
        int part = 0;
        while (*c >= C[part]) *c -= C[part++];
        return part;
    }
};

Parts parts_of(const tutti_concat_desc *d)
{
    Parts parts = {{}, 0, d->parts};
    for (int i = 0; i < d->parts; i++) {
        parts.C[i] = d->C[i];
        parts.channels += d->C[i];
    }
    return parts;
}

template <typename Value> struct Concat {
    Parts of;
    const Value *x[TUTTI_CONCAT_PARTS];
    Value *y;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t pixel = quotient(i, of.channels);
        int64_t c = i - pixel * of.channels;
        const int part = of.part_of(&c);
        y[i] = x[part][pixel * of.C[part] + c];
    }
};

template <typename Value> tutti_status concat(const void *args, void *const buf[], void *queue)
{
    const tutti_concat_desc *d = (const tutti_concat_desc *)args;
    Concat<Value> element = {parts_of(d), {}, (Value *)buf[d->parts]};
    for (int i = 0; i < d->parts; i++) element.x[i] = (const Value *)buf[i];
    return launch("concat", d->pixels * element.of.channels, element, queue);
}

template <typename Value> struct Split {
    Parts of;
    const Value *x;
    Value *y[TUTTI_CONCAT_PARTS];
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t pixel = quotient(i, of.channels);
        int64_t c = i - pixel * of.channels;
        const int part = of.part_of(&c);
        y[part][pixel * of.C[part] + c] = x[i];
    }
};

template <typename Value> tutti_status split(const void *args, void *const buf[], void *queue)
{
    const tutti_concat_desc *d = (const tutti_concat_desc *)args;
    Split<Value> element = {parts_of(d), (const Value *)buf[0], {}};
    for (int i = 0; i < d->parts; i++) element.y[i] = (Value *)buf[1 + i];
    return launch("split", d->pixels * element.of.channels, element, queue);
}

/* P, Q: height and width of y. front: channels of zeros before those of x. */
template <typename Value> struct Shortcut {
    const Value *x;
    Value *y;
    int64_t H, W, C, K, P, Q, stride, front;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t to = quotient(i, K), row = quotient(to, Q), n = quotient(row, P);
        const int64_t c = i - to * K - front, j = to - row * Q;
        const int64_t pixel = (n * H + (row - n * P) * stride) * W + j * stride;
        y[i] = c >= 0 && c < C ? x[pixel * C + c] : (Value)0;
    }
};

template <typename Value> tutti_status shortcut(const void *args, void *const buf[], void *queue)
{
    const tutti_shortcut_desc *d = (const tutti_shortcut_desc *)args;
    const int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    const Shortcut<Value> element = {(const Value *)buf[0], (Value *)buf[1], d->H, d->W, d->C, d->K,
        P, Q, d->stride, (d->K - d->C) / 2};
    return launch("shortcut", d->N * P * Q * d->K, element, queue);
}

template <typename Value> struct ShortcutBwd {
    const Value *dy;
    Value *dx;
    int64_t H, W, C, K, P, Q, stride, front;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t c = i % C, j = i / C % W, row = i / C / W;
        const int64_t pixel = (row / H * P + row % H / stride) * Q + j / stride;
        const bool read = row % H % stride == 0 && j % stride == 0;
        dx[i] = read ? dy[pixel * K + front + c] : (Value)0;
    }
};

template <typename Value>
tutti_status shortcut_bwd(const void *args, void *const buf[], void *queue)
{
    const tutti_shortcut_desc *d = (const tutti_shortcut_desc *)args;
    const int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    const ShortcutBwd<Value> element = {(const Value *)buf[0], (Value *)buf[1], d->H, d->W, d->C,
        d->K, P, Q, d->stride, (d->K - d->C) / 2};
    return launch("shortcut_bwd", d->N * d->H * d->W * d->C, element, queue);
}

template <typename Value> struct Put {
    const Value *x;
    Value *y; /* where the first goes */
    TUTTI_BOTH void operator()(int64_t i) const
    {
        y[i] = x[i];
    }
};

template <typename Value> tutti_status put_block(const void *args, void *const buf[], void *queue)
{
    const tutti_put_desc *d = (const tutti_put_desc *)args;
    const Put<Value> element = {(const Value *)buf[0], (Value *)buf[1] + d->first};
    return launch("put", d->count, element, queue);
}

template <typename Value> struct Take {
    const Value *x;
    Value *y;
    int64_t parts, each, row, part;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t p = i / each % parts, r = i / each / parts;
        y[i] = x[r * row + p * part + i % each];
    }
};

template <typename Value> tutti_status take(const void *args, void *const buf[], void *queue)
{
    const tutti_take_desc *d = (const tutti_take_desc *)args;
    const Take<Value> element = {
        (const Value *)buf[0] + d->first, (Value *)buf[1], d->parts, d->each, d->row, d->part};
    return launch("take", d->rows * d->parts * d->each, element, queue);
}

/* The order of tasks is all that a gate is for. */
tutti_status gate(const void *, void *const[], void *)
{
    return TUTTI_OK;
}

} // namespace

#define ROWS(op, open, run)                                                                        \
    ROW(op, TUTTI_F32, open, run<float>), ROW(op, TUTTI_BF16, open, run<uint16_t>)
#define ROW(op, dtype, open, ...)                                                                  \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, dtype, open, __VA_ARGS__, tutti_cpu_free                       \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(arith)[] = {
    ROW(gate, TUTTI_F32, tutti_open_gate, gate),
    ROW(gate, TUTTI_BF16, tutti_open_gate, gate),
    ROWS(concat, tutti_open_concat, concat),
    ROWS(concat_bwd, tutti_open_concat, split),
    ROWS(split, tutti_open_concat, split),
    ROWS(split_bwd, tutti_open_concat, concat),
    ROWS(put, tutti_open_put, put_block),
    ROWS(take, tutti_open_take, take),
    ROWS(shortcut, tutti_open_shortcut, shortcut),
    ROWS(shortcut_bwd, tutti_open_shortcut, shortcut_bwd),
    ROW(sum, TUTTI_F32, tutti_open_sum, sum<float, float>),
    ROW(sum, TUTTI_BF16, tutti_open_sum, sum<uint16_t, uint16_t>),
    ROW(sum_narrow, TUTTI_F32, tutti_open_sum_narrow, sum<float, uint16_t>),
    ROW(narrow, TUTTI_F32, tutti_open_widen, convert<float, uint16_t>),
    ROW(widen, TUTTI_BF16, tutti_open_widen, convert<uint16_t, float>),
    ROW(accumulate, TUTTI_BF16, tutti_open_widen, accumulate),
    {},
};
