#include "dag/kernels/cudnn.h"

#include "dag/base/log.h"
#include "dag/kernels/cudnn_time.h"
#include "dag/kernels/engines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef tutti_cudnn_part part;

enum { FROM0 = TUTTI_CUDNN_FROM0, FROM1 = TUTTI_CUDNN_FROM1, TO = TUTTI_CUDNN_TO };

/* By tutti_pass. */
static const struct {
    const char *name;
    int x, w, y; /* which of a call's tensors it is, or its gradient */
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t x_name, w_name, y_name, conv, alpha, beta;
} passes[] = {
    {"conv", FROM0, FROM1, TO, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {"conv_bwd_data", TO, FROM1, FROM0,
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {"conv_bwd_weights", FROM0, TO, FROM1,
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

enum { ALIGNMENT = 16, MOST_REASON = 300, MOST_NAME = 200 };
/* Of a workspace, beside copies of the tensors in another layout. */
enum { MOST_EXTRA_BYTES = 256 << 20 };
/* The heuristics' order is so good that the engines behind these are never the fastest by much (doc/gpu.md). */
enum { MOST_TIMED = 8 };

/* ---- Descriptors ---- */

static void set_part(tutti_cudnn *k, part of, cudnnBackendAttributeName_t name, part value)
{
    tutti_cudnn_set(k, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void set_numbers(tutti_cudnn *k, part of, cudnnBackendAttributeName_t name, int64_t count,
    const int64_t values[])
{
    tutti_cudnn_set(k, of, name, CUDNN_TYPE_INT64, count, values);
}

/* ---- The graph ---- */

/* N images of H x W pixels of C channels, or the like: the library names sizes in the order n, c, h,
 * w, and their strides say how they are stored. */
static part tensor(tutti_cudnn *k, int64_t number, tutti_dtype dtype, const int64_t nchw[4])
{
    const bool nowhere = number >= TUTTI_CUDNN_NOWHERE;
    const cudnnDataType_t type = dtype == TUTTI_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const int64_t C = nchw[1], H = nchw[2], W = nchw[3], alignment = ALIGNMENT;
    const int64_t strides[] = {H * W * C, 1, W * C, C};
    part t = tutti_cudnn_make(k, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tutti_cudnn_set(k, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_DIMENSIONS, 4, nchw);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_STRIDES, 4, strides);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &number);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &alignment);
    if (nowhere)
        tutti_cudnn_set(k, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &nowhere);
    tutti_cudnn_finish(k, t);
    return t;
}

static part convolution(tutti_cudnn *k, const tutti_conv_desc *d)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t dims = 2, dilations[] = {1, 1};
    part c = tutti_cudnn_make(k, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    tutti_cudnn_set(k, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    tutti_cudnn_set(k, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &dims);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, d->pad);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 2, d->pad);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, dilations);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, d->stride);
    tutti_cudnn_finish(k, c);
    return c;
}

static part operation(tutti_cudnn *k, tutti_pass pass)
{
    const float alpha = 1, beta = 0;
    part products = k->parts[TUTTI_CUDNN_PRODUCTS];
    part o = tutti_cudnn_make(k, passes[pass].operation);
    set_part(k, o, passes[pass].x_name, k->parts[TUTTI_CUDNN_X]);
    set_part(k, o, passes[pass].w_name, k->parts[TUTTI_CUDNN_W]);
    set_part(k, o, passes[pass].y_name, products ? products : k->parts[TUTTI_CUDNN_Y]);
    set_part(k, o, passes[pass].conv, k->parts[TUTTI_CUDNN_CONV]);
    tutti_cudnn_set(k, o, passes[pass].alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    tutti_cudnn_set(k, o, passes[pass].beta, CUDNN_TYPE_FLOAT, 1, &beta);
    tutti_cudnn_finish(k, o);
    return o;
}

/* Of each element, in float32, whatever the tensors are. */
static part pointwise(tutti_cudnn *k, cudnnPointwiseMode_t mode)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    part p = tutti_cudnn_make(k, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    tutti_cudnn_set(k, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    tutti_cudnn_set(k, p, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    if (mode == CUDNN_POINTWISE_RELU_FWD)
        tutti_cudnn_set(
            k, p, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &nan);
    tutti_cudnn_finish(k, p);
    return p;
}

/* bias: or NULL. */
static part apply(tutti_cudnn *k, part how, part x, part bias, part y)
{
    part o = tutti_cudnn_make(k, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_part(k, o, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_part(k, o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (bias) set_part(k, o, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias);
    set_part(k, o, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    tutti_cudnn_finish(k, o);
    return o;
}

static void add_bias(tutti_cudnn *k, const tutti_cudnn_conv *c, const int64_t y[4])
{
    const int64_t bias[] = {1, y[1], 1, 1};
    part *parts = k->parts, to = parts[TUTTI_CUDNN_Y];
    parts[TUTTI_CUDNN_PRODUCTS] = tensor(k, TUTTI_CUDNN_NOWHERE, TUTTI_F32, y);
    parts[TUTTI_CUDNN_BIAS] = tensor(k, TUTTI_CUDNN_FROM_BIAS, c->dtype, bias);
    parts[TUTTI_CUDNN_ADD] = pointwise(k, CUDNN_POINTWISE_ADD);
    if (c->desc.relu)
        to = parts[TUTTI_CUDNN_SUMS] = tensor(k, TUTTI_CUDNN_NOWHERE_ELSE, TUTTI_F32, y);
    parts[TUTTI_CUDNN_ADDITION] =
        apply(k, parts[TUTTI_CUDNN_ADD], parts[TUTTI_CUDNN_PRODUCTS], parts[TUTTI_CUDNN_BIAS], to);
    if (!c->desc.relu) return;
    parts[TUTTI_CUDNN_RELU] = pointwise(k, CUDNN_POINTWISE_RELU_FWD);
    parts[TUTTI_CUDNN_RECTIFICATION] =
        apply(k, parts[TUTTI_CUDNN_RELU], to, NULL, parts[TUTTI_CUDNN_Y]);
}

/* The library finds the number of groups in the channels of a filter. */
static void describe(tutti_cudnn *k, const tutti_cudnn_conv *c)
{
    const tutti_conv_desc *d = &c->desc;
    const int64_t x[] = {d->N, d->C, d->H, d->W};
    const int64_t w[] = {d->K, d->C / tutti_conv_groups(d), d->R, d->S};
    const int64_t y[] = {d->N, d->K, tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]),
        tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1])};
    k->parts[TUTTI_CUDNN_X] = tensor(k, passes[c->pass].x, c->dtype, x);
    k->parts[TUTTI_CUDNN_W] = tensor(k, passes[c->pass].w, c->dtype, w);
    k->parts[TUTTI_CUDNN_Y] = tensor(k, passes[c->pass].y, c->dtype, y);
    k->parts[TUTTI_CUDNN_CONV] = convolution(k, d);
    k->tensors = d->bias ? TUTTI_CUDNN_TENSORS : TUTTI_CUDNN_TENSORS - 1;
    if (d->bias) add_bias(k, c, y);
    k->parts[TUTTI_CUDNN_OPERATION] = operation(k, c->pass);
    const int64_t count = 1 + !!d->bias + !!d->relu;
    const part operations[] = {k->parts[TUTTI_CUDNN_OPERATION], k->parts[TUTTI_CUDNN_ADDITION],
        k->parts[TUTTI_CUDNN_RECTIFICATION]};
    k->parts[TUTTI_CUDNN_GRAPH] = tutti_cudnn_make(k, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    tutti_cudnn_set(k, k->parts[TUTTI_CUDNN_GRAPH], CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
        CUDNN_TYPE_HANDLE, 1, &k->handle);
    tutti_cudnn_set(k, k->parts[TUTTI_CUDNN_GRAPH], CUDNN_ATTR_OPERATIONGRAPH_OPS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, count, operations);
    tutti_cudnn_finish(k, k->parts[TUTTI_CUDNN_GRAPH]);
}

/* ---- The choice of an engine ---- */

/* What it computes, as a text without sizes that follow from others. */
static void print_conv(const tutti_cudnn_conv *c, char text[MOST_NAME])
{
    const tutti_conv_desc *d = &c->desc;
    const char *type = c->dtype == TUTTI_BF16 ? "bf16" : c->tf32 ? "tf32" : "f32";
    snprintf(text, MOST_NAME,
        "%s %s %lldx%lldx%lldx%lld %lldx%lldx%lld stride %lldx%lld pad %lldx%lld groups %lld%s%s",
        passes[c->pass].name, type, (long long)d->N, (long long)d->H, (long long)d->W,
        (long long)d->C, (long long)d->K, (long long)d->R, (long long)d->S, (long long)d->stride[0],
        (long long)d->stride[1], (long long)d->pad[0], (long long)d->pad[1],
        (long long)tutti_conv_groups(d), d->bias ? " bias" : "", d->relu ? " relu" : "");
}

static const char none[] = "none"; /* what the table has for what no engine computes */

/* Chooses by timing, and adds the choice to the table. */
static tutti_status choose_by_timing(tutti_cudnn *k, tutti_engines *engines, const char *computed)
{
    tutti_cudnn_engine engine[MOST_TIMED];
    char text[TUTTI_CUDNN_TEXT];
    const int count = tutti_cudnn_list(k, MOST_TIMED, engine);
    if (!count) return tutti_engines_put(engines, computed, none);
    int best = count > 1 ? tutti_cudnn_time(k, count, engine) : -1;
    if (best < 0 && count > 1)
        tutti_log(TUTTI_LOG_INFO, "%s: cuDNN's engines cannot be timed: the first one is taken",
            computed);
    if (best < 0) best = 0;
    if (!k->parts[TUTTI_CUDNN_PLAN] && !tutti_cudnn_take(k, &engine[best])) return TUTTI_OK;
    tutti_cudnn_print(&engine[best], text);
    tutti_log(TUTTI_LOG_DEBUG, "%s: %s, number %d of %d", computed, text, best + 1, count);
    return tutti_engines_put(engines, computed, text);
}

static tutti_status choose_engine(tutti_cudnn *k, const tutti_cudnn_conv *c)
{
    tutti_engines *engines = tutti_engines_current();
    tutti_cudnn_engine given;
    char computed[MOST_NAME], library[TUTTI_ENGINES_LIBRARY];
    if (!engines) {
        tutti_cudnn_choose(k);
        return TUTTI_OK;
    }
    print_conv(c, computed);
    const char *text = tutti_engines_find(engines, computed);
    if (!text) return choose_by_timing(k, engines, computed);
    if (!strcmp(text, none)) return TUTTI_OK;
    if (!tutti_cudnn_scan(text, &given))
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: %s was chosen for it, and is not an engine of %s, which this rank has: use one "
            "version of cuDNN on all hosts",
            computed, text, tutti_engines_library(library));
    k->most = INT64_MAX;
    if (tutti_cudnn_take(k, &given)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "%s: this GPU's cuDNN cannot open the engine that was chosen for it, %s: use GPUs of one "
        "kind, or engines that are not chosen by timing",
        computed, text);
}

/* ---- Opening and running ---- */

/* The library counts a tensor's elements in 32 bits. */
static tutti_status set_sizes(tutti_cudnn *k, const tutti_cudnn_conv *c)
{
    const tutti_conv_desc *d = &c->desc;
    const size_t element = tutti_dtype_bytes(c->dtype);
    const int64_t most = (1ll << 31) - 1;
    const int64_t x = d->N * d->H * d->W * d->C;
    const int64_t y = d->N * tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                      tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]) * d->K;
    const int64_t w = d->K * d->R * d->S * (d->C / tutti_conv_groups(d));
    k->bytes[passes[c->pass].x - FROM0] = (size_t)x * element;
    k->bytes[passes[c->pass].w - FROM0] = (size_t)w * element;
    k->bytes[passes[c->pass].y - FROM0] = (size_t)y * element;
    k->bytes[TUTTI_CUDNN_FROM_BIAS - FROM0] = (size_t)d->K * element;
    k->most = MOST_EXTRA_BYTES + (x + w + y) * (int64_t)element;
    if (x <= most && y <= most) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "%s: a tensor of %lld images has more than 2^31 - 1 elements, which is too much for cuDNN: "
        "use a smaller batch, or micro-batches",
        k->name, (long long)d->N);
}

static tutti_status refused(const tutti_cudnn *k, const tutti_cudnn_conv *c)
{
    const tutti_conv_desc *d = &c->desc;
    const char *types = tutti_dtype_name(c->dtype);
    char reason[MOST_REASON] = "";
    cudnnGetLastErrorString(reason, sizeof reason);
    if (k->status)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: cuDNN cannot open it in %s: %s: %s", k->name,
            types, cudnnGetErrorString(k->status), reason);
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "%s: cuDNN has no deterministic engine of full precision in %s for %lld images of "
        "%lldx%lld "
        "pixels, %lld channels, %lld filters of %lldx%lld, %lld groups%s%s",
        k->name, types, (long long)d->N, (long long)d->H, (long long)d->W, (long long)d->C,
        (long long)d->K, (long long)d->R, (long long)d->S, (long long)tutti_conv_groups(d),
        *reason ? "; it says: " : "", reason);
}

