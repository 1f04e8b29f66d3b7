#include "dag/kernels/cudnn.h"

#include "dag/base/log.h"

#include <cudnn.h>
#include <stdlib.h>

typedef cudnnBackendDescriptor_t part;

/* Of a call: what it reads, and what it writes. The library knows tensors by these numbers. */
enum { FROM0 = 1, FROM1, TO, TENSORS = TO };

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

/* In the order in which they are made. What is made of others may refer to them. */
enum {
    PART_X,
    PART_W,
    PART_Y,
    PART_CONV,
    PART_OPERATION,
    PART_GRAPH,
    PART_CONFIG,
    PART_PLAN,
    PARTS
};

struct tutti_cudnn {
    const char *name;
    cudnnHandle_t handle;
    part parts[PARTS];
    int64_t workspace, most; /* bytes; engines that need more are not taken */
    int too_large;           /* there was one */
    cudnnStatus_t status;    /* of the first call that failed: the others are left out */
};

enum { ALIGNMENT = 16, MOST_NOTES = 32, MOST_REASON = 300 };
/* Of a workspace, beside copies of the tensors in another layout. */
enum { MOST_EXTRA_BYTES = 256 << 20 };

/* ---- Descriptors ---- */

static part make(tutti_cudnn *k, cudnnBackendDescriptorType_t type)
{
    part made = NULL;
    if (!k->status) k->status = cudnnBackendCreateDescriptor(type, &made);
    return made;
}

static void set(tutti_cudnn *k, part of, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (!k->status) k->status = cudnnBackendSetAttribute(of, name, type, count, values);
}

static void set_part(tutti_cudnn *k, part of, cudnnBackendAttributeName_t name, part value)
{
    set(k, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void set_numbers(tutti_cudnn *k, part of, cudnnBackendAttributeName_t name, int64_t count,
    const int64_t values[])
{
    set(k, of, name, CUDNN_TYPE_INT64, count, values);
}

static void finish(tutti_cudnn *k, part made)
{
    if (!k->status) k->status = cudnnBackendFinalize(made);
}

static void destroy(part made)
{
    if (made) cudnnBackendDestroyDescriptor(made);
}

/* ---- The graph ---- */

/* N images of H x W pixels of C channels, or the like: the library names sizes in the order n, c, h,
 * w, and their strides say how they are stored. */
static part tensor(tutti_cudnn *k, int64_t number, tutti_dtype dtype, const int64_t nchw[4])
{
    const cudnnDataType_t type = dtype == TUTTI_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const int64_t C = nchw[1], H = nchw[2], W = nchw[3], alignment = ALIGNMENT;
    const int64_t strides[] = {H * W * C, 1, W * C, C};
    part t = make(k, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(k, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_DIMENSIONS, 4, nchw);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_STRIDES, 4, strides);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &number);
    set_numbers(k, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &alignment);
    finish(k, t);
    return t;
}

static part convolution(tutti_cudnn *k, const tutti_conv_desc *d)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t dims = 2, dilations[] = {1, 1};
    part c = make(k, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(k, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(k, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &dims);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, d->pad);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 2, d->pad);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, dilations);
    set_numbers(k, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, d->stride);
    finish(k, c);
    return c;
}

