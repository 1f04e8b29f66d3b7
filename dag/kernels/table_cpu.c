/* The functions that compute each op on the CPU. */
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/cpu.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/onednn.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"

#define TUTTI_OP_TEXT(op, name, buffers)                                                           \
    static const char name_##op[] = name;                                                          \
    static const char buffers_##op[] = buffers;
TUTTI_OP_LIST(TUTTI_OP_TEXT)
#undef TUTTI_OP_TEXT

#define ROW(op, desc, open, fn, close, flops)                                                      \
    [TUTTI_OP_##op] = {name_##op, buffers_##op, sizeof(desc), open, fn, close, flops}

/* A pass of a layer that oneDNN computes. */
#define LIBRARY(op, desc, name, flops)                                                             \
    ROW(op, desc, tutti_##name##_open_cpu, tutti_onednn_run, tutti_onednn_close, flops)

/* Our own loops, with the descriptor as their only argument. */
#define LOOP(op, desc, family, name)                                                               \
    ROW(op, desc, tutti_##family##_open_cpu, tutti_##name##_cpu, tutti_cpu_free, tutti_cpu_no_flops)

#define NORM(op, name)                                                                             \
    ROW(op, tutti_norm_desc, tutti_norm_open_cpu, tutti_##name##_cpu, tutti_norm_close_cpu,        \
        tutti_cpu_no_flops)

static const tutti_kernel kernels[TUTTI_OP_COUNT] = {
    LIBRARY(CONV, tutti_conv_desc, conv, tutti_conv_flops),
    LIBRARY(CONV_BWD_DATA, tutti_conv_desc, conv_bwd_data, tutti_conv_flops),
    LIBRARY(CONV_BWD_WEIGHTS, tutti_conv_desc, conv_bwd_weights, tutti_conv_flops),
    LIBRARY(DENSE, tutti_dense_desc, dense, tutti_dense_flops),
    LIBRARY(DENSE_BWD_DATA, tutti_dense_desc, dense_bwd_data, tutti_dense_flops),
    LIBRARY(DENSE_BWD_WEIGHTS, tutti_dense_desc, dense_bwd_weights, tutti_dense_flops),
    NORM(NORM, norm),
    NORM(NORM_INFER, norm_infer),
    NORM(NORM_BWD, norm_bwd),
    LOOP(NORM_RUNNING, tutti_norm_running_desc, norm_running, norm_running),
    LOOP(RELU, tutti_relu_desc, relu, relu),
    LOOP(RELU_BWD, tutti_relu_desc, relu, relu_bwd),
    LOOP(DROPOUT, tutti_dropout_desc, dropout, dropout),
    LOOP(DROPOUT_BWD, tutti_dropout_desc, dropout, dropout),
    LIBRARY(POOL_MAX, tutti_pool_desc, pool_max, tutti_cpu_no_flops),
    LIBRARY(POOL_MAX_BWD, tutti_pool_desc, pool_max_bwd, tutti_cpu_no_flops),
    LIBRARY(POOL_AVG, tutti_pool_desc, pool_avg, tutti_cpu_no_flops),
    LIBRARY(POOL_AVG_BWD, tutti_pool_desc, pool_avg_bwd, tutti_cpu_no_flops),
    LOOP(SHORTCUT, tutti_shortcut_desc, shortcut, shortcut),
    LOOP(SHORTCUT_BWD, tutti_shortcut_desc, shortcut, shortcut_bwd),
    LOOP(SUM, tutti_sum_desc, sum, sum),
    LOOP(SOFTMAX_XENT, tutti_xent_desc, xent, softmax_xent),
    LOOP(XENT_EVAL, tutti_xent_desc, xent, xent_eval),
    LOOP(SGD, tutti_sgd_desc, sgd, sgd),
};

const tutti_kernel *tutti_kernel_cpu(int op)
{
    return op >= 0 && op < TUTTI_OP_COUNT ? &kernels[op] : NULL;
}

const char *tutti_op_name(int op)
{
    return op >= 0 && op < TUTTI_OP_COUNT ? kernels[op].name : "unknown";
}

const char *tutti_kernel_library(void)
{
    return tutti_onednn_version();
}
