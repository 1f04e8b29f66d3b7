/* The kernels for CUDA that this build has: the rows of each family, then NULL. cuda_rows.c, or
 * cuda_none.c without CUDA. Internal to dag/kernels. */
#ifndef TUTTI_CUDA_ROWS_H
#define TUTTI_CUDA_ROWS_H

#include "dag/kernels/kernel.h"

extern const tutti_kernel *const tutti_kernels_cuda[];
/* Those of tutti_kernel_find_tf32, in the same way. */
extern const tutti_kernel *const tutti_kernels_tf32[];

#endif