static part operation(tutti_cudnn *k, tutti_pass pass, int adds)
{
    const float alpha = 1, beta = adds ? 1 : 0;
    part o = make(k, passes[pass].operation);
    set_part(k, o, passes[pass].x_name, k->parts[PART_X]);
    set_part(k, o, passes[pass].w_name, k->parts[PART_W]);
    set_part(k, o, passes[pass].y_name, k->parts[PART_Y]);
    set_part(k, o, passes[pass].conv, k->parts[PART_CONV]);
    set(k, o, passes[pass].alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    set(k, o, passes[pass].beta, CUDNN_TYPE_FLOAT, 1, &beta);
    finish(k, o);
    return o;
}

/* The library finds the number of groups in the channels of a filter. */
static void describe(tutti_cudnn *k, const tutti_cudnn_conv *c)
{
    const tutti_conv_desc *d = &c->desc;
    const int64_t x[] = {d->N, d->C, d->H, d->W};
    const int64_t w[] = {d->K, d->C / tutti_conv_groups(d), d->R, d->S};
    const int64_t y[] = {d->N, d->K, tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]),
        tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1])};
    const int xs = passes[c->pass].x, ws = passes[c->pass].w, ys = passes[c->pass].y;
    k->parts[PART_X] = tensor(k, xs, xs == TO ? c->to : c->from, x);
    k->parts[PART_W] = tensor(k, ws, ws == TO ? c->to : c->from, w);
    k->parts[PART_Y] = tensor(k, ys, ys == TO ? c->to : c->from, y);
    k->parts[PART_CONV] = convolution(k, d);
    k->parts[PART_OPERATION] = operation(k, c->pass, c->adds);
    k->parts[PART_GRAPH] = make(k, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(k, k->parts[PART_GRAPH], CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
        &k->handle);
    set_part(k, k->parts[PART_GRAPH], CUDNN_ATTR_OPERATIONGRAPH_OPS, k->parts[PART_OPERATION]);
    finish(k, k->parts[PART_GRAPH]);
}

/* ---- The choice of an engine ---- */

/* Another order of sums at each run; less than float32's precision, or bf16's, on the way. */
static const cudnnBackendNumericalNote_t avoided[] = {
    CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
    CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
    CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
    CUDNN_NUMERICAL_NOTE_FFT,
    CUDNN_NUMERICAL_NOTE_WINOGRAD,
    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13,
};

/* exact: factors of float32 are multiplied as they are, which tensor cores do not. */
static int may_have(cudnnBackendNumericalNote_t note, int exact)
{
    for (size_t i = 0; i < sizeof avoided / sizeof *avoided; i++)
        if (note == avoided[i]) return 0;
    return !(exact && note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

static int suits(part config, int exact)
{
    cudnnBackendNumericalNote_t numeric[MOST_NOTES];
    cudnnBackendBehaviorNote_t behaviour[MOST_NOTES];
    int64_t count = 0, numerics = 0, behaviours = 0;
    part engine = NULL;
    cudnnStatus_t s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    if (!s)
        s = cudnnBackendGetAttribute(
            config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    if (!s)
        s = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
            CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &numerics, numeric);
    if (!s)
        s = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
            CUDNN_TYPE_BEHAVIOR_NOTE, MOST_NOTES, &behaviours, behaviour);
    destroy(engine);
    int may = !s && numerics <= MOST_NOTES && behaviours <= MOST_NOTES;
    for (int64_t i = 0; may && i < numerics; i++) may = may_have(numeric[i], exact);
    for (int64_t i = 0; may && i < behaviours; i++)
        may = behaviour[i] != CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    return may;
}

/* A plan of this configuration, if the library can make one whose workspace is not too large. */
static int plan(tutti_cudnn *k, part config)
{
    part made = NULL;
    int64_t count = 0;
    cudnnStatus_t s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &made);
    if (!s)
        s = cudnnBackendSetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    if (!s) s = cudnnBackendFinalize(made);
    if (!s)
        s = cudnnBackendGetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
            CUDNN_TYPE_INT64, 1, &count, &k->workspace);
    if (!s && k->workspace <= k->most) {
        k->parts[PART_PLAN] = made;
        return 1;
    }
    k->too_large |= !s;
    destroy(made);
    return 0;
}

/* Takes the first that suits of the configurations that this heuristic offers: none where it fails. */
static void choose(tutti_cudnn *k, cudnnBackendHeurMode_t mode, int exact)
{
    part heuristic = make(k, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), *configs = NULL;
    int64_t offered = 0, count = 0;
    set_part(k, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, k->parts[PART_GRAPH]);
    set(k, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (k->status || cudnnBackendFinalize(heuristic) ||
        cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &offered, NULL) ||
        offered < 1 || !(configs = calloc((size_t)offered, sizeof *configs)))
        goto out;
    for (int64_t i = 0; i < offered; i++) configs[i] = make(k, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (k->status || cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                         CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &count, configs))
        goto out;
    for (int64_t i = 0; i < count && i < offered && !k->parts[PART_PLAN]; i++)
        if (suits(configs[i], exact) && plan(k, configs[i])) {
            k->parts[PART_CONFIG] = configs[i];
            configs[i] = NULL;
        }
out:
    for (int64_t i = 0; configs && i < offered; i++) destroy(configs[i]);
    free(configs);
    destroy(heuristic);
}

