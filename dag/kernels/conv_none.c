/* Without cuDNN there is no convolution for CUDA. */
#include "dag/kernels/kernel.h"

extern const tutti_kernel tutti_kernels_conv_cuda[], tutti_kernels_conv_tf32_cuda[];

const tutti_kernel tutti_kernels_conv_cuda[] = {{0}}, tutti_kernels_conv_tf32_cuda[] = {{0}};
