/* The oneDNN side of the CPU kernels: the only file pair that names that library, and the place
 * where its 2.x and 3.x interfaces differ.
 *
 * An opened kernel is a short program: reorders of inputs into the layouts the library likes best,
 * one primitive, reorders of outputs back into Tutti's layouts. Opening builds everything
 * (primitives, memories, scratch); running only points the memories at the caller's buffers and
 * executes. Reorders exist only where the layouts differ, which for NHWC activations and (K,R,S,C)
 * weights means the small tensors: weights, and images of few channels.
 *
 * Everything an opened kernel needs hangs on it, scratch included, so different ones may run at
 * once. The library would spread a primitive over OpenMP threads; opening and running set one
 * thread for the calling thread and put back what was set before.
 *
 * Buffers are in the op's order of dag/kernels/kernel.h. Errors: UNSUPPORTED when the library has
 * no such computation, NOMEM, KERNEL when running fails; all logged here. Threads: open/close [M],
 * run [A] as kernel.h says. Source: https://uxlfoundation.github.io/oneDNN, "Developer Guide". */
#ifndef TUTTI_ONEDNN_H
#define TUTTI_ONEDNN_H

#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/pool.h"

typedef enum tutti_pass {
    TUTTI_PASS_FORWARD,
    TUTTI_PASS_BACKWARD_DATA,
    TUTTI_PASS_BACKWARD_WEIGHTS
} tutti_pass;

/* Opens a pass of a layer; the descriptor has been checked by the caller. */
tutti_status tutti_onednn_conv(const tutti_conv_desc *desc, tutti_pass pass, void **args);
tutti_status tutti_onednn_dense(const tutti_dense_desc *desc, tutti_pass pass, void **args);
tutti_status tutti_onednn_pool(
    const tutti_pool_desc *desc, int maximum, tutti_pass pass, void **args);

/* Bytes of the workspace that a maximum pooling hands to its backward pass; 0 when the library
 * refuses (logged). */
size_t tutti_onednn_pool_workspace(const tutti_pool_desc *desc);

/* Runs what one of the above has opened (a tutti_kernel_fn); releases it, accepts NULL. */
tutti_status tutti_onednn_run(const void *args, void *const buf[], void *queue);
void tutti_onednn_close(void *args);

/* "oneDNN 2.6.3". [P] */
const char *tutti_onednn_version(void);

#endif