static void choose_engine(tutti_cudnn *k, int exact)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    for (int m = 0; m < 2 && !k->status && !k->parts[PART_PLAN]; m++) choose(k, modes[m], exact);
    if (k->parts[PART_PLAN] || !k->too_large) return;
    k->most = INT64_MAX;
    for (int m = 0; m < 2 && !k->status && !k->parts[PART_PLAN]; m++) choose(k, modes[m], exact);
}

/* ---- Opening and running ---- */

/* The library counts a tensor's elements in 32 bits. */
static tutti_status check_size(const tutti_conv_desc *d, const char *name, int64_t *elements)
{
    const int64_t most = (1ll << 31) - 1;
    const int64_t x = d->N * d->H * d->W * d->C;
    const int64_t y = d->N * tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                      tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]) * d->K;
    *elements = x + y + d->K * d->R * d->S * (d->C / tutti_conv_groups(d));
    if (x <= most && y <= most) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "%s: a tensor of %lld images has more than 2^31 - 1 elements, which is too much for cuDNN: "
        "use a smaller batch, or micro-batches",
        name, (long long)d->N);
}

static tutti_status refused(const tutti_cudnn *k, const tutti_cudnn_conv *c)
{
    const tutti_conv_desc *d = &c->desc;
    const char *types = tutti_dtype_name(c->from);
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

tutti_status tutti_cudnn_open(const tutti_cudnn_conv *conv, tutti_cudnn **opened, size_t *workspace)
{
    const char *name = passes[conv->pass].name;
    int64_t elements;
    tutti_status status = check_size(&conv->desc, name, &elements);
    if (status) return status;
    tutti_cudnn *k = calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", name);
    k->name = name;
    k->most = MOST_EXTRA_BYTES + elements * (int64_t)tutti_dtype_bytes(conv->from);
    k->status = cudnnCreate(&k->handle);
    describe(k, conv);
    choose_engine(k, conv->from == TUTTI_F32 && !conv->tf32);
    if (!k->parts[PART_PLAN]) {
        if (!conv->may_lack) status = refused(k, conv);
        tutti_cudnn_close(k);
        if (status) return status;
        k = NULL;
    }
    *workspace = k ? (size_t)k->workspace : 0;
    *opened = k;
    return TUTTI_OK;
}

tutti_status tutti_cudnn_run(const tutti_cudnn *opened, const tutti_cudnn_call *call)
{
    static const int64_t numbers[TENSORS] = {FROM0, FROM1, TO};
    const void *const tensors[TENSORS] = {call->from[0], call->from[1], call->to};
    char reason[MOST_REASON] = "";
    part pack = NULL;
    cudnnStatus_t s = cudnnSetStream(opened->handle, (cudaStream_t)call->queue);
    if (!s) s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (!s)
        s = cudnnBackendSetAttribute(
            pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, TENSORS, numbers);
    if (!s)
        s = cudnnBackendSetAttribute(
            pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, TENSORS, tensors);
    if (!s)
        s = cudnnBackendSetAttribute(
            pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &call->workspace);
    if (!s) s = cudnnBackendFinalize(pack);
    if (!s) s = cudnnBackendExecute(opened->handle, opened->parts[PART_PLAN], pack);
    if (s) cudnnGetLastErrorString(reason, sizeof reason);
    destroy(pack);
    if (!s) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_KERNEL, "%s: cuDNN does not start it: %s: %s", opened->name,
        cudnnGetErrorString(s), reason);
}

void tutti_cudnn_close(tutti_cudnn *k)
{
    if (!k) return;
    for (int p = PARTS - 1; p >= 0; p--) destroy(k->parts[p]);
    if (k->handle) cudnnDestroy(k->handle);
    free(k);
}
