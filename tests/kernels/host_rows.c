#include "tests/kernels/host_rows.h"

extern const tutti_kernel tutti_kernels_act_host[], tutti_kernels_arith_host[],
    tutti_kernels_codec_host[], tutti_kernels_conv_host[], tutti_kernels_conv_tf32_host[],
    tutti_kernels_dense_host[], tutti_kernels_dense_tf32_host[], tutti_kernels_loss_host[],
    tutti_kernels_lrn_host[], tutti_kernels_mixup_host[], tutti_kernels_norm_host[],
    tutti_kernels_optim_host[], tutti_kernels_pixel_host[], tutti_kernels_pool_host[],
    tutti_kernels_share_host[];

const tutti_kernel *const test_host_rows[] = {tutti_kernels_act_host, tutti_kernels_arith_host,
    tutti_kernels_codec_host, tutti_kernels_conv_host, tutti_kernels_dense_host,
    tutti_kernels_loss_host, tutti_kernels_lrn_host, tutti_kernels_mixup_host,
    tutti_kernels_norm_host, tutti_kernels_optim_host, tutti_kernels_pixel_host,
    tutti_kernels_pool_host, tutti_kernels_share_host, NULL};

const tutti_kernel *const test_host_tf32[] = {
    tutti_kernels_conv_tf32_host, tutti_kernels_dense_tf32_host, NULL};
