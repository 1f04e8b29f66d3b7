#include "dag/kernels/optim.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

TUTTI_CPU_OPEN(sgd)
{
    const tutti_sgd_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "sgd: the tensor is empty");
    if (!(d->momentum >= 0 && d->momentum < 1))
        return tutti_fail(
            TUTTI_ERR_INVAL, "sgd: the momentum is %g, not in [0, 1)", (double)d->momentum);
    if (!(d->weight_decay >= 0))
        return tutti_fail(
            TUTTI_ERR_INVAL, "sgd: the weight decay is %g, below 0", (double)d->weight_decay);
    if (d->nesterov && d->momentum <= 0)
        return tutti_fail(TUTTI_ERR_INVAL, "sgd: Nesterov's momentum needs a momentum above 0");
    return tutti_cpu_copy("sgd", d, sizeof *d, args);
}

TUTTI_INLINE void sgd_lanes(
    const tutti_sgd_desc *d, float rate, const float *g, float *w, float *v, int lanes)
{
    tutti_lanes gradient, weight, step;
    tutti_load(&gradient, g, lanes);
    tutti_load(&weight, w, lanes);
    gradient += weight * d->weight_decay;
    step = gradient;
    if (d->momentum > 0) {
        tutti_lanes velocity;
        tutti_load(&velocity, v, lanes);
        velocity = velocity * d->momentum + gradient;
        tutti_store(v, &velocity, lanes);
        step = d->nesterov ? gradient + velocity * d->momentum : velocity;
    }
    weight -= step * rate;
    tutti_store(w, &weight, lanes);
}

TUTTI_CLONES static void sgd(
    const tutti_sgd_desc *d, float rate, const float *g, float *w, float *v)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= d->count; i += TUTTI_LANES)
        sgd_lanes(d, rate, g + i, w + i, v + i, TUTTI_LANES);
    if (i < d->count) sgd_lanes(d, rate, g + i, w + i, v + i, (int)(d->count - i));
}

TUTTI_CPU_FN(sgd)
{
    const float *rate = buf[1];
    (void)queue;
    sgd(args, *rate, buf[0], buf[2], buf[3]);
    return TUTTI_OK;
}

/* The same with gradients in bf16, which are widened block by block. */
TUTTI_CPU_FN(sgd_bf16)
{
    const tutti_sgd_desc *d = args;
    const uint16_t *g = buf[0];
    const float *rate = buf[1];
    float *w = buf[2], *v = buf[3], wide[TUTTI_CPU_BLOCK];
    (void)queue;
    for (int64_t i = 0; i < d->count; i += TUTTI_CPU_BLOCK) {
        tutti_sgd_desc part = *d;
        part.count = d->count - i < TUTTI_CPU_BLOCK ? d->count - i : TUTTI_CPU_BLOCK;
        tutti_cpu_widen(wide, g + i, part.count);
        sgd(&part, *rate, wide, w + i, v + i);
    }
    return TUTTI_OK;
}

/* Without momentum, v is left alone. */
TUTTI_CPU_BYTES(sgd)
{
    const tutti_sgd_desc *d = desc;
    double weights = (d->momentum > 0 ? 4 : 2) * (double)d->count * sizeof(float);
    return (double)d->count * (double)element + weights + sizeof(float);
}

const tutti_op tutti_op_sgd = {.name = "sgd",
    .buffers = "g,rate:F32->w:F32(rw),v:F32(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_sgd_desc),
    .bytes = sgd_bytes};

const tutti_kernel tutti_kernels_optim_cpu[] = {
    TUTTI_CPU_LOOP(sgd, sgd_open, sgd_run),
    TUTTI_CPU_LOOP_OF(sgd, TUTTI_BF16, sgd_open, sgd_bf16_run),
    {0},
};
