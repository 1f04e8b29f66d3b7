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

const tutti_op tutti_op_dense = {.name = "dense",
    .buffers = "x,w,[b]->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_dense_desc),
    .flops = dense_flops};
const tutti_op tutti_op_dense_bwd_data = {.name = "dense_bwd_data",
    .buffers = "dy,w->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_dense_desc),
    .flops = dense_flops};
const tutti_op tutti_op_dense_bwd_weights = {.name = "dense_bwd_weights",
    .buffers = "x,dy->dw,[db]",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_dense_desc),
    .flops = dense_flops};

const tutti_kernel tutti_kernels_dense_cpu[] = {
    TUTTI_CPU_ROW(dense, dense_open, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROW(dense_bwd_data, dense_bwd_data_open, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROW(dense_bwd_weights, dense_bwd_weights_open, tutti_onednn_run, tutti_onednn_close),
    {0},
};
