#include "dag/kernels/conv.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"
#include "dag/kernels/onednn.h"

tutti_status tutti_check_conv(const tutti_conv_desc *d)
{
    const struct {
        const char *what;
        int64_t value, least;
    } rows[] = {{"N", d->N, 1}, {"H", d->H, 1}, {"W", d->W, 1}, {"C", d->C, 1}, {"K", d->K, 1},
        {"R", d->R, 1}, {"S", d->S, 1}, {"stride", d->stride[0], 1}, {"stride", d->stride[1], 1},
        {"pad", d->pad[0], 0}, {"pad", d->pad[1], 0}, {"groups", tutti_conv_groups(d), 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_status status = tutti_cpu_check("conv", rows[i].what, rows[i].value, rows[i].least);
        if (status) return status;
    }
    const int64_t groups = tutti_conv_groups(d);
    if (d->C % groups || d->K % groups)
        return tutti_fail(TUTTI_ERR_INVAL,
            "conv: %lld groups divide not both %lld channels and %lld filters", (long long)groups,
            (long long)d->C, (long long)d->K);
    if (d->H + 2 * d->pad[0] < d->R || d->W + 2 * d->pad[1] < d->S)
        return tutti_fail(TUTTI_ERR_INVAL, "conv: the window is larger than the padded image");
    const int64_t x[] = {d->N, d->H, d->W, d->C}, w[] = {d->K, d->R, d->S, d->C / groups};
    const int64_t y[] = {d->N, tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]),
        tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]), d->K};
    tutti_status status = tutti_cpu_check_count("conv", x, 4);
    if (!status) status = tutti_cpu_check_count("conv", w, 4);
    if (!status) status = tutti_cpu_check_count("conv", y, 4);
    return status;
}

static tutti_status open_pass(const void *desc, tutti_pass pass, tutti_dtype dtype, void **args)
{
    const tutti_conv_desc *d = desc;
    tutti_status status = tutti_check_conv(d);
    if (!status && d->relu && pass == TUTTI_PASS_FORWARD)
        status = tutti_fail(TUTTI_ERR_UNSUPPORTED, "conv: the CPU computes a ReLU by itself");
    return status ? status : tutti_onednn_conv(desc, pass, dtype, args);
}

TUTTI_CPU_OPEN_VALUES(conv, open_pass, TUTTI_PASS_FORWARD)
TUTTI_CPU_OPEN_VALUES(conv_bwd_data, open_pass, TUTTI_PASS_BACKWARD_DATA)
TUTTI_CPU_OPEN_VALUES(conv_bwd_weights, open_pass, TUTTI_PASS_BACKWARD_WEIGHTS)

TUTTI_CPU_FLOPS(conv)
{
    const tutti_conv_desc *d = desc;
    const double P = (double)tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]);
    const double Q = (double)tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]);
    return 2.0 * (double)d->N * P * Q * (double)d->K * (double)d->R * (double)d->S *
           (double)(d->C / tutti_conv_groups(d));
}

TUTTI_OP(conv, "x,w,[b:F32]->y", TUTTI_PART_FORWARD, sizeof(tutti_conv_desc), .flops = conv_flops);
TUTTI_OP(
    conv_bwd_data, "dy,w->dx", TUTTI_PART_BACKWARD, sizeof(tutti_conv_desc), .flops = conv_flops);
TUTTI_OP(conv_bwd_weights, "x,dy->dw:F32,[db:F32]", TUTTI_PART_BACKWARD, sizeof(tutti_conv_desc),
    .flops = conv_flops);

const tutti_kernel tutti_kernels_conv_cpu[] = {
    TUTTI_CPU_ROWS(conv, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(conv_bwd_data, tutti_onednn_run, tutti_onednn_close),
    TUTTI_CPU_ROWS(conv_bwd_weights, tutti_onednn_run, tutti_onednn_close),
    {0},
};
