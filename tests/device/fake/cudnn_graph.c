#include "tests/device/fake/cudnn_graph.h"

#include "tests/device/fake/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ---- */

static _Thread_local char last_error[200];

cudnnStatus_t cudnn_refuse(cudnnStatus_t status, const char *reason)
{
    snprintf(last_error, sizeof last_error, "%s", reason);
    return status;
}

void cudnnGetLastErrorString(char *message, size_t bytes)
{
    if (bytes) snprintf(message, bytes, "%s", last_error);
    *last_error = 0;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    static const struct {
        cudnnStatus_t status;
        const char *text;
    } rows[] = {{CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
        {CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
        {CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER"},
        {CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"},
        {CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
        {CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE"},
        {CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status) return rows[i].text;
    return "CUDNN_STATUS_BAD_PARAM";
}

/* ---- Descriptors ---- */

/* What a descriptor has, in the order of its attribute[]. */
typedef struct rule {
    cudnnBackendDescriptorType_t of;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int most, optional;
} rule;

#define OPERATION_RULES(type, X_NAME, W_NAME, Y_NAME, NAME)                                        \
    {type, X_NAME, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},                                           \
        {type, W_NAME, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},                                       \
        {type, Y_NAME, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},                                       \
        {type, NAME##_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},                             \
        {type, NAME##_ALPHA, CUDNN_TYPE_FLOAT, 1, 0},                                              \
    {                                                                                              \
        type, NAME##_BETA, CUDNN_TYPE_FLOAT, 1, 0                                                  \
    }
static const rule rules[] = {
    {TENSOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 0},
    {TENSOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 8, 0},
    {TENSOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 8, 0},
    {TENSOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 0},
    {TENSOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 0},
    {TENSOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 0},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 0},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 0},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 8, 0},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 8, 0},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 8, 0},
    {CONVOLUTION, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 8, 0},
    OPERATION_RULES(FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD),
    OPERATION_RULES(BWD_DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA),
    OPERATION_RULES(BWD_FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER),
    {POINTWISE, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 0},
    {POINTWISE, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 0},
    {POINTWISE, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, 1},
    {ELEMENTS, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {ELEMENTS, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {ELEMENTS, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
    {ELEMENTS, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {GRAPH, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 3, 0},
    {GRAPH, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 0},
    {HEURISTIC, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {HEURISTIC, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 0},
    {ENGINE, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {ENGINE, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, 0},
    {CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {CONFIG, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, 8, 1},
    {KNOB, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 0},
    {KNOB, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, 0},
    {PLAN, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 0},
    {PACK, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 8, 0},
    {PACK, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 8, 0},
    {PACK, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 0},
};
enum { RULES = sizeof rules / sizeof *rules };

static size_t value_bytes(cudnnBackendAttributeType_t type)
{
    if (type == CUDNN_TYPE_INT64) return sizeof(int64_t);
    if (type == CUDNN_TYPE_FLOAT) return sizeof(float);
    if (type == CUDNN_TYPE_BOOLEAN) return 1;
    if (type == CUDNN_TYPE_DATA_TYPE || type == CUDNN_TYPE_CONVOLUTION_MODE ||
        type == CUDNN_TYPE_HEUR_MODE || type == CUDNN_TYPE_KNOB_TYPE ||
        type == CUDNN_TYPE_POINTWISE_MODE || type == CUDNN_TYPE_NAN_PROPOGATION)
        return sizeof(cudnnDataType_t); /* an enum */
    return sizeof(void *);
}

cudnnStatus_t cudnnBackendCreateDescriptor(
    cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made)
{
    int known = 0;
    for (int r = 0; r < RULES; r++) known |= rules[r].of == type;
    if (!known)
        return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a descriptor that this fake lacks");
    if (!made) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "descriptor");
    descriptor *d = calloc(1, sizeof *d);
    if (!d) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    d->type = type;
    *made = d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t made)
{
    free(made);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t of,
    cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
    const void *values)
{
    descriptor *d = of;
    if (!d || !values) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nothing is set");
    if (d->finalized) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "set after it was finalized");
    for (int r = 0, slot = 0; r < RULES; slot += rules[r++].of == d->type) {
        if (rules[r].of != d->type || rules[r].name != name) continue;
        if (rules[r].type != type)
            return cudnn_refuse(
                CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
        if (count < 1 || count > rules[r].most)
            return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of another number of values");
        d->attribute[slot].count = count;
        memcpy(d->attribute[slot].number, values, (size_t)count * value_bytes(type));
        return CUDNN_STATUS_SUCCESS;
    }
    return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute that this descriptor lacks");
}

/* ---- Finalization ---- */

/* The finalized descriptor that is an attribute; NULL, refused, if it is none of this type. */
static const descriptor *part_of(
    const descriptor *d, int slot, cudnnBackendDescriptorType_t type, cudnnStatus_t *status)
{
    const descriptor *part = d->attribute[slot].part;
    if (*status) return NULL;
    if (!part)
        *status = cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a part that is none");
    else if (part->type != type)
        fake_fail("cudnnBackendFinalize: a descriptor of another type than is expected");
    else if (!part->finalized)
        *status =
            cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a part that is not finalized");
    return *status ? NULL : part;
}

static cudnnStatus_t finalize_tensor(const descriptor *d)
{
    const int64_t size = d->attribute[DATA_TYPE].type == CUDNN_DATA_FLOAT ? 4 : 2;
    const int64_t alignment = d->attribute[ALIGNMENT].number[0];
    if (d->attribute[DIMENSIONS].count != d->attribute[STRIDES].count)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "not as many strides as dimensions");
    for (int i = 0; i < d->attribute[DIMENSIONS].count; i++)
        if (d->attribute[DIMENSIONS].number[i] < 1 || d->attribute[STRIDES].number[i] < 1)
            return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "a dimension or a stride below 1");
    if (alignment < 1 || alignment % size)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an alignment");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_convolution(const descriptor *d)
{
    for (int slot = PRE; slot <= FILTER_STRIDES; slot++)
        if (d->attribute[slot].count != d->attribute[SPATIAL_DIMS].number[0])
            return cudnn_refuse(
                CUDNN_STATUS_BAD_PARAM, "not as many numbers as spatial dimensions");
    if (d->attribute[SPATIAL_DIMS].number[0] != 2 ||
        d->attribute[COMP_TYPE].type != CUDNN_DATA_FLOAT ||
        d->attribute[CONV_MODE].conv_mode != CUDNN_CROSS_CORRELATION)
        return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a convolution that this fake lacks");
    for (int i = 0; i < 2; i++) {
        const int64_t pad = d->attribute[PRE].number[i];
        if (pad < 0 || d->attribute[FILTER_STRIDES].number[i] < 1)
            return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "a pad or a stride");
        if (d->attribute[POST].number[i] != pad || d->attribute[DILATIONS].number[i] != 1)
            return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a convolution that this fake lacks");
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Whether its strides are those of n,h,w,c. */
static int is_packed(const int64_t dim[4], const int64_t stride[4])
{
    return stride[1] == 1 && stride[3] == dim[1] && stride[2] == dim[3] * dim[1] &&
           stride[0] == dim[2] * dim[3] * dim[1];
}

static tutti_dtype dtype_of(const descriptor *tensor)
{
    return tensor->attribute[DATA_TYPE].type == CUDNN_DATA_FLOAT ? TUTTI_F32 : TUTTI_BF16;
}

/* The operation's tensors and their sizes: n, c, h, w. */
static cudnnStatus_t read_tensors(const descriptor *d, conv *c, const int64_t *dim[CONV_TENSORS])
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    c->packed = c->aligned = 1;
    for (int t = 0; t < CONV_TENSORS; t++) {
        const descriptor *tensor = part_of(d, t, TENSOR, &status);
        if (!tensor) return status;
        const cudnnDataType_t type = tensor->attribute[DATA_TYPE].type;
        if (tensor->attribute[DIMENSIONS].count != 4 ||
            (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_BFLOAT16))
            return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a tensor that this fake lacks");
        dim[t] = tensor->attribute[DIMENSIONS].number;
        c->dtype[t] = dtype_of(tensor);
        c->id[t] = tensor->attribute[UNIQUE_ID].number[0];
        c->packed &= is_packed(dim[t], tensor->attribute[STRIDES].number);
        c->aligned &= tensor->attribute[ALIGNMENT].number[0] == 16;
        for (int other = 0; other < t; other++)
            if (c->id[other] == c->id[t])
                return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "two tensors with one number");
    }
    return status;
}

static cudnnStatus_t finalize_operation(descriptor *d)
{
    const int64_t *dim[CONV_TENSORS];
    const float alpha = d->attribute[ALPHA].real, beta = d->attribute[BETA].real;
    conv *c = &d->conv;
    cudnnStatus_t status = read_tensors(d, c, dim);
    const descriptor *convolution = part_of(d, CONV, CONVOLUTION, &status);
    if (!convolution) return status;
    const int64_t *x = dim[X], *w = dim[W], *y = dim[Y];
    const int64_t *pad = convolution->attribute[PRE].number;
    const int64_t *stride = convolution->attribute[FILTER_STRIDES].number;
    if (x[1] % w[1])
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "channels of a group");
    c->desc = (tutti_conv_desc){.N = x[0],
        .C = x[1],
        .H = x[2],
        .W = x[3],
        .K = w[0],
        .R = w[2],
        .S = w[3],
        .stride = {stride[0], stride[1]},
        .pad = {pad[0], pad[1]},
        .groups = x[1] / w[1]};
    if (y[0] != x[0] || y[1] != w[0] || w[0] % c->desc.groups ||
        y[2] != tutti_conv_out(x[2], w[2], stride[0], pad[0]) ||
        y[3] != tutti_conv_out(x[3], w[3], stride[1], pad[1]))
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "sizes of y");
    if (alpha < 1 || alpha > 1 || beta < 0 || beta > 0)
        return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "factors that this fake lacks");
    c->op = d->type == FORWARD    ? &tutti_op_conv
            : d->type == BWD_DATA ? &tutti_op_conv_bwd_data
                                  : &tutti_op_conv_bwd_weights;
    return status;
}

/* An addition, or a ReLU that leaves NaNs as they are. */
static cudnnStatus_t finalize_pointwise(const descriptor *d)
{
    const cudnnPointwiseMode_t mode = d->attribute[MODE].pointwise;
    const int keeps = d->attribute[NANS].count && d->attribute[NANS].nan == CUDNN_PROPAGATE_NAN;
    if (d->attribute[PRECISION].type == CUDNN_DATA_FLOAT &&
        (mode == CUDNN_POINTWISE_ADD || (mode == CUDNN_POINTWISE_RELU_FWD && keeps)))
        return CUDNN_STATUS_SUCCESS;
    return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a pointwise operation that this fake lacks");
}

static int is_virtual(const descriptor *tensor)
{
    return tensor->attribute[VIRTUAL].count != 0;
}

/* A bias for each channel, or none. */
static cudnnStatus_t finalize_elements(const descriptor *d)
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    const descriptor *how = part_of(d, HOW, POINTWISE, &status);
    const descriptor *x = part_of(d, FROM, TENSOR, &status);
    const descriptor *y = part_of(d, TO, TENSOR, &status);
    const int adds = how && how->attribute[MODE].pointwise == CUDNN_POINTWISE_ADD;
    const descriptor *bias = adds ? part_of(d, BIAS, TENSOR, &status) : NULL;
    if (status) return status;
    const int64_t *from = x->attribute[DIMENSIONS].number, *to = y->attribute[DIMENSIONS].number;
    const int64_t *b = bias ? bias->attribute[DIMENSIONS].number : NULL;
    if (memcmp(from, to, 4 * sizeof *from) ||
        (b && (b[0] != 1 || b[1] != from[1] || b[2] != 1 || b[3] != 1)))
        return cudnn_refuse(
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "sizes of a bias, or of results");
    if (bias && is_virtual(bias))
        return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a bias that is nowhere");
    return status;
}

/* A graph, a heuristic and a plan compute what their part computes. */
static cudnnStatus_t finalize_upon(descriptor *d, cudnnBackendDescriptorType_t type)
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    const descriptor *part = part_of(d, 0, type, &status);
    if (!part) return status;
    d->conv = part->conv;
    d->engine = part->engine;
    if (d->type == GRAPH) d->conv.handle = d->attribute[HANDLE].pointer[0];
    if (d->type == GRAPH && !d->conv.handle)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "handle");
    if (d->type == PLAN && d->engine->fails)
        return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "this engine has no plan");
    return status;
}

static cudnnStatus_t finalize_pack(const descriptor *d)
{
    if (d->attribute[IDS].count == d->attribute[POINTERS].count) return CUDNN_STATUS_SUCCESS;
    return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "not as many pointers as numbers");
}

