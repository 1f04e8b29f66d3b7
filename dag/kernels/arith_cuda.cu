#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/arith.h"
}

namespace
{

/* y = (y +) x0 + x1 + ... INPUTS: how many, which are read before the first is needed; 0: as many as `inputs` says. */
template <typename From, typename To, int INPUTS> struct Sum {
    const From *x[INPUTS ? INPUTS : MOST_INPUTS + 1];
    To *y;
    int inputs, relu;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        constexpr int FIRST = INPUTS ? INPUTS : 1;
        Pack<From, WIDE> from[FIRST];
        float total[WIDE];
        TUTTI_UNROLL
        for (int input = 0; input < FIRST; input++) from[input] = pack_at<WIDE>(x[input], i);
        for (int j = 0; j < WIDE; j++) total[j] = get(from[0], j);
        TUTTI_UNROLL
        for (int input = 1; input < FIRST; input++)
            for (int j = 0; j < WIDE; j++) total[j] += get(from[input], j);
        for (int input = FIRST; !INPUTS && input < inputs; input++) {
            const Pack<From, WIDE> more = pack_at<WIDE>(x[input], i);
            for (int j = 0; j < WIDE; j++) total[j] += get(more, j);
        }
        for (int j = 0; relu && j < WIDE; j++) total[j] = rectified(total[j]);
        put_pack(y, i, packed<To>(total));
    }
};

template <typename From, typename To, int INPUTS>
tutti_status start_sum(const tutti_sum_desc *d, void *const buf[], void *queue)
{
    Sum<From, To, INPUTS> element = {{}, (To *)buf[d->inputs], 0, d->relu};
    if (d->into) element.x[element.inputs++] = (const From *)buf[d->inputs];
    for (int i = 0; i < d->inputs; i++) element.x[element.inputs++] = (const From *)buf[i];
    constexpr int WIDE = WIDEST<From>;
    bool packs = has_packs<WIDE>(element.y);
    for (int i = 0; i < element.inputs; i++) packs = packs && has_packs<WIDE>(element.x[i]);
    return launch_packs<WIDE>("sum", d->count, packs, element, queue);
}

template <tutti_status (*OPEN)(const void *, void **)>
tutti_status open_few(const void *desc, void **args)
{
    const tutti_status status = check_inputs("sum", ((const tutti_sum_desc *)desc)->inputs);
    return status ? status : OPEN(desc, args);
}

template <typename From, typename To>
tutti_status sum(const void *args, void *const buf[], void *queue)
{
    const tutti_sum_desc *d = (const tutti_sum_desc *)args;
    switch (d->inputs + (d->into ? 1 : 0)) {
    case 2:
        return start_sum<From, To, 2>(d, buf, queue);
    case 3:
        return start_sum<From, To, 3>(d, buf, queue);
    default:
        return start_sum<From, To, 0>(d, buf, queue);
    }
}

template <typename From, typename To> struct Convert {
    const From *x;
    To *y;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<From, WIDE> from = pack_at<WIDE>(x, i);
        float to[WIDE];
        for (int j = 0; j < WIDE; j++) to[j] = get(from, j);
        put_pack(y, i, packed<To>(to));
    }
};

struct Accumulate {
    const uint16_t *x;
    float *y;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<uint16_t, WIDE> from = pack_at<WIDE>(x, i);
        Pack<float, WIDE> to = pack_at<WIDE>(y, i);
        for (int j = 0; j < WIDE; j++) to.value[j] += get(from, j);
        put_pack(y, i, to);
    }
};

template <typename From, typename To>
Work<Convert<From, To>> convert(const void *args, void *const buf[])
{
    const From *x = (const From *)buf[0];
    To *y = (To *)buf[1];
    return {"widen, narrow", {x, y}, ((const tutti_widen_desc *)args)->count,
        has_packs<WORK_WIDE>(x, y)};
}

Work<Accumulate> accumulate(const void *args, void *const buf[])
{
    const uint16_t *x = (const uint16_t *)buf[0];
    float *y = (float *)buf[1];
    return {
        "accumulate", {x, y}, ((const tutti_widen_desc *)args)->count, has_packs<WORK_WIDE>(x, y)};
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

tutti_status open_shortcut(const void *desc, void **args)
{
    const tutti_shortcut_desc *d = (const tutti_shortcut_desc *)desc;
    void *opened = NULL;
    const tutti_status status = tutti_open_shortcut(desc, &opened);
    if (status) return status;
    if (d->N * d->H * d->W * d->K <= INT32_MAX) {
        *args = opened;
        return TUTTI_OK;
    }
    tutti_cpu_free(opened);
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "shortcut: %lld images of %lldx%lldx%lld elements on a GPU, which takes 2^31 - 1 elements",
        (long long)d->N, (long long)d->H, (long long)d->W, (long long)d->K);
}

/* Both tensors in packs of channels. front: packs of zeros before those of x. */
struct Ends {
    Places x, y;
    Divisor stride;
    int32_t front;
};

