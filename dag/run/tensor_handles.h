/* The tensors of a run as StarPU's data, each registered where it lives: on the CPU, in main memory; with a
 * GPU, on it (tokens stay in main memory). What a GPU's tensors have in main memory is registered, too, so
 * that StarPU copies between the two places and never allocates any. [M] */
#ifndef TUTTI_TENSOR_HANDLES_H
#define TUTTI_TENSOR_HANDLES_H

#include "dag/run/binding.h"

#include <starpu.h>

typedef struct tutti_tensor_handles {
    const tutti_binding *binding; /* borrowed */
    unsigned lives;               /* the memory node where tensors live */
    starpu_data_handle_t *handle; /* one per tensor */
    void **lent;                  /* with a GPU: what the main thread has of an acquired tensor */
    tutti_mode *mode;             /* and what it may do */
    void *queue, *event;          /* with a GPU: for these copies */
} tutti_tensor_handles;

/* StarPU runs, with the worker of the binding's GPU. NOMEM, KERNEL; UNSUPPORTED: a tensor is too long. */
tutti_status tutti_tensor_handles_open(const tutti_binding *binding, tutti_tensor_handles *handles);
/* No task uses them any more. Accepts zeroes. */
void tutti_tensor_handles_close(tutti_tensor_handles *handles);

/* As a runner's (run.h), once everything has ended. */
tutti_status tutti_tensor_handles_acquire(
    tutti_tensor_handles *handles, int tensor, tutti_mode mode, void **data);
/* Writes back what was acquired to be written. KERNEL, TIMEOUT. */
tutti_status tutti_tensor_handles_release(tutti_tensor_handles *handles, int tensor);

#endif