/* Operation i of a graph, if it computes elements of what was left nowhere by the one before it. */
static const descriptor *next_of(
    const descriptor *d, int i, const descriptor *last, cudnnPointwiseMode_t mode)
{
    const descriptor *next = d->attribute[OPS].pointer[i];
    const int fits = next && next->type == ELEMENTS && next->finalized && is_virtual(last) &&
                     dtype_of(last) == TUTTI_F32 && next->attribute[FROM].part == last &&
                     next->attribute[HOW].part->attribute[MODE].pointwise == mode;
    return fits ? next : NULL;
}

/* A convolution; perhaps a bias that is added to it, and a ReLU behind. */
static cudnnStatus_t finalize_graph(descriptor *d)
{
    const descriptor *first = d->attribute[OPS].part, *add = NULL, *relu = NULL;
    const int64_t count = d->attribute[OPS].count;
    cudnnStatus_t status = finalize_upon(d, first ? first->type : FORWARD);
    if (status) return status;
    const descriptor *y = first->attribute[Y].part;
    if (count > 1) add = next_of(d, 1, y, CUDNN_POINTWISE_ADD);
    if (add) y = add->attribute[TO].part;
    if (add && count > 2) relu = next_of(d, 2, y, CUDNN_POINTWISE_RELU_FWD);
    if (relu) y = relu->attribute[TO].part;
    if (1 + (add != NULL) + (relu != NULL) != count)
        return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "operations that this fake lacks");
    if (is_virtual(y)) return cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "a result that is nowhere");
    if (!add) return status;
    const descriptor *bias = add->attribute[BIAS].part;
    conv *c = &d->conv;
    c->has_bias = 1;
    c->relu = relu != NULL;
    c->bias_dtype = dtype_of(bias);
    c->bias_id = bias->attribute[UNIQUE_ID].number[0];
    c->dtype[Y] = dtype_of(y);
    c->id[Y] = y->attribute[UNIQUE_ID].number[0];
    c->packed &= is_packed(y->attribute[DIMENSIONS].number, y->attribute[STRIDES].number);
    c->aligned &= y->attribute[ALIGNMENT].number[0] == 16;
    if (c->bias_id == c->id[X] || c->bias_id == c->id[W] || c->bias_id == c->id[Y])
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "two tensors with one number");
    return status;
}