template <int WIDE> Ends ends_of(const tutti_shortcut_desc *d)
{
    const int32_t stride = (int32_t)d->stride, H = (int32_t)d->H, W = (int32_t)d->W;
    return {{Divisor(H), Divisor(W), Divisor((int32_t)d->C / WIDE)},
        {Divisor((H - 1) / stride + 1), Divisor((W - 1) / stride + 1),
            Divisor((int32_t)d->K / WIDE)},
        Divisor(stride), (int32_t)(d->K - d->C) / 2 / WIDE};
}

template <typename Value, int WIDE> struct Shortcut {
    const Value *x;
    Value *y;
    Ends at;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place to = at.y(i);
        const int32_t c = to.c - at.front, stride = at.stride.divisor;
        Pack<Value, WIDE> pack = {};
        if (c >= 0 && c < at.x.packs.divisor)
            pack = pack_at<WIDE>(x, at.x.pack(to.n, to.h * stride, to.w * stride, c));
        put_pack(y, i, pack);
    }
};

template <typename Value, int WIDE> struct ShortcutBwd {
    const Value *dy;
    Value *dx;
    Ends at;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place to = at.x(i);
        const int32_t h = at.stride.quotient(to.h), w = at.stride.quotient(to.w);
        Pack<Value, WIDE> pack = {};
        if (h * at.stride.divisor == to.h && w * at.stride.divisor == to.w)
            pack = pack_at<WIDE>(dy, at.y.pack(to.n, h, w, to.c + at.front));
        put_pack(dx, i, pack);
    }
};

template <typename Value> bool has_shortcut_packs(const tutti_shortcut_desc *d, void *const buf[])
{
    constexpr int WIDE = WIDEST<Value>;
    return d->C % WIDE == 0 && d->K % WIDE == 0 && (d->K - d->C) / 2 % WIDE == 0 &&
           has_packs<WIDE>((const Value *)buf[0], (const Value *)buf[1]);
}

template <typename Value, int WIDE>
tutti_status start_shortcut(const tutti_shortcut_desc *d, void *const buf[], void *queue)
{
    const Shortcut<Value, WIDE> element = {
        (const Value *)buf[0], (Value *)buf[1], ends_of<WIDE>(d)};
    return launch("shortcut", d->N * element.at.y.in_image(), element, queue);
}

template <typename Value> tutti_status shortcut(const void *args, void *const buf[], void *queue)
{
    const tutti_shortcut_desc *d = (const tutti_shortcut_desc *)args;
    return has_shortcut_packs<Value>(d, buf) ? start_shortcut<Value, WIDEST<Value>>(d, buf, queue)
                                             : start_shortcut<Value, 1>(d, buf, queue);
}

template <typename Value, int WIDE>
tutti_status start_shortcut_bwd(const tutti_shortcut_desc *d, void *const buf[], void *queue)
{
    const ShortcutBwd<Value, WIDE> element = {
        (const Value *)buf[0], (Value *)buf[1], ends_of<WIDE>(d)};
    return launch("shortcut_bwd", d->N * element.at.x.in_image(), element, queue);
}

template <typename Value>
tutti_status shortcut_bwd(const void *args, void *const buf[], void *queue)
{
    const tutti_shortcut_desc *d = (const tutti_shortcut_desc *)args;
    return has_shortcut_packs<Value>(d, buf)
               ? start_shortcut_bwd<Value, WIDEST<Value>>(d, buf, queue)
               : start_shortcut_bwd<Value, 1>(d, buf, queue);
}

template <typename Value> struct Put {
    const Value *x;
    Value *y; /* where the first goes */
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        put_pack(y, i, pack_at<WIDE>(x, i));
    }
};

template <typename Value> Work<Put<Value>> put_block(const void *args, void *const buf[])
{
    const tutti_put_desc *d = (const tutti_put_desc *)args;
    const Value *x = (const Value *)buf[0];
    Value *y = (Value *)buf[1] + d->first;
    return {"put", {x, y}, d->count, has_packs<WORK_WIDE>(x, y)};
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

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(arith)[] = {
    ROW(gate, TUTTI_F32, tutti_open_gate, gate),
    ROW(gate, TUTTI_BF16, tutti_open_gate, gate),
    ROWS(concat, tutti_open_concat, concat),
    ROWS(concat_bwd, tutti_open_concat, split),
    ROWS(split, tutti_open_concat, split),
    ROWS(split_bwd, tutti_open_concat, concat),
    WORK(put, TUTTI_F32, tutti_open_put, put_block<float>),
    WORK(put, TUTTI_BF16, tutti_open_put, put_block<uint16_t>),
    ROWS(take, tutti_open_take, take),
    ROWS(shortcut, open_shortcut, shortcut),
    ROWS(shortcut_bwd, open_shortcut, shortcut_bwd),
    ROW(sum, TUTTI_F32, open_few<tutti_open_sum>, sum<float, float>),
    ROW(sum, TUTTI_BF16, open_few<tutti_open_sum>, sum<uint16_t, uint16_t>),
    ROW(sum_narrow, TUTTI_F32, open_few<tutti_open_sum_narrow>, sum<float, uint16_t>),
    WORK(narrow, TUTTI_F32, tutti_open_widen, convert<float, uint16_t>),
    WORK(widen, TUTTI_BF16, tutti_open_widen, convert<uint16_t, float>),
    WORK(accumulate, TUTTI_BF16, tutti_open_widen, accumulate),
    {},
};
