#include "dag/kernels/pool.h"

#include "dag/base/log.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/cpu.h"
#include "dag/kernels/onednn.h"

static tutti_status check(const tutti_pool_desc *d)
{
    const struct {
        const char *what;
        int64_t value, least;
    } rows[] = {{"N", d->N, 1}, {"H", d->H, 1}, {"W", d->W, 1}, {"C", d->C, 1}, {"R", d->R, 1},
        {"S", d->S, 1}, {"stride", d->stride, 1}, {"pad", d->pad, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_status status = tutti_cpu_check("pool", rows[i].what, rows[i].value, rows[i].least);
        if (status) return status;
    }
    if (d->pad >= d->R || d->pad >= d->S)
        return tutti_fail(TUTTI_ERR_INVAL, "pool: a window would lie in the padding alone");
    if (d->H + 2 * d->pad < d->R || d->W + 2 * d->pad < d->S)
        return tutti_fail(TUTTI_ERR_INVAL, "pool: the window is larger than the padded image");
    const int64_t x[] = {d->N, d->H, d->W, d->C};
    const int64_t y[] = {d->N, tutti_conv_out(d->H, d->R, d->stride, d->pad),
        tutti_conv_out(d->W, d->S, d->stride, d->pad), d->C};
    tutti_status status = tutti_cpu_check_count("pool", x, 4);
    return status ? status : tutti_cpu_check_count("pool", y, 4);
}

static tutti_status open_pass(const void *desc, int maximum, tutti_pass pass, void **args)
{
    tutti_status status = check(desc);
    return status ? status : tutti_onednn_pool(desc, maximum, pass, args);
}

TUTTI_CPU_OPEN(pool_max)
{
    return open_pass(desc, 1, TUTTI_PASS_FORWARD, args);
}

TUTTI_CPU_OPEN(pool_max_bwd)
{
    return open_pass(desc, 1, TUTTI_PASS_BACKWARD_DATA, args);
}

TUTTI_CPU_OPEN(pool_avg)
{
    return open_pass(desc, 0, TUTTI_PASS_FORWARD, args);
}

TUTTI_CPU_OPEN(pool_avg_bwd)
{
    return open_pass(desc, 0, TUTTI_PASS_BACKWARD_DATA, args);
}

size_t tutti_pool_argmax_bytes(const tutti_pool_desc *desc)
{
    size_t bytes = check(desc) ? 0 : tutti_onednn_pool_workspace(desc);
    return bytes ? bytes : 1;
}

const tutti_op tutti_op_pool_max = {.name = "pool_max",
    .buffers = "x->y,argmax:U8",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_pool_desc)};
const tutti_op tutti_op_pool_max_bwd = {.name = "pool_max_bwd",
    .buffers = "dy,argmax:U8->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_pool_desc)};
const tutti_op tutti_op_pool_avg = {.name = "pool_avg",
    .buffers = "x->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_pool_desc)};
const tutti_op tutti_op_pool_avg_bwd = {.name = "pool_avg_bwd",
    .buffers = "dy->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_pool_desc)};

const tutti_kernel tutti_kernels_pool_cpu[] = {
    TUTTI_CPU_ROW(pool_max, pool_max_open, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROW(pool_max_bwd, pool_max_bwd_open, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROW(pool_avg, pool_avg_open, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROW(pool_avg_bwd, pool_avg_bwd_open, tutti_onednn_run, tutti_onednn_close),
    {0},
};
