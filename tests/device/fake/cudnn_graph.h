/* Descriptors of the fake of cuDNN: their attributes, and what the library checks when they are
 * finalized. */
#ifndef TUTTI_FAKE_CUDNN_GRAPH_H
#define TUTTI_FAKE_CUDNN_GRAPH_H

#include "dag/kernels/conv.h"
#include "dag/kernels/kernel.h"

#include <cudnn.h>

/* Short names of their types. */
#define TENSOR CUDNN_BACKEND_TENSOR_DESCRIPTOR
#define CONVOLUTION CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR
#define FORWARD CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
#define BWD_DATA CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
#define BWD_FILTER CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
#define POINTWISE CUDNN_BACKEND_POINTWISE_DESCRIPTOR
#define ELEMENTS CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
#define GRAPH CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR
#define HEURISTIC CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR
#define CONFIG CUDNN_BACKEND_ENGINECFG_DESCRIPTOR
#define ENGINE CUDNN_BACKEND_ENGINE_DESCRIPTOR
#define PLAN CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
#define PACK CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR
#define KNOB CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR

/* One with the value of its only knob. */
typedef struct engine {
    const char *wrong;   /* what; NULL: it may run */
    int64_t index, tile; /* tile: 0 without a knob, which is CUDNN_KNOB_TYPE_TILE_SIZE */
    double seconds;      /* that a run takes */
    cudnnBackendNumericalNote_t numeric[2];
    int numerics, compiles, fails, large;
    int first, fallback; /* which heuristics offer it */
} engine;

enum { X, W, Y, CONV_TENSORS };

/* What an operation computes, and all that is made of it. */
typedef struct conv {
    const tutti_op *op;
    tutti_conv_desc desc;
    tutti_dtype dtype[CONV_TENSORS];
    int64_t id[CONV_TENSORS];
    int packed, aligned; /* N,H,W,C; to 16 bytes */
    int has_bias;        /* added to y in float32 */
    int relu;            /* then; with a bias alone */
    tutti_dtype bias_dtype;
    int64_t bias_id;
    cudnnHandle_t handle;
} conv;

enum { MOST_ATTRIBUTES = 8, VALUE_BYTES = 64 };

typedef struct descriptor {
    cudnnBackendDescriptorType_t type;
    int finalized;
    struct {
        int64_t count;
        union {
            int64_t number[VALUE_BYTES / 8];
            void *pointer[VALUE_BYTES / sizeof(void *)];
            struct descriptor *part;
            float real;
            cudnnDataType_t type;
            cudnnConvolutionMode_t conv_mode;
            cudnnBackendHeurMode_t heuristic;
            cudnnBackendKnobType_t knob;
            cudnnPointwiseMode_t pointwise;
            cudnnNanPropagation_t nan;
        };
    } attribute[MOST_ATTRIBUTES]; /* in the order of rules[] */
    conv conv; /* of an operation, a graph, a heuristic, an engine, a configuration, a plan */
    const engine
        *engine; /* of an engine (whatever its knob), a configuration, a plan, a given knob */
} descriptor;

/* The attributes of each type, in the order of attribute[]. */
enum { DATA_TYPE, DIMENSIONS, STRIDES, UNIQUE_ID, ALIGNMENT, VIRTUAL };
enum { COMP_TYPE, CONV_MODE, SPATIAL_DIMS, PRE, POST, DILATIONS, FILTER_STRIDES };
enum { CONV = CONV_TENSORS, ALPHA, BETA };
enum { MODE, PRECISION, NANS };
enum { HOW, FROM, BIAS, TO };
enum { OPS, HANDLE };
enum { HEUR_GRAPH, HEUR_MODE };
enum { IDS, POINTERS, WORKSPACE };
enum { ENGINE_GRAPH, ENGINE_INDEX };
enum { CONFIG_ENGINE, CONFIG_KNOBS };
enum { KNOB_TYPE, KNOB_VALUE };

/* The engine with this index; tile -1: any of its values. NULL: none. */
const engine *cudnn_find(int64_t index, int64_t tile);
/* Why an operation has no engine; NULL: it has. */
const char *cudnn_lack(const conv *c);

/* Returns the status; the reason is what cudnnGetLastErrorString says then. */
cudnnStatus_t cudnn_refuse(cudnnStatus_t status, const char *reason);

#endif
