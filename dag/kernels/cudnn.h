/* The cuDNN side of convolutions on GPUs: the only files (cudnn*.[hc]) in which kernels name that library.
 *
 * A convolution is a graph of one operation, for which the library's heuristics offer engines, best
 * first. The first one is taken that is deterministic, keeps the precision, compiles nothing when it is
 * opened, and needs a workspace of at most 256 MiB beside what the tensors take (which it may copy to
 * another layout), or a larger one where no engine does with that: on GPUs of one kind, one version of
 * the library takes the same engine every time. With a table of engines (engines.h) it is the one that
 * the table has, or else the fastest of the first of these, as measured here, on this GPU. Engines multiply
 * float32 as it is, unless TF32 is allowed, and add in float32.
 *
 * The caller that opens a convolution gives each run memory of the device to work in, which nothing else may
 * use until the run has left its stream. Convolutions that share a workspace share a handle of the
 * library, and are run one after the other, by one thread at a time; others may be run at the same time,
 * on different streams. All memory of a call is at addresses that 16 divides.
 *
 * Errors: UNSUPPORTED where the library refuses the computation or has no GPU, KERNEL when a run
 * cannot be started; logged here. Threads: open and close [M], on the GPU that is the calling
 * thread's; run [A].
 * Source: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-graph-library.html */
#ifndef TUTTI_CUDNN_H
#define TUTTI_CUDNN_H

#include "dag/kernels/open.h"
#include "dag/kernels/workspace.h"

typedef struct tutti_cudnn tutti_cudnn;

/* Tensors are N,H,W,C; weights K,R,S,C/groups. */
typedef struct tutti_cudnn_conv {
    /* Checked by tutti_check_conv. With a bias, and the ReLU behind it, y is rounded once; forward alone, and no ReLU
     * without a bias. Where no engine adds a bias it is left to the caller, as the ReLU is: tutti_cudnn_adds_bias. */
    tutti_conv_desc desc;
    tutti_pass pass;
    tutti_dtype dtype; /* of all tensors: F32 or BF16 */
    int tf32;          /* factors of float32 may be rounded to TF32 */
} tutti_cudnn_conv;

/* shared: what has the handle; it stays joined until close. workspace: the bytes that runs need, at an address that 256
 * divides; it may be 0. UNSUPPORTED, too, if the table's engine cannot be opened here. */
tutti_status tutti_cudnn_open(
    const tutti_cudnn_conv *conv, tutti_workspace *shared, tutti_cudnn **opened, size_t *workspace);

int tutti_cudnn_adds_bias(const tutti_cudnn *opened); /* [P] */

typedef struct tutti_cudnn_call {
    const void *from[2]; /* x and w; dy and w; x and dy */
    void *to;            /* y; dx; dw */
    const void *bias;    /* K; NULL without one */
    void *workspace;
    void *queue; /* the stream */
} tutti_cudnn_call;
/* Returns when it is on its stream. */
tutti_status tutti_cudnn_run(const tutti_cudnn *opened, const tutti_cudnn_call *call);

void tutti_cudnn_close(tutti_cudnn *opened); /* accepts NULL */

#endif