static void close_handle(void *handle)
{
    cudnnDestroy((cudnnHandle_t)handle);
}

static void open_handle(tutti_cudnn *k, tutti_workspace *shared)
{
    cudnnHandle_t handle = NULL;
    if (!shared->library[TUTTI_WORKSPACE_CUDNN].handle) {
        k->status = cudnnCreate(&handle);
        shared->library[TUTTI_WORKSPACE_CUDNN].handle = handle;
        shared->library[TUTTI_WORKSPACE_CUDNN].close = close_handle;
    }
    k->handle = shared->library[TUTTI_WORKSPACE_CUDNN].handle;
}

static void destroy_parts(tutti_cudnn *k)
{
    for (int p = TUTTI_CUDNN_PARTS - 1; p >= 0; p--) {
        tutti_cudnn_destroy(k->parts[p]);
        k->parts[p] = NULL;
    }
}

/* Whether it has no engine, and nothing has failed. */
static bool lacks_engine(const tutti_cudnn *k)
{
    const int category = 1000; /* of the library's numbers */
    return !k->parts[TUTTI_CUDNN_PLAN] &&
           (!k->status || k->status / category == CUDNN_STATUS_NOT_SUPPORTED / category);
}

static tutti_status do_without_bias(tutti_cudnn *k, const tutti_cudnn_conv *conv)
{
    tutti_cudnn_conv alone = *conv;
    alone.desc.bias = alone.desc.relu = 0;
    destroy_parts(k);
    k->status = CUDNN_STATUS_SUCCESS;
    describe(k, &alone);
    return choose_engine(k, &alone);
}

