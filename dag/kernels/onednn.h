/* The oneDNN side of the CPU kernels: the only pair of files that names that library and handles
 * the differences between its 2.x and 3.x interfaces.
 *
 * An opened kernel is a short program: reorders of inputs into the layouts the library prefers, one
 * primitive, reorders of outputs back into Tutti's layouts. Opening builds everything (primitives,
 * memories, scratch); running only points the memories at the caller's buffers and executes.
 * Reorders exist only where the layouts differ, which for NHWC activations and (K,R,S,C) weights
 * means the small tensors: weights, and images of few channels.
 *
 * An opened kernel owns everything it needs, scratch included, so different ones may run at once.
 * The library would spread a primitive over OpenMP threads; opening and running set one thread for
 * the calling thread and then restore the previous setting.
 *
 * Buffers are in the op's order of dag/kernels/kernel.h. Errors: UNSUPPORTED when the library does
 * not support the computation, NOMEM, KERNEL when running fails; all logged here. Threads:
 * open/close [M], run [A], as in kernel.h. Source: https://uxlfoundation.github.io/oneDNN,
 * "Developer Guide". */
#ifndef TUTTI_ONEDNN_H
#define TUTTI_ONEDNN_H

#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/open.h"
#include "dag/kernels/pool.h"

/* Open a pass of a layer; the caller has checked the descriptor. dtype: of values, their gradients
 * and the weights, F32 or BF16; biases, and gradients of weights and biases, are float32. to: the
 * type of y. */
tutti_status tutti_onednn_conv(
    const tutti_conv_desc *desc, tutti_pass pass, tutti_dtype dtype, void **args);
tutti_status tutti_onednn_dense(
    const tutti_dense_desc *desc, tutti_pass pass, tutti_dtype dtype, tutti_dtype to, void **args);
tutti_status tutti_onednn_pool(
    const tutti_pool_desc *desc, int maximum, tutti_pass pass, tutti_dtype dtype, void **args);

/* Bytes of the workspace that a maximum pooling passes to its backward pass; 0 when the library
 * refuses (logged). */
size_t tutti_onednn_pool_workspace(const tutti_pool_desc *desc, tutti_dtype dtype);

/* Runs a kernel opened by one of the above (a tutti_kernel_fn); closes it (accepts NULL). */
tutti_status tutti_onednn_run(const void *args, void *const buf[], void *queue);
void tutti_onednn_close(void *args);

/* Here are also tutti_kernel_library, tutti_kernel_instructions and tutti_kernel_fault (kernel.h). */

#endif
