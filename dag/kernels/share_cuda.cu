#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/share.h"
}

#include <math.h>

namespace
{

/* ---- Shares: one thread has all there is to do ---- */

struct ShareSet {
    double *share;
    double value;
    TUTTI_BOTH void operator()(int64_t) const
    {
        *share = value;
    }
};

tutti_status share_set(const void *args, void *const buf[], void *queue)
{
    const ShareSet element = {(double *)buf[0], ((const tutti_share_set_desc *)args)->value};
    return launch("share_set", 1, element, queue);
}

struct ShareHalve {
    double *share, *sent;
    double unit;
    TUTTI_BOTH void operator()(int64_t) const
    {
        *sent = floor(*share / (2 * unit)) * unit;
        *share -= *sent;
    }
};

tutti_status share_halve(const void *args, void *const buf[], void *queue)
{
    const ShareHalve element = {
        (double *)buf[0], (double *)buf[1], ((const tutti_share_halve_desc *)args)->unit};
    return launch("share_halve", 1, element, queue);
}

struct ShareWeigh {
    const double *received[TUTTI_SHARE_INPUTS];
    double *share, *factors;
    int inputs;
    TUTTI_BOTH void operator()(int64_t) const
    {
        double total = *share;
        for (int i = 0; i < inputs; i++) total += *received[i];
        factors[0] = *share / total;
        for (int i = 0; i < inputs; i++) factors[1 + i] = *received[i] / total;
        *share = total;
    }
};

tutti_status share_weigh(const void *args, void *const buf[], void *queue)
{
    const int inputs = ((const tutti_share_weigh_desc *)args)->inputs;
    ShareWeigh element = {{}, (double *)buf[inputs], (double *)buf[inputs + 1], inputs};
    for (int i = 0; i < inputs; i++) element.received[i] = (const double *)buf[i];
    return launch("share_weigh", 1, element, queue);
}

/* ---- Weights ---- */

struct ShareMix {
    const float *near[TUTTI_SHARE_INPUTS];
    const double *factors;
    float *w;
    int inputs;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        double total = (double)w[i] * factors[0];
        for (int k = 0; k < inputs; k++)
            if (factors[1 + k] > 0) total += (double)near[k][i] * factors[1 + k];
        w[i] = (float)total;
    }
};

tutti_status share_mix(const void *args, void *const buf[], void *queue)
{
    const tutti_share_mix_desc *d = (const tutti_share_mix_desc *)args;
    ShareMix element = {{}, (const double *)buf[d->inputs], (float *)buf[d->inputs + 1], d->inputs};
    for (int k = 0; k < d->inputs; k++) element.near[k] = (const float *)buf[k];
    return launch("share_mix", d->count, element, queue);
}

tutti_status share_scale(const void *args, void *const buf[], void *queue)
{
    const ShareMix element = {{}, (const double *)buf[0], (float *)buf[1], 0};
    return launch("share_scale", ((const tutti_share_scale_desc *)args)->count, element, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(share)[] = {
    ROW(share_set, TUTTI_F64, tutti_open_share_set, share_set),
    ROW(share_halve, TUTTI_F64, tutti_open_share_halve, share_halve),
    ROW(share_weigh, TUTTI_F64, tutti_open_share_weigh, share_weigh),
    ROW(share_mix, TUTTI_F32, tutti_open_share_mix, share_mix),
    ROW(share_scale, TUTTI_F64, tutti_open_share_scale, share_scale),
    {},
};
