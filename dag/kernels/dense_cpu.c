#include "dag/kernels/dense.h"

#include "dag/kernels/cpu.h"
#include "dag/kernels/onednn.h"

static tutti_status open_pass(const void *desc, tutti_pass pass, void **args)
{
    const tutti_dense_desc *d = desc;
    const int64_t w[] = {d->K, d->C};
    tutti_status status = tutti_cpu_check("dense", "N", d->N, 1);
    if (!status) status = tutti_cpu_check("dense", "C", d->C, 1);
    if (!status) status = tutti_cpu_check("dense", "K", d->K, 1);
    if (!status) status = tutti_cpu_check_count("dense", w, 2);
    return status ? status : tutti_onednn_dense(d, pass, args);
}

TUTTI_CPU_OPEN(dense)
{
    return open_pass(desc, TUTTI_PASS_FORWARD, args);
}

TUTTI_CPU_OPEN(dense_bwd_data)
{
    return open_pass(desc, TUTTI_PASS_BACKWARD_DATA, args);
}

TUTTI_CPU_OPEN(dense_bwd_weights)
{
    return open_pass(desc, TUTTI_PASS_BACKWARD_WEIGHTS, args);
}

TUTTI_CPU_FLOPS(dense)
{
    const tutti_dense_desc *d = desc;
    return 2.0 * (double)d->N * (double)d->C * (double)d->K;
}
