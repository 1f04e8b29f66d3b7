/* The kernels: what can be computed on tensors, and the one function type that computes it.
 *
 * Each family (conv.h, dense.h, norm.h, act.h, pool.h, arith.h, loss.h, optim.h) defines a
 * descriptor: a plain struct of numbers that specifies the computation. `open` turns a descriptor
 * into what the kernel needs at run time (cached primitives, scratch memory); `fn` computes, any
 * number of times, one call at a time per opened kernel (different opened kernels run in parallel);
 * `close` releases. table_cpu.c lists the CPU kernels.
 *
 * All tensors are dense float32 unless a family says otherwise; images are N,H,W,C; convolution
 * weights (K,R,S,C); dense weights (K,C). Threads: open/close [M], fn [A]. Every kernel runs on the
 * calling thread only and gives the same bits for the same input, run after run. */
#ifndef TUTTI_KERNEL_H
#define TUTTI_KERNEL_H

#include "dag/base/status.h"

#include <stddef.h>

/* X(op, name, buffers): buffers is the order in which a node lists its accesses, separated by ",";
 * -> precedes what is written; [..] is present only when the descriptor says so. */
#define TUTTI_OP_LIST(X)                                                                           \
    X(CONV, "conv", "x,w,[b]->y")                                                                  \
    X(CONV_BWD_DATA, "conv_bwd_data", "dy,w->dx")                                                  \
    X(CONV_BWD_WEIGHTS, "conv_bwd_weights", "x,dy->dw,[db]")                                       \
    X(DENSE, "dense", "x,w,[b]->y")                                                                \
    X(DENSE_BWD_DATA, "dense_bwd_data", "dy,w->dx")                                                \
    X(DENSE_BWD_WEIGHTS, "dense_bwd_weights", "x,dy->dw,[db]")                                     \
    X(NORM, "norm", "x,scaleshift->y,stats,[mask]")                                                \
    X(NORM_INFER, "norm_infer", "x,scaleshift,running->y")                                         \
    X(NORM_BWD, "norm_bwd", "x,dy,scaleshift,stats,[mask]->dx,dscaleshift")                        \
    X(NORM_RUNNING, "norm_running", "stats_sum->running(rw)")                                      \
    X(RELU, "relu", "x->y")                                                                        \
    X(RELU_BWD, "relu_bwd", "y,dy->dx")                                                            \
    X(DROPOUT, "dropout", "x,step->y")                                                             \
    X(DROPOUT_BWD, "dropout_bwd", "dy,step->dx")                                                   \
    X(POOL_MAX, "pool_max", "x->y,argmax")                                                         \
    X(POOL_MAX_BWD, "pool_max_bwd", "dy,argmax->dx")                                               \
    X(POOL_AVG, "pool_avg", "x->y")                                                                \
    X(POOL_AVG_BWD, "pool_avg_bwd", "dy->dx")                                                      \
    X(SHORTCUT, "shortcut", "x->y")                                                                \
    X(SHORTCUT_BWD, "shortcut_bwd", "dy->dx")                                                      \
    X(SUM, "sum", "x0,x1,...->y")                                                                  \
    X(SOFTMAX_XENT, "softmax_xent", "logits,labels->dlogits,metrics")                              \
    X(XENT_EVAL, "xent_eval", "logits,labels->metrics")                                            \
    X(SGD, "sgd", "g,rate->w(rw),v(rw)")

typedef enum tutti_op {
#define TUTTI_OP_ENUM(op, name, buffers) TUTTI_OP_##op,
    TUTTI_OP_LIST(TUTTI_OP_ENUM)
#undef TUTTI_OP_ENUM
        TUTTI_OP_COUNT
} tutti_op;

/* The kernel function type. args: what open returned; buf: one pointer per buffer, in the op's
 * order; queue: NULL on the CPU, a stream on CUDA. */
typedef tutti_status tutti_kernel_fn(const void *args, void *const buf[], void *queue);

typedef struct tutti_kernel {
    const char *name, *buffers;
    size_t desc_bytes; /* size of the family's descriptor struct */
    /* INVAL (logged) for an invalid descriptor; UNSUPPORTED, NOMEM. */
    tutti_status (*open)(const void *desc, void **args);
    tutti_kernel_fn *fn;
    void (*close)(void *args);         /* accepts NULL */
    double (*flops)(const void *desc); /* multiply and add count as two; 0: not worth counting */
} tutti_kernel;

/* The CPU kernel of an op; NULL when op is not a tutti_op. [P] */
const tutti_kernel *tutti_kernel_cpu(int op);
/* "conv", ...; "unknown". [P] */
const char *tutti_op_name(int op);
/* The library that computes, with its version: "oneDNN 2.6.3". [P] */
const char *tutti_kernel_library(void);

#endif
