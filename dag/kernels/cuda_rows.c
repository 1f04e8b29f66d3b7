#include "dag/kernels/cuda_rows.h"

extern const tutti_kernel tutti_kernels_act_cuda[], tutti_kernels_arith_cuda[],
    tutti_kernels_codec_cuda[], tutti_kernels_conv_cuda[], tutti_kernels_conv_tf32_cuda[],
    tutti_kernels_dense_cuda[], tutti_kernels_dense_tf32_cuda[], tutti_kernels_loss_cuda[],
    tutti_kernels_lrn_cuda[], tutti_kernels_mixup_cuda[], tutti_kernels_norm_cuda[],
    tutti_kernels_optim_cuda[], tutti_kernels_pixel_cuda[], tutti_kernels_pool_cuda[],
    tutti_kernels_share_cuda[];

const tutti_kernel *const tutti_kernels_cuda[] = {tutti_kernels_act_cuda, tutti_kernels_arith_cuda,
    tutti_kernels_codec_cuda, tutti_kernels_conv_cuda, tutti_kernels_dense_cuda,
    tutti_kernels_loss_cuda, tutti_kernels_lrn_cuda, tutti_kernels_mixup_cuda,
    tutti_kernels_norm_cuda, tutti_kernels_optim_cuda, tutti_kernels_pixel_cuda,
    tutti_kernels_pool_cuda, tutti_kernels_share_cuda, NULL};

const tutti_kernel *const tutti_kernels_tf32[] = {
    tutti_kernels_conv_tf32_cuda, tutti_kernels_dense_tf32_cuda, NULL};