static cudnnStatus_t finalize_engine(descriptor *d)
{
    const cudnnStatus_t status = finalize_upon(d, GRAPH);
    if (status) return status;
    d->engine = cudnn_find(d->attribute[ENGINE_INDEX].number[0], -1);
    const char *why = d->engine ? cudnn_lack(&d->conv) : "an engine that there is not";
    return why ? cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, why) : status;
}

static cudnnStatus_t finalize_config(descriptor *d)
{
    cudnnStatus_t status = finalize_upon(d, ENGINE);
    int64_t tile = 0;
    for (int64_t i = 0; i < d->attribute[CONFIG_KNOBS].count && !status; i++) {
        const descriptor *knob = d->attribute[CONFIG_KNOBS].pointer[i];
        if (!knob || knob->type != KNOB)
            fake_fail("cudnnBackendFinalize: a descriptor of another type than is expected");
        if (!knob->finalized) status = cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a knob");
        if (knob->attribute[KNOB_TYPE].knob != CUDNN_KNOB_TYPE_TILE_SIZE || tile)
            status = cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "a knob that this engine lacks");
        tile = knob->attribute[KNOB_VALUE].number[0];
    }
    if (status) return status;
    d->engine = cudnn_find(d->engine->index, tile);
    return d->engine
               ? status
               : cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "a value that this engine's knob lacks");
}

