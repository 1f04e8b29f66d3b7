/* Softmax and cross-entropy, in the CPU's order. A block of threads has a row: one of them adds up exponentials that all
 * have computed. The block that comes last adds up the rows' metrics. */
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/loss.h"
}

#include <math.h>

namespace
{

tutti_status open_xent(const void *desc, void **args)
{
    const tutti_xent_desc *d = (const tutti_xent_desc *)desc;
    const tutti_status status = tutti_check_xent(d);
    if (status) return status;
    if (d->N > INT32_MAX)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "softmax_xent: %lld rows on a GPU, which takes 2^31 - 1", (long long)d->N);
    return open_with("softmax_xent", d, (size_t)d->N * TUTTI_METRICS * sizeof(double), args);
}

/* A logit, and which one of its row; -1: one of them is not a number. */
struct Logit {
    float value;
    int64_t k;
};

/* The first one of the largest. */
TUTTI_BOTH inline Logit larger(const Logit &a, const Logit &b)
{
    if (a.k < 0 || b.k < 0) return a.k < 0 ? a : b;
    return b.value > a.value || (b.value == a.value && b.k < a.k) ? b : a;
}

/* A row's label, the label with which it is mixed, -1 if it is not, and how much it keeps of its own. */
struct Target {
    int64_t label, other;
    float part;
};

struct Xent {
    static constexpr int RESIDENT = 2, TILE = 1024, FEW = 16;
    struct Shared {
        double term[TILE], total, smooth, metrics[TUTTI_METRICS];
        Logit most[THREADS];
        float scale;
        int last;
    };
    const float *logits, *part; /* part NULL: rows are not mixed */
    const int32_t *labels;
    float *dlogits;         /* NULL: metrics only */
    double *metrics, *rows; /* rows: the metrics of each */
    uint32_t *counter;
    tutti_xent_desc d;
    float view; /* 1 / views */

    /* A label that is no class is found by its own row. */
    TUTTI_BOTH Target target_of(int64_t n) const
    {
        const int64_t other = part ? labels[n ^ 1] : -1;
        if (other < 0 || other >= d.K) return {labels[n], -1, 1};
        return {labels[n], other, part[n]};
    }

    /* Leaves the largest logit in most[0]. */
    TUTTI_BOTH void find_most(const Block &block, Shared &shared, const float *z) const
    {
        const int found = d.K < THREADS ? (int)d.K : THREADS;
        block.each([&](int t) {
            Logit most = {t < d.K ? z[t] : 0, t};
            for (int64_t k = t; most.k >= 0 && k < d.K; k += THREADS)
                most = z[k] == z[k] ? larger(most, {z[k], k}) : Logit{z[k], -1};
            shared.most[t] = most;
        });
        for (int few = FEW; few; few /= FEW)
            block.each([&](int t) {
                if (t >= few) return;
                for (int i = t + few; i < found && i < few * FEW; i += few)
                    shared.most[t] = larger(shared.most[t], shared.most[i]);
            });
    }

    /* Leaves the sum of the exponentials in total, and that of the logits in smooth. */
    TUTTI_BOTH void sum(const Block &block, Shared &shared, const float *z, float largest) const
    {
        for (int64_t k0 = 0; k0 < d.K; k0 += TILE) {
            const int terms = d.K - k0 < TILE ? (int)(d.K - k0) : TILE;
            block.each([&](int t) {
                for (int k = t; k < terms; k += THREADS)
                    shared.term[k] = (double)expf(view * (z[k0 + k] - largest));
            });
            block.each([&](int t) {
                if (t == 0) {
                    double total = k0 ? shared.total : 0;
                    TUTTI_UNROLL_MANY
                    for (int k = 0; k < terms; k++) total += shared.term[k];
                    shared.total = total;
                } else if (t == THREADS / 2) {
                    const int smoothed = d.smoothing > 0 ? terms : 0;
                    double smooth = k0 ? shared.smooth : 0;
                    TUTTI_UNROLL_MANY
                    for (int k = 0; k < smoothed; k++) smooth += (double)z[k0 + k];
                    shared.smooth = smooth;
                }
            });
        }
    }

    /* Of row n, by one thread. */
    TUTTI_BOTH void end_row(Shared &shared, int64_t n, const float *z, const Target &target,
        int64_t most, float largest) const
    {
        const double lse = log(shared.total), smoothing = (double)d.smoothing;
        const double own = (double)z[target.label], share = (double)target.part;
        const double wanted =
            target.other < 0 ? own : share * own + (1 - share) * (double)z[target.other];
        const int64_t right = target.other < 0 || target.part >= 0.5f ? target.label : target.other;
        double *row = rows + n * TUTTI_METRICS;
        row[0] = lse + (double)view * ((double)largest - (1 - smoothing) * wanted -
                                          smoothing * (shared.smooth / (double)d.K));
        row[1] = most == right;
        row[2] = 1;
        shared.scale = (float)((double)(view * d.weight) * exp(-lse));
    }

