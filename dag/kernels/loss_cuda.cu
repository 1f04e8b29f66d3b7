/* Softmax and cross-entropy, in the CPU's order: a thread of the first launch has a row, one of the
 * second an element of the gradient, and the thread of the last adds the rows' metrics. */
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/loss.h"
}

#include <math.h>

namespace
{

/* What a row leaves to the other launches. */
struct Row {
    double loss;
    float largest, scale;
    int right, counted;
};

tutti_status open_xent(const void *desc, void **args)
{
    const tutti_xent_desc *d = (const tutti_xent_desc *)desc;
    const tutti_status status = tutti_check_xent(d);
    return status ? status : open_with("softmax_xent", d, (size_t)d->N * sizeof(Row), args);
}

/* part NULL: rows are not mixed. */
struct Xent {
    const float *logits, *part;
    const int32_t *labels;
    Row *rows;
    tutti_xent_desc d;
    float view; /* 1 / views */
};

inline Xent xent_of(const void *args, void *const buf[], const float *part)
{
    const Opened<tutti_xent_desc> *k = (const Opened<tutti_xent_desc> *)args;
    return {(const float *)buf[0], part, (const int32_t *)buf[1], (Row *)k->space->memory, k->desc,
        k->desc.views > 1 ? 1 / (float)k->desc.views : 1};
}

/* The label with which row n is mixed, and how much it keeps of its own; -1: it is not mixed. A
 * label that is no class is found by its own row. */
TUTTI_BOTH inline int32_t other_of(const Xent &x, int64_t n, float *part)
{
    *part = 1;
    if (!x.part || x.labels[n ^ 1] < 0 || x.labels[n ^ 1] >= x.d.K) return -1;
    *part = x.part[n];
    return x.labels[n ^ 1];
}

struct EachRow {
    Xent x;
    TUTTI_BOTH void operator()(int64_t n) const
    {
        const int64_t K = x.d.K;
        const int32_t label = x.labels[n];
        const float *z = x.logits + n * K;
        x.rows[n] = {};
        if (label < 0) return;
        if (label >= K) {
            x.rows[n] = {NAN, NAN, NAN, 0, 1};
            return;
        }
        int64_t best = 0;
        for (int64_t k = 0; best >= 0 && k < K; k++) {
            if (z[k] != z[k])
                best = -1;
            else if (z[k] > z[best])
                best = k;
        }
        const float largest = z[best < 0 ? 0 : best];
        double total = 0, smooth = 0;
        for (int64_t k = 0; k < K; k++) total += (double)expf(x.view * (z[k] - largest));
        for (int64_t k = 0; x.d.smoothing > 0 && k < K; k++) smooth += (double)z[k];
        float part;
        const int32_t other = other_of(x, n, &part);
        const double lse = log(total), smoothing = (double)x.d.smoothing, own = (double)z[label];
        const double wanted =
            other < 0 ? own : (double)part * own + (1 - (double)part) * (double)z[other];
        const double loss = lse + (double)x.view * ((double)largest - (1 - smoothing) * wanted -
                                                       smoothing * (smooth / (double)K));
        const float scale = (float)((double)(x.view * x.d.weight) * exp(-lse));
        x.rows[n] = {loss, largest, scale, best == (other < 0 || part >= 0.5f ? label : other), 1};
    }
};

struct Gradient {
    Xent x;
    float *dlogits;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t n = i / x.d.K, k = i % x.d.K;
        const Row row = x.rows[n];
        const float weight = x.view * x.d.weight, others = weight * x.d.smoothing / (float)x.d.K;
        float part, g = 0;
        if (row.counted) {
            const int32_t other = other_of(x, n, &part);
            g = row.scale * expf(x.view * (x.logits[i] - row.largest)) - others;
            if (k == x.labels[n]) g -= weight * (1 - x.d.smoothing) * part;
            if (k == other) g -= weight * (1 - x.d.smoothing) * (1 - part);
        }
        dlogits[i] = g;
    }
};

struct Metrics {
    Xent x;
    double *metrics;
    TUTTI_BOTH void operator()(int64_t) const
    {
        double loss = 0, right = 0, counted = 0;
        for (int64_t n = 0; n < x.d.N; n++) {
            if (!x.rows[n].counted) continue;
            loss += x.rows[n].loss;
            right += x.rows[n].right;
            counted += 1;
        }
        metrics[0] = loss;
        metrics[1] = right;
        metrics[2] = counted;
    }
};

tutti_status softmax_xent(const void *args, void *const buf[], void *queue)
{
    const int mixed = ((const Opened<tutti_xent_desc> *)args)->desc.mixed, out = mixed ? 3 : 2;
    const Xent x = xent_of(args, buf, mixed ? (const float *)buf[2] : NULL);
    const Gradient gradient = {x, (float *)buf[out]};
    const Metrics metrics = {x, (double *)buf[out + 1]};
    tutti_status status = launch("softmax_xent", x.d.N, EachRow{x}, queue);
    if (!status) status = launch("softmax_xent", x.d.N * x.d.K, gradient, queue);
    return status ? status : launch("softmax_xent", 1, metrics, queue);
}

tutti_status xent_eval(const void *args, void *const buf[], void *queue)
{
    const Xent x = xent_of(args, buf, NULL);
    const Metrics metrics = {x, (double *)buf[2]};
    const tutti_status status = launch("xent_eval", x.d.N, EachRow{x}, queue);
    return status ? status : launch("xent_eval", 1, metrics, queue);
}

} // namespace

#define ROW(op)                                                                                    \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, TUTTI_F32, open_xent, op, close_with<tutti_xent_desc>          \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(loss)[] = {
    ROW(softmax_xent),
    ROW(xent_eval),
    {},
};