tutti_status tutti_cudnn_open(
    const tutti_cudnn_conv *conv, tutti_workspace *shared, tutti_cudnn **opened, size_t *workspace)
{
    const char *name = passes[conv->pass].name;
    tutti_cudnn *k = calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", name);
    k->name = name;
    k->exact = conv->dtype == TUTTI_F32 && !conv->tf32;
    tutti_status status = set_sizes(k, conv);
    if (!status) {
        open_handle(k, shared);
        describe(k, conv);
        status = choose_engine(k, conv);
    }
    if (!status && conv->desc.bias && lacks_engine(k)) status = do_without_bias(k, conv);
    if (!status && !k->parts[TUTTI_CUDNN_PLAN]) status = refused(k, conv);
    if (status) {
        tutti_cudnn_close(k);
        return status;
    }
    *workspace = (size_t)k->workspace;
    *opened = k;
    return TUTTI_OK;
}

int tutti_cudnn_adds_bias(const tutti_cudnn *opened)
{
    return opened->tensors == TUTTI_CUDNN_TENSORS;
}

tutti_status tutti_cudnn_run(const tutti_cudnn *opened, const tutti_cudnn_call *call)
{
    char reason[MOST_REASON] = "";
    const void *const tensors[] = {call->from[0], call->from[1], call->to, call->bias};
    const cudnnStatus_t s =
        tutti_cudnn_start(opened, tensors, call->workspace, (cudaStream_t)call->queue);
    if (!s) return TUTTI_OK;
    cudnnGetLastErrorString(reason, sizeof reason);
    return tutti_fail(TUTTI_ERR_KERNEL, "%s: cuDNN does not start it: %s: %s", opened->name,
        cudnnGetErrorString(s), reason);
}

void tutti_cudnn_close(tutti_cudnn *k)
{
    if (!k) return;
    destroy_parts(k);
    free(k);
}
