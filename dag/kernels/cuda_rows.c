#include "dag/kernels/cuda_rows.h"

extern const tutti_kernel tutti_kernels_act_cuda[], tutti_kernels_arith_cuda[];

const tutti_kernel *const tutti_kernels_cuda[] = {
    tutti_kernels_act_cuda, tutti_kernels_arith_cuda, NULL};
