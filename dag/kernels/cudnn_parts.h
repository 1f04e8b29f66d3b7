/* The inside of an opened convolution: the library's descriptors, of which an engine is chosen and run. Internal to
 * dag/kernels/cudnn*. */
#ifndef TUTTI_CUDNN_PARTS_H
#define TUTTI_CUDNN_PARTS_H

#include <cudnn.h>
#include <stddef.h>
#include <stdint.h>

typedef cudnnBackendDescriptor_t tutti_cudnn_part;

/* In the order in which they are made. What is made of others may refer to them. */
enum {
    TUTTI_CUDNN_X,
    TUTTI_CUDNN_W,
    TUTTI_CUDNN_Y,
    TUTTI_CUDNN_CONV,
    TUTTI_CUDNN_PRODUCTS, /* with a bias: what the convolution leaves, nowhere; the bias; how it is added */
    TUTTI_CUDNN_BIAS,
    TUTTI_CUDNN_ADD,
    TUTTI_CUDNN_SUMS, /* with a ReLU: what that leaves, nowhere; and the ReLU */
    TUTTI_CUDNN_RELU,
    TUTTI_CUDNN_ADDITION,
    TUTTI_CUDNN_RECTIFICATION,
    TUTTI_CUDNN_OPERATION,
    TUTTI_CUDNN_GRAPH,
    TUTTI_CUDNN_ENGINE,
    TUTTI_CUDNN_CONFIG,
    TUTTI_CUDNN_PLAN,
    TUTTI_CUDNN_PARTS
};

/* Of a call: what it reads, what it writes, and a bias, if there is one. The library knows tensors by these numbers. */
enum {
    TUTTI_CUDNN_FROM0 = 1,
    TUTTI_CUDNN_FROM1,
    TUTTI_CUDNN_TO,
    TUTTI_CUDNN_FROM_BIAS,
    TUTTI_CUDNN_NOWHERE,
    TUTTI_CUDNN_NOWHERE_ELSE
};
enum { TUTTI_CUDNN_TENSORS = TUTTI_CUDNN_FROM_BIAS };

struct tutti_cudnn {
    const char *name;
    cudnnHandle_t handle;
    tutti_cudnn_part parts[TUTTI_CUDNN_PARTS];
    int exact;   /* factors of float32 are multiplied as they are */
    int tensors; /* of a call */
    size_t bytes[TUTTI_CUDNN_TENSORS];
    int64_t workspace, most; /* bytes; engines that need more are not taken */
    int too_large;           /* there was one */
    cudnnStatus_t status;    /* of the first call that failed: the others are left out */
};
typedef struct tutti_cudnn tutti_cudnn;

tutti_cudnn_part tutti_cudnn_make(tutti_cudnn *k, cudnnBackendDescriptorType_t type);
void tutti_cudnn_set(tutti_cudnn *k, tutti_cudnn_part of, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *values);
void tutti_cudnn_finish(tutti_cudnn *k, tutti_cudnn_part made);
void tutti_cudnn_destroy(tutti_cudnn_part made); /* accepts NULL */

/* Leaves a run of the plan on a stream. */
cudnnStatus_t tutti_cudnn_start(const tutti_cudnn *k,
    const void *const tensors[TUTTI_CUDNN_TENSORS], void *workspace, cudaStream_t stream);

#endif
