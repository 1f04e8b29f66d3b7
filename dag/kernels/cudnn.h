/* The cuDNN side of convolutions on GPUs: the only pair of files in which kernels name that library.
 *
 * Of its algorithms only deterministic ones are used, always the same for a pass: implicit matrix
 * products, which it has for every convolution of these tensors (N,H,W,C; weights K,R,S,C; groups).
 * They multiply float32 as it is, unless TF32 is allowed, and add in float32.
 *
 * Whoever opens a convolution gives each run memory of the device to work in, which nothing else may
 * use until the run has left its stream. An opened convolution has its own handle of the library:
 * different ones may be run at the same time, on different streams; one of them by one thread at a
 * time.
 *
 * Errors: UNSUPPORTED where the library refuses the computation or has no GPU, KERNEL when a run
 * cannot be started; logged here. Threads: open and close [M], on the GPU that is the calling
 * thread's; run [A].
 * Source: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-cnn-library.html, with
 * CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 and
 * CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1. */
#ifndef TUTTI_CUDNN_H
#define TUTTI_CUDNN_H

#include "dag/kernels/open.h"

typedef struct tutti_cudnn tutti_cudnn;

/* desc: checked by tutti_check_conv; its bias is left out. dtype: of all of the pass's tensors, F32
 * or BF16. tf32: factors of float32 may be rounded to TF32. workspace: the bytes that runs need,
 * at an address that 256 divides; it may be 0. */
tutti_status tutti_cudnn_open(const tutti_conv_desc *desc, tutti_pass pass, tutti_dtype dtype,
    int tf32, tutti_cudnn **opened, size_t *workspace);

typedef struct tutti_cudnn_call {
    const void *from[2]; /* x and w; dy and w; x and dy */
    void *to;            /* y; dx; dw */
    int adds;            /* to what is there, instead of replacing it */
    void *workspace;
    void *queue; /* the stream */
} tutti_cudnn_call;
/* Returns when it is on its stream. */
tutti_status tutti_cudnn_run(const tutti_cudnn *opened, const tutti_cudnn_call *call);

void tutti_cudnn_close(tutti_cudnn *opened); /* accepts NULL */

#endif
