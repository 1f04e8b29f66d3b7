/* How the fake of cuDNN computes a convolution: on a stream, with the CPU's kernels. */
#ifndef TUTTI_FAKE_CUDNN_RUN_H
#define TUTTI_FAKE_CUDNN_RUN_H

#include "dag/kernels/conv.h"
#include "tests/device/fake/compute.h"

/* Of a call: what it reads, in the order of the op, and what it writes. */
enum { CUDNN_RUN_FROM0, CUDNN_RUN_FROM1, CUDNN_RUN_TO, CUDNN_RUN_TENSORS };

typedef struct cudnn_run_job {
    const char *call; /* its name in sentences */
    const tutti_op *op;
    tutti_conv_desc desc;
    tutti_dtype dtype;               /* of all three: gradients of weights, too, are rounded once */
    int tf32;                        /* rounds factors of float32 */
    double seconds;                  /* that it takes */
    void *tensor[CUDNN_RUN_TENSORS]; /* on the device */
    int relu;                        /* of y, behind its bias */
    void *bias;                      /* of y, in dtype; NULL: none */
    void *workspace;
    size_t bytes; /* of it, all of which it overwrites before it computes */
} cudnn_run_job;

/* How many runs of an engine (cudnn.c) have been started. */
int cudnn_runs(int64_t index, int64_t tile);

/* Leaves a copy of the job on the stream. */
void cudnn_run_enqueue(cudaStream_t stream, const cudnn_run_job *job);

#endif
