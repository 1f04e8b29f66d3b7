#include "dag/kernels/pool.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"
#include "dag/kernels/onednn.h"

tutti_status tutti_check_pool(const tutti_pool_desc *d)
{
    const struct {
        const char *what;
        int64_t value, least;
    } rows[] = {{"N", d->N, 1}, {"H", d->H, 1}, {"W", d->W, 1}, {"C", d->C, 1}, {"R", d->R, 1},
        {"S", d->S, 1}, {"stride", d->stride[0], 1}, {"stride", d->stride[1], 1},
        {"pad", d->pad[0], 0}, {"pad", d->pad[1], 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_status status = tutti_cpu_check("pool", rows[i].what, rows[i].value, rows[i].least);
        if (status) return status;
    }
    if (d->pad[0] >= d->R || d->pad[1] >= d->S)
        return tutti_fail(TUTTI_ERR_INVAL, "pool: a window would lie in the padding alone");
    if (d->H + 2 * d->pad[0] < d->R || d->W + 2 * d->pad[1] < d->S)
        return tutti_fail(TUTTI_ERR_INVAL, "pool: the window is larger than the padded image");
    const int64_t P = tutti_pool_height(d), Q = tutti_pool_width(d);
    if (d->counts_padding && (tutti_pool_sticks_out(d->H, d->R, d->stride[0], d->pad[0], P) ||
                                 tutti_pool_sticks_out(d->W, d->S, d->stride[1], d->pad[1], Q)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "pool: an average that counts padding has a window that sticks out behind the padding");
    const int64_t x[] = {d->N, d->H, d->W, d->C}, y[] = {d->N, P, Q, d->C};
    tutti_status status = tutti_cpu_check_count("pool", x, 4);
    return status ? status : tutti_cpu_check_count("pool", y, 4);
}

static tutti_status open_max(const void *desc, tutti_pass pass, tutti_dtype dtype, void **args)
{
    tutti_status status = tutti_check_pool(desc);
    return status ? status : tutti_onednn_pool(desc, 1, pass, dtype, args);
}

static tutti_status open_avg(const void *desc, tutti_pass pass, tutti_dtype dtype, void **args)
{
    tutti_status status = tutti_check_pool(desc);
    return status ? status : tutti_onednn_pool(desc, 0, pass, dtype, args);
}

TUTTI_CPU_OPEN_VALUES(pool_max, open_max, TUTTI_PASS_FORWARD)
TUTTI_CPU_OPEN_VALUES(pool_max_bwd, open_max, TUTTI_PASS_BACKWARD_DATA)
TUTTI_CPU_OPEN_VALUES(pool_avg, open_avg, TUTTI_PASS_FORWARD)
TUTTI_CPU_OPEN_VALUES(pool_avg_bwd, open_avg, TUTTI_PASS_BACKWARD_DATA)

size_t tutti_pool_argmax_bytes(const tutti_pool_desc *desc, tutti_dtype dtype)
{
    const tutti_dtype computed = tutti_kernel_fault(dtype) ? TUTTI_F32 : dtype;
    size_t bytes = tutti_check_pool(desc) ? 0 : tutti_onednn_pool_workspace(desc, computed);
    return bytes ? bytes : 1;
}

TUTTI_OP(pool_max, "x->y,argmax:U8", TUTTI_PART_FORWARD, sizeof(tutti_pool_desc));
TUTTI_OP(pool_max_bwd, "dy,argmax:U8->dx", TUTTI_PART_BACKWARD, sizeof(tutti_pool_desc));
TUTTI_OP(pool_avg, "x->y", TUTTI_PART_FORWARD, sizeof(tutti_pool_desc));
TUTTI_OP(pool_avg_bwd, "dy->dx", TUTTI_PART_BACKWARD, sizeof(tutti_pool_desc));

const tutti_kernel tutti_kernels_pool_cpu[] = {
    TUTTI_CPU_ROWS(pool_max, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(pool_max_bwd, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(pool_avg, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(pool_avg_bwd, tutti_onednn_run, tutti_onednn_close),
    {0},
};
