/* The kernels for CUDA as functions for the processor: the rows of each family, then NULL.
 * host_rows.c; host_none.c where there is no C++ compiler. */
#ifndef TUTTI_HOST_ROWS_H
#define TUTTI_HOST_ROWS_H

#include "dag/kernels/kernel.h"

extern const tutti_kernel *const test_host_rows[];
/* Those that may round to TF32 (tutti_kernel_find_tf32). */
extern const tutti_kernel *const test_host_tf32[];

#endif
