#include "dag/kernels/dense.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"
#include "dag/kernels/onednn.h"

tutti_status tutti_check_dense(const tutti_dense_desc *d)
{
    const int64_t w[] = {d->K, d->C};
    tutti_status status = tutti_cpu_check("dense", "N", d->N, 1);
    if (!status) status = tutti_cpu_check("dense", "C", d->C, 1);
    if (!status) status = tutti_cpu_check("dense", "K", d->K, 1);
    return status ? status : tutti_cpu_check_count("dense", w, 2);
}

static tutti_status open_to(
    const void *desc, tutti_pass pass, tutti_dtype dtype, tutti_dtype to, void **args)
{
    const tutti_dense_desc *d = desc;
    tutti_status status = tutti_check_dense(d);
    if (!status && d->relu && pass == TUTTI_PASS_FORWARD)
        status = tutti_fail(TUTTI_ERR_UNSUPPORTED, "dense: the CPU computes a ReLU by itself");
    return status ? status : tutti_onednn_dense(desc, pass, dtype, to, args);
}

static tutti_status open_pass(const void *desc, tutti_pass pass, tutti_dtype dtype, void **args)
{
    return open_to(desc, pass, dtype, dtype, args);
}

TUTTI_CPU_OPEN_VALUES(dense, open_pass, TUTTI_PASS_FORWARD)
TUTTI_CPU_OPEN_VALUES(dense_bwd_data, open_pass, TUTTI_PASS_BACKWARD_DATA)
TUTTI_CPU_OPEN_VALUES(dense_bwd_weights, open_pass, TUTTI_PASS_BACKWARD_WEIGHTS)

TUTTI_CPU_OPEN(dense_wide)
{
    return open_to(desc, TUTTI_PASS_FORWARD, TUTTI_BF16, TUTTI_F32, args);
}

TUTTI_CPU_FLOPS(dense)
{
    const tutti_dense_desc *d = desc;
    return 2.0 * (double)d->N * (double)d->C * (double)d->K;
}

TUTTI_OP(
    dense, "x,w,[b:F32]->y", TUTTI_PART_FORWARD, sizeof(tutti_dense_desc), .flops = dense_flops);
TUTTI_OP(dense_wide, "x,w,[b:F32]->y:F32", TUTTI_PART_FORWARD, sizeof(tutti_dense_desc),
    .flops = dense_flops);
TUTTI_OP(dense_bwd_data, "dy,w->dx", TUTTI_PART_BACKWARD, sizeof(tutti_dense_desc),
    .flops = dense_flops);
TUTTI_OP(dense_bwd_weights, "x,dy->dw:F32,[db:F32]", TUTTI_PART_BACKWARD, sizeof(tutti_dense_desc),
    .flops = dense_flops);

const tutti_kernel tutti_kernels_dense_cpu[] = {
    TUTTI_CPU_ROWS(dense, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(dense_bwd_data, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(dense_bwd_weights, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROW_OF(dense_wide, TUTTI_BF16, dense_wide_open, tutti_onednn_run, tutti_onednn_close),
    {0},
};