static cudnnStatus_t finalize(descriptor *d)
{
    switch (d->type) {
    case TENSOR:
        return finalize_tensor(d);
    case CONVOLUTION:
        return finalize_convolution(d);
    case GRAPH:
        return finalize_graph(d);
    case HEURISTIC:
        return finalize_upon(d, GRAPH);
    case ENGINE:
        return finalize_engine(d);
    case CONFIG:
        return finalize_config(d);
    case KNOB:
        return CUDNN_STATUS_SUCCESS;
    case PLAN:
        return finalize_upon(d, CONFIG);
    case PACK:
        return finalize_pack(d);
    case POINTWISE:
        return finalize_pointwise(d);
    case ELEMENTS:
        return finalize_elements(d);
    case FORWARD:
    case BWD_DATA:
    case BWD_FILTER:
        return finalize_operation(d);
    default:
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor that the library finalizes");
    }
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of)
{
    descriptor *d = of;
    if (!d) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "descriptor");
    if (d->finalized) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "finalized twice");
    for (int r = 0, slot = 0; r < RULES; slot += rules[r++].of == d->type)
        if (rules[r].of == d->type && !d->attribute[slot].count && !rules[r].optional)
            return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute is not set");
    const cudnnStatus_t status = finalize(d);
    d->finalized = !status;
    return status;
}
