/* Ops and kernels: what can be computed on tensors, and the functions that compute it.
 *
 * Each family (pixel.h, mixup.h, conv.h, dense.h, norm.h, act.h, pool.h, lrn.h, arith.h, loss.h,
 * optim.h, codec.h) declares its ops and defines a descriptor: a plain struct of numbers that specifies the
 * computation. An op is the same on every device. A kernel computes an op on one kind of device, for
 * one element type: `open` turns a descriptor into what the kernel needs at run time (cached primitives, scratch
 * memory); `fn` computes, any number of times, one call at a time per opened kernel (different
 * opened kernels run in parallel); `close` releases.
 *
 * <family>_ops.c or <family>_cpu.c defines the family's ops, the latter its kernels for the CPU as rows
 * of a table; table.c collects the tables. <family>_cuda.cu has the rows for CUDA (those of convolution only in a build
 * with cuDNN). The rows are the only list of ops: other lists are made from them.
 *
 * All tensors are dense; images are N,H,W,C; convolution weights (K,R,S,C); dense weights (K,C).
 * Threads: open/close [M], fn [A]. Every kernel runs on the calling thread only and gives the same
 * bits for the same input, run after run. */
#ifndef TUTTI_KERNEL_H
#define TUTTI_KERNEL_H

#include "dag/base/dtype.h"
#include "dag/base/status.h"

#include <stddef.h>

/* The part of a training step that an op belongs to. */
typedef enum tutti_op_part {
    TUTTI_PART_FORWARD,
    TUTTI_PART_BACKWARD,
    TUTTI_PART_SUM, /* of micro-batches, statistics, or values */
    TUTTI_PART_UPDATE,
} tutti_op_part;

/* An op's address identifies it: compare addresses, not names. */
typedef struct tutti_op {
    const char *name; /* unique: "conv" */
    /* The order in which a node lists its accesses, separated by ","; -> precedes what is written;
     * [..] is present only when the descriptor says so; "..." repeats the buffer before it, any
     * number of times: "x,w,[b]->y", "x,...->y". A buffer has the element type of the first one,
     * unless its name is followed by another: "g,rate:F32->w:F32(rw)". */
    const char *buffers;
    tutti_op_part part;
    size_t desc_bytes; /* size of the family's descriptor struct */
    /* Operations of one run; multiply and add count as two. NULL: not worth counting. [P] */
    double (*flops)(const void *desc);
    /* Bytes that one run must read and write, when the elements of the first buffer have this size.
     * NULL: it reads each buffer that it reads once, and writes each that it writes once. [P] */
    double (*bytes)(const void *desc, size_t element);
} tutti_op;

/* Kinds of devices. */
typedef enum tutti_device { TUTTI_CPU, TUTTI_CUDA } tutti_device;

/* The kernel function type. args: what open returned; buf: one pointer per buffer, in the op's
 * order; queue: NULL on the CPU; on a GPU its stream, on which fn leaves what is to be computed. */
typedef tutti_status tutti_kernel_fn(const void *args, void *const buf[], void *queue);

/* `count` calls of the function of one row: args[i] and buf[i] are those of call i. None of these writes what
 * another one reads or writes. */
typedef tutti_status tutti_kernel_many(
    int count, void *const args[], void *const *const buf[], void *queue);

/* A row of the table. dtype: the element type of the op's first buffer. */
typedef struct tutti_kernel {
    const tutti_op *op;
    tutti_device device;
    tutti_dtype dtype;
    /* INVAL (logged) for an invalid descriptor; UNSUPPORTED, NOMEM. On a GPU, the one that is the
     * calling thread's; fn is called on the same. */
    tutti_status (*open)(const void *desc, void **args);
    tutti_kernel_fn *fn;
    void (*close)(void *args); /* accepts NULL */
    /* Computes what fn would, with the same bits, in fewer launches. NULL: only fn computes this. */
    tutti_kernel_many *many;
} tutti_kernel;

/* The i-th row, from 0; NULL past the end. [P] */
const tutti_kernel *tutti_kernel_get(int i);
/* The row of this op, device and type; NULL when there is none. [P] */
const tutti_kernel *tutti_kernel_find(const tutti_op *op, tutti_device device, tutti_dtype dtype);
/* For this op on CUDA, another row for float32: its products may round their factors to TF32, which
 * keeps 10 bits behind the point and is faster. NULL where there is none: the op has no products, or no
 * kernel. These are not among the rows above, which never round so. [P] */
const tutti_kernel *tutti_kernel_find_tf32(const tutti_op *op);
/* The i-th op, from 0, in the order of their first rows; NULL past the end. [P] */
const tutti_op *tutti_op_get(int i);

/* What an op's text says of one of its buffers. */
typedef struct tutti_op_buffer {
    char name[16];
    tutti_dtype dtype;
} tutti_op_buffer;
/* Buffer i of `count`, of an op whose first buffer has the type `dtype`. Returns 0 if the op does
 * not take that many. [P] */
int tutti_op_buffer_get(
    const tutti_op *op, tutti_dtype dtype, int count, int i, tutti_op_buffer *buffer);

/* "CPU", "CUDA"; "unknown". [P] */
const char *tutti_device_name(tutti_device device);
/* The library that computes, with its version: "oneDNN 2.6.3". [P] */
const char *tutti_kernel_library(void);
/* The newest instruction set that it may use on this processor: "AVX-512 with bf16". [P] */
const char *tutti_kernel_instructions(void);
/* Why this processor should not compute in this type; NULL: it may. [P] */
const char *tutti_kernel_fault(tutti_dtype dtype);

#endif
