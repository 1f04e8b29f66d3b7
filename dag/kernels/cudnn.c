#include "dag/kernels/cudnn.h"

#include "dag/base/log.h"

#include <cudnn.h>
#include <stdlib.h>

struct tutti_cudnn {
    tutti_pass pass;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y; /* of the values, or of their gradients */
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    size_t workspace;
};

/* The deterministic ones: the other algorithms of both backward passes may add in any order. */
static const cudnnConvolutionFwdAlgo_t forward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
static const cudnnConvolutionBwdDataAlgo_t backward_data = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
static const cudnnConvolutionBwdFilterAlgo_t backward_weights = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

static cudnnStatus_t forward_size(const tutti_cudnn *k, size_t *bytes)
{
    return cudnnGetConvolutionForwardWorkspaceSize(
        k->handle, k->x, k->w, k->conv, k->y, forward, bytes);
}

static cudnnStatus_t forward_run(const tutti_cudnn *k, const tutti_cudnn_call *c)
{
    const float one = 1, kept = c->adds ? 1 : 0;
    return cudnnConvolutionForward(k->handle, &one, k->x, c->from[0], k->w, c->from[1], k->conv,
        forward, c->workspace, k->workspace, &kept, k->y, c->to);
}

static cudnnStatus_t data_size(const tutti_cudnn *k, size_t *bytes)
{
    return cudnnGetConvolutionBackwardDataWorkspaceSize(
        k->handle, k->w, k->y, k->conv, k->x, backward_data, bytes);
}

static cudnnStatus_t data_run(const tutti_cudnn *k, const tutti_cudnn_call *c)
{
    const float one = 1, kept = c->adds ? 1 : 0;
    return cudnnConvolutionBackwardData(k->handle, &one, k->w, c->from[1], k->y, c->from[0],
        k->conv, backward_data, c->workspace, k->workspace, &kept, k->x, c->to);
}

static cudnnStatus_t weights_size(const tutti_cudnn *k, size_t *bytes)
{
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(
        k->handle, k->x, k->y, k->conv, k->w, backward_weights, bytes);
}

static cudnnStatus_t weights_run(const tutti_cudnn *k, const tutti_cudnn_call *c)
{
    const float one = 1, kept = c->adds ? 1 : 0;
    return cudnnConvolutionBackwardFilter(k->handle, &one, k->x, c->from[0], k->y, c->from[1],
        k->conv, backward_weights, c->workspace, k->workspace, &kept, k->w, c->to);
}

/* By tutti_pass. */
static const struct {
    const char *name;
    cudnnStatus_t (*size)(const tutti_cudnn *k, size_t *bytes);
    cudnnStatus_t (*run)(const tutti_cudnn *k, const tutti_cudnn_call *c);
} passes[] = {{"conv", forward_size, forward_run}, {"conv_bwd_data", data_size, data_run},
    {"conv_bwd_weights", weights_size, weights_run}};

static cudnnStatus_t create(tutti_cudnn *k)
{
    cudnnStatus_t s = cudnnCreate(&k->handle);
    if (!s) s = cudnnCreateTensorDescriptor(&k->x);
    if (!s) s = cudnnCreateTensorDescriptor(&k->y);
    if (!s) s = cudnnCreateFilterDescriptor(&k->w);
    if (!s) s = cudnnCreateConvolutionDescriptor(&k->conv);
    return s;
}

static cudnnStatus_t describe(
    tutti_cudnn *k, const tutti_conv_desc *d, tutti_dtype dtype, cudnnMathType_t math)
{
    const cudnnDataType_t type = dtype == TUTTI_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const int groups = (int)tutti_conv_groups(d);
    const int N = (int)d->N, H = (int)d->H, W = (int)d->W, C = (int)d->C, K = (int)d->K;
    const int R = (int)d->R, S = (int)d->S;
    const int P = (int)tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]);
    const int Q = (int)tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]);
    cudnnStatus_t s = cudnnSetTensor4dDescriptor(k->x, CUDNN_TENSOR_NHWC, type, N, C, H, W);
    if (!s) s = cudnnSetTensor4dDescriptor(k->y, CUDNN_TENSOR_NHWC, type, N, K, P, Q);
    if (!s) s = cudnnSetFilter4dDescriptor(k->w, type, CUDNN_TENSOR_NHWC, K, C / groups, R, S);
    if (!s)
        s = cudnnSetConvolution2dDescriptor(k->conv, (int)d->pad[0], (int)d->pad[1],
            (int)d->stride[0], (int)d->stride[1], 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    if (!s) s = cudnnSetConvolutionGroupCount(k->conv, groups);
    if (!s) s = cudnnSetConvolutionMathType(k->conv, math);
    return s;
}

/* The library counts a tensor's elements in 32 bits. */
static tutti_status check_size(const tutti_conv_desc *d, const char *name)
{
    const int64_t most = (1ll << 31) - 1;
    const int64_t y = d->N * tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                      tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]) * d->K;
    if (d->N * d->H * d->W * d->C <= most && y <= most) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "%s: a tensor of %lld images has more than 2^31 - 1 elements, which is too much for cuDNN: "
        "use a smaller batch, or micro-batches",
        name, (long long)d->N);
}

tutti_status tutti_cudnn_open(const tutti_conv_desc *desc, tutti_pass pass, tutti_dtype dtype,
    int tf32, tutti_cudnn **opened, size_t *workspace)
{
    const char *name = passes[pass].name;
    /* DEFAULT allows TF32; TENSOR_OP takes the tensors' own type. */
    const cudnnMathType_t math = dtype == TUTTI_BF16 ? CUDNN_TENSOR_OP_MATH
                                 : tf32              ? CUDNN_DEFAULT_MATH
                                                     : CUDNN_FMA_MATH;
    tutti_status status = check_size(desc, name);
    if (status) return status;
    tutti_cudnn *k = calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", name);
    k->pass = pass;
    cudnnStatus_t s = create(k);
    if (!s) s = describe(k, desc, dtype, math);
    if (!s) s = passes[pass].size(k, &k->workspace);
    if (s) {
        tutti_cudnn_close(k);
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: cuDNN cannot open it in %s: %s", name,
            tutti_dtype_name(dtype), cudnnGetErrorString(s));
    }
    *opened = k;
    *workspace = k->workspace;
    return TUTTI_OK;
}

tutti_status tutti_cudnn_run(const tutti_cudnn *opened, const tutti_cudnn_call *call)
{
    cudnnStatus_t s = cudnnSetStream(opened->handle, (cudaStream_t)call->queue);
    if (!s) s = passes[opened->pass].run(opened, call);
    if (!s) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_KERNEL, "%s: cuDNN does not start it: %s",
        passes[opened->pass].name, cudnnGetErrorString(s));
}

void tutti_cudnn_close(tutti_cudnn *k)
{
    if (!k) return;
    if (k->conv) cudnnDestroyConvolutionDescriptor(k->conv);
    if (k->w) cudnnDestroyFilterDescriptor(k->w);
    if (k->y) cudnnDestroyTensorDescriptor(k->y);
    if (k->x) cudnnDestroyTensorDescriptor(k->x);
    if (k->handle) cudnnDestroy(k->handle);
    free(k);
}
