/* cuDNN: convolutions, as Tutti calls them. It refuses what the library refuses; what that would do
 * without a word, and what is wrong with it, ends the process: an algorithm that is not
 * deterministic, a call on the default stream, an address that the library's kernels cannot read as
 * they like. A call fills its workspace before it computes. */
#include "dag/kernels/conv.h"
#include "tests/device/fake/compute.h"

#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

struct cudnnContext {
    cudaStream_t stream;
};

struct cudnnTensorStruct {
    cudnnTensorFormat_t format;
    cudnnDataType_t type;
    int n, c, h, w;
};

struct cudnnFilterStruct {
    cudnnTensorFormat_t format;
    cudnnDataType_t type;
    int k, c, r, s;
};

struct cudnnConvolutionStruct {
    int pad[2], stride[2], groups;
    cudnnMathType_t math;
};

/* ---- Handles and descriptors ---- */

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    static const struct {
        cudnnStatus_t status;
        const char *text;
    } rows[] = {{CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
        {CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
        {CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER"},
        {CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
        {CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"},
        {CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status) return rows[i].text;
    return "CUDNN_STATUS_BAD_PARAM";
}

#define CREATE(function, type)                                                                     \
    cudnnStatus_t function(type *object)                                                           \
    {                                                                                              \
        *object = calloc(1, sizeof **object);                                                      \
        return *object ? CUDNN_STATUS_SUCCESS                                                      \
                       : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;                       \
    }
#define DESTROY(function, type)                                                                    \
    cudnnStatus_t function(type object)                                                            \
    {                                                                                              \
        free(object);                                                                              \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }

CREATE(cudnnCreate, cudnnHandle_t)
DESTROY(cudnnDestroy, cudnnHandle_t)
CREATE(cudnnCreateTensorDescriptor, cudnnTensorDescriptor_t)
DESTROY(cudnnDestroyTensorDescriptor, cudnnTensorDescriptor_t)
CREATE(cudnnCreateFilterDescriptor, cudnnFilterDescriptor_t)
DESTROY(cudnnDestroyFilterDescriptor, cudnnFilterDescriptor_t)
CREATE(cudnnCreateConvolutionDescriptor, cudnnConvolutionDescriptor_t)
DESTROY(cudnnDestroyConvolutionDescriptor, cudnnConvolutionDescriptor_t)

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
    cudnnDataType_t type, int n, int c, int h, int w)
{
    if (!tensor) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (n < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
    if ((double)n * c * h * w >= 0x1p31) return CUDNN_STATUS_NOT_SUPPORTED;
    *tensor = (struct cudnnTensorStruct){format, type, n, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
    cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    if (!filter) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (k < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
    *filter = (struct cudnnFilterStruct){format, type, k, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv, int pad_h,
    int pad_w, int u, int v, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
    cudnnDataType_t compute)
{
    if (!conv) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (pad_h < 0 || pad_w < 0 || u < 1 || v < 1) return CUDNN_STATUS_BAD_PARAM;
    if (dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION ||
        compute != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *conv = (struct cudnnConvolutionStruct){{pad_h, pad_w}, {u, v}, 1, CUDNN_DEFAULT_MATH};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv, int groups)
{
    if (!conv) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (groups < 1) return CUDNN_STATUS_BAD_PARAM;
    conv->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv, cudnnMathType_t math)
{
    if (!conv) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    conv->math = math;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- A convolution ---- */

/* One of the passes: the op; what is read and written, in the op's order. */
typedef struct pass {
    const char *call;
    const tutti_op *op;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    int deterministic;
    const void *from[2];
    void *to;
    const void *alpha, *beta;
    void *workspace;
    size_t bytes;
} pass;

enum { FROM0, FROM1, TO, ROLES };

typedef struct job {
    const char *call;
    const tutti_op *op;
    tutti_conv_desc desc;
    tutti_dtype dtype;
    int tf32, adds;
    size_t count[ROLES];
    void *buf[ROLES], *workspace; /* inside */
    size_t bytes;
} job;

static cudnnStatus_t describe(const pass *p, tutti_conv_desc *d)
{
    if (!p->handle || !p->x || !p->y || !p->w || !p->conv)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct cudnnTensorStruct *x = p->x, *y = p->y;
    const struct cudnnFilterStruct *w = p->w;
    const struct cudnnConvolutionStruct *c = p->conv;
    *d = (tutti_conv_desc){.N = x->n,
        .H = x->h,
        .W = x->w,
        .C = x->c,
        .K = w->k,
        .R = w->r,
        .S = w->s,
        .stride = {c->stride[0], c->stride[1]},
        .pad = {c->pad[0], c->pad[1]},
        .groups = c->groups};
    if (!x->n || !y->n || !w->k || !c->groups) return CUDNN_STATUS_BAD_PARAM;
    if (x->type != y->type || x->type != w->type ||
        (x->type != CUDNN_DATA_FLOAT && x->type != CUDNN_DATA_BFLOAT16))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (x->format != CUDNN_TENSOR_NHWC || y->format != CUDNN_TENSOR_NHWC ||
        w->format != CUDNN_TENSOR_NHWC)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (w->c * c->groups != x->c || w->k % c->groups || y->n != x->n || y->c != w->k ||
        y->h != tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) ||
        y->w != tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]))
        return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    return CUDNN_STATUS_SUCCESS;
}

/* Indices of an implicit product. */
static cudnnStatus_t measure(const pass *p, size_t *bytes)
{
    tutti_conv_desc d;
    const cudnnStatus_t status = describe(p, &d);
    if (!status) *bytes = 1000 + (size_t)(d.R * d.S * d.C) * sizeof(int32_t);
    return status;
}

static void count_elements(job *j)
{
    const tutti_conv_desc *d = &j->desc;
    const size_t y = (size_t)(d->N * tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                              tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]) * d->K);
    const size_t x = (size_t)(d->N * d->H * d->W * d->C);
    const size_t w = (size_t)(d->K * d->R * d->S * d->C / d->groups);
    const int weights = j->op == &tutti_op_conv_bwd_weights;
    const int data = j->op == &tutti_op_conv_bwd_data;
    j->count[FROM0] = data ? y : x;
    j->count[FROM1] = weights ? y : w;
    j->count[TO] = weights ? w : data ? x : y;
}

static void *rounded(const void *from, size_t count)
{
    float *copy = compute_room(count * sizeof *copy);
    memcpy(copy, from, count * sizeof *copy);
    compute_round_tf32(copy, count);
    return copy;
}

static void add(const job *j, float *to, const float *more)
{
    for (size_t i = 0; i < j->count[TO]; i++) to[i] += more[i];
}

static int run(void *arg)
{
    job *j = arg;
    const size_t element = tutti_dtype_bytes(j->dtype);
    void *copy[ROLES] = {NULL}, *const to = j->buf[TO];
    memset(j->workspace, 0xff, j->bytes);
    for (int r = FROM0; j->tf32 && r <= FROM1; r++)
        j->buf[r] = copy[r] = rounded(j->buf[r], j->count[r]);
    if (j->adds) j->buf[TO] = copy[TO] = compute_room(j->count[TO] * element);
    compute_run(j->call, j->op, j->dtype, &j->desc, j->buf);
    if (j->adds) add(j, to, copy[TO]);
    for (int r = 0; r < ROLES; r++) free(copy[r]);
    free(j);
    return 1;
}

static void enqueue(const pass *p, const job *j)
{
    const size_t element = tutti_dtype_bytes(j->dtype);
    const void *const address[ROLES] = {p->from[0], p->from[1], p->to};
    job *copy = compute_room(sizeof *copy);
    fake_access access[ROLES + 1];
    *copy = *j;
    for (int r = 0; r < ROLES; r++) {
        const size_t bytes = j->count[r] * element;
        copy->buf[r] = fake_inside(p->call, address[r], bytes);
        access[r] = (fake_access){address[r], bytes, r == TO ? FAKE_WRITE : FAKE_READ, 1, 0};
    }
    copy->workspace = fake_inside(p->call, p->workspace, p->bytes);
    access[ROLES] = (fake_access){p->workspace, p->bytes, FAKE_WRITE, 1, 0};
    const fake_work work = {
        .call = p->call, .run = run, .arg = copy, .access = access, .accesses = ROLES + 1};
    fake_enqueue(p->handle->stream, &work);
}

static int aligned(const void *address, uintptr_t to)
{
    return address && (uintptr_t)address % to == 0;
}

/* Its kernels read 16 bytes at a time. */
static cudnnStatus_t convolve(const pass *p)
{
    job j = {.call = p->call, .op = p->op, .bytes = p->bytes};
    size_t needed = 0;
    cudnnStatus_t status = describe(p, &j.desc);
    if (!status) status = measure(p, &needed);
    if (status) return status;
    if (p->bytes < needed) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
    const float alpha = *(const float *)p->alpha, beta = *(const float *)p->beta;
    if (alpha < 1 || alpha > 1) return CUDNN_STATUS_NOT_SUPPORTED;
    if (!p->workspace) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!aligned(p->from[0], 16) || !aligned(p->from[1], 16) || !aligned(p->to, 16) ||
        !aligned(p->workspace, 256))
        return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    compute_check_stream(p->call, p->handle->stream);
    if (!p->deterministic) fake_fail("%s: this algorithm is not deterministic", p->call);
    j.dtype = p->x->type == CUDNN_DATA_FLOAT ? TUTTI_F32 : TUTTI_BF16;
    j.tf32 = j.dtype == TUTTI_F32 && p->conv->math != CUDNN_FMA_MATH;
    j.adds = beta > 0;
    if ((j.adds && (beta < 1 || beta > 1 || j.dtype != TUTTI_F32)) ||
        (p->op == &tutti_op_conv_bwd_weights && j.dtype != TUTTI_F32))
        return CUDNN_STATUS_NOT_SUPPORTED; /* by this fake */
    count_elements(&j);
    enqueue(p, &j);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle,
    const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algo, size_t *bytes)
{
    (void)algo;
    return measure(&(pass){.handle = handle, .x = x, .w = w, .conv = conv, .y = y}, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
    const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc,
    const void *w, const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo,
    void *workspace, size_t bytes, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
    return convolve(&(pass){"cudnnConvolutionForward", &tutti_op_conv, handle, xDesc, yDesc, wDesc,
        conv, algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, {x, w}, y, alpha, beta,
        workspace, bytes});
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle,
    const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algo, size_t *bytes)
{
    (void)algo;
    return measure(&(pass){.handle = handle, .x = dx, .w = w, .conv = conv, .y = dy}, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
    const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t dyDesc,
    const void *dy, const cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo,
    void *workspace, size_t bytes, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)
{
    return convolve(&(pass){"cudnnConvolutionBackwardData", &tutti_op_conv_bwd_data, handle, dxDesc,
        dyDesc, wDesc, conv, algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, {dy, w}, dx, alpha, beta,
        workspace, bytes});
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t *bytes)
{
    (void)algo;
    return measure(&(pass){.handle = handle, .x = x, .w = dw, .conv = conv, .y = dy}, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
    const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t dyDesc,
    const void *dy, const cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algo,
    void *workspace, size_t bytes, const void *beta, const cudnnFilterDescriptor_t dwDesc, void *dw)
{
    return convolve(&(pass){"cudnnConvolutionBackwardFilter", &tutti_op_conv_bwd_weights, handle,
        xDesc, dyDesc, dwDesc, conv, algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, {x, dy}, dw,
        alpha, beta, workspace, bytes});
}