    TUTTI_BOTH void gradient(const Shared &shared, const float *z, const Target &target,
        float largest, float *dz, int64_t k) const
    {
        const float weight = view * d.weight, others = weight * d.smoothing / (float)d.K;
        float g = shared.scale * expf(view * (z[k] - largest)) - others;
        if (k == target.label) g -= weight * (1 - d.smoothing) * target.part;
        if (k == target.other) g -= weight * (1 - d.smoothing) * (1 - target.part);
        dz[k] = g;
    }

    /* A row that is not counted, or whose label is no class. */
    TUTTI_BOTH void leave_out(const Block &block, int64_t n, bool counts) const
    {
        block.each([&](int t) {
            if (t < TUTTI_METRICS)
                rows[n * TUTTI_METRICS + t] = t ? t == 2 && counts : counts ? NAN : 0;
            for (int64_t k = t; dlogits && k < d.K; k += THREADS)
                dlogits[n * d.K + k] = counts ? NAN : 0;
        });
    }

    TUTTI_BOTH void add_rows(const Block &block, Shared &shared) const
    {
        constexpr int ROWS = TILE / TUTTI_METRICS;
        for (int64_t n0 = 0; n0 < d.N; n0 += ROWS) {
            const int count = d.N - n0 < ROWS ? (int)(d.N - n0) : ROWS;
            block.each([&](int t) {
                for (int i = t; i < count * TUTTI_METRICS; i += THREADS)
                    shared.term[i] = latest(rows, n0 * TUTTI_METRICS + i);
            });
            block.each([&](int t) {
                if (t >= TUTTI_METRICS) return;
                double sum = n0 ? shared.metrics[t] : 0;
                TUTTI_UNROLL_MANY
                for (int n = 0; n < count; n++) sum += shared.term[n * TUTTI_METRICS + t];
                shared.metrics[t] = sum;
            });
        }
        block.each([&](int t) {
            if (t < TUTTI_METRICS) metrics[t] = shared.metrics[t];
        });
    }

    TUTTI_BOTH void operator()(const Block &block, int64_t n, Shared &shared) const
    {
        const Target target = target_of(n);
        const float *z = logits + n * d.K;
        if (target.label < 0 || target.label >= d.K)
            leave_out(block, n, target.label >= 0);
        else {
            find_most(block, shared, z);
            const int64_t most = shared.most[0].k;
            const float largest = z[most < 0 ? 0 : most];
            sum(block, shared, z, largest);
            block.each([&](int t) {
                if (!t) end_row(shared, n, z, target, most, largest);
            });
            block.each([&](int t) {
                for (int64_t k = t; dlogits && k < d.K; k += THREADS)
                    gradient(shared, z, target, largest, dlogits + n * d.K, k);
            });
        }
        block.each([&](int t) {
            if (!t) shared.last = comes_last(counter, (uint32_t)d.N);
        });
        if (shared.last) add_rows(block, shared);
    }
};

tutti_status softmax_xent(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_xent_desc> *k = (const Opened<tutti_xent_desc> *)args;
    const tutti_xent_desc *d = &k->desc;
    const int out = d->mixed ? 3 : 2;
    const Xent rows = {(const float *)buf[0], d->mixed ? (const float *)buf[2] : NULL,
        (const int32_t *)buf[1], (float *)buf[out], (double *)buf[out + 1],
        (double *)k->space->memory, k->space->counter, *d, d->views > 1 ? 1 / (float)d->views : 1};
    return launch_blocks("softmax_xent", d->N, rows, queue);
}

tutti_status xent_eval(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_xent_desc> *k = (const Opened<tutti_xent_desc> *)args;
    const tutti_xent_desc *d = &k->desc;
    const Xent rows = {(const float *)buf[0], NULL, (const int32_t *)buf[1], NULL, (double *)buf[2],
        (double *)k->space->memory, k->space->counter, *d, d->views > 1 ? 1 / (float)d->views : 1};
    return launch_blocks("xent_eval", d->N, rows, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(loss)[] = {
    ROW_WITH(softmax_xent, TUTTI_F32, open_xent, tutti_xent_desc, softmax_xent),
    ROW_WITH(xent_eval, TUTTI_F32, open_xent, tutti_xent_desc, xent_eval),
    {},
};
