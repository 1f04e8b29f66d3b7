/* The cuBLAS side of dense layers and convolutions on GPUs: the only pair of files that names that library.
 *
 * Its results are the same run after run, on GPUs of one kind, as long as each handle has its own
 * workspace and atomics are off: so it is here. It multiplies float32 as it is, unless TF32 is
 * allowed, and adds in float32.
 *
 * The caller that opens a product gives each run TUTTI_CUBLAS_WORKSPACE bytes of the device to work in,
 * which nothing else may use until the run has left its stream. Products that share a workspace share a
 * handle of the library, and are run one after the other, by one thread at a time; others may be run at
 * the same time, on different streams.
 *
 * Errors: UNSUPPORTED where the library cannot start, KERNEL when a run cannot be started; logged
 * here. Threads: open and close [M], on the GPU that is the calling thread's; run [A].
 * Source: https://docs.nvidia.com/cuda/cublas, "Results reproducibility", cublasSetWorkspace. */
#ifndef TUTTI_CUBLAS_H
#define TUTTI_CUBLAS_H

#include "dag/kernels/product.h"
#include "dag/kernels/workspace.h"

typedef struct tutti_cublas tutti_cublas;
/* workspace: what has the handle; it stays joined until close. */
tutti_status tutti_cublas_open(
    const tutti_product *product, tutti_workspace *workspace, tutti_cublas **opened);
/* What of `also` runs compute; the rest is left to the caller. [P] */
unsigned tutti_cublas_also(const tutti_cublas *opened);

/* Returns when it is on its stream, `queue`. */
tutti_status tutti_cublas_run(
    const tutti_cublas *opened, const tutti_cublas_call *call, void *queue);
void tutti_cublas_close(tutti_cublas *opened); /* accepts NULL */

#endif
