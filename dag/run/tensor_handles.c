#include "dag/run/tensor_handles.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/device/device.h"
#include "dag/run/starpu_mode.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_ELEMENT = 64 };
static const double longest_copy_s = 60;
static const tutti_device_kind *const devices = &tutti_device_kind_built;

static const char *name_of(const tutti_tensor_handles *h, int tensor)
{
    return tutti_graph_get_tensor(h->binding->graph, tensor)->name;
}

/* ---- registering ---- */

static tutti_status register_tensor(tutti_tensor_handles *h, int t)
{
    /* Long tensors have more elements than StarPU can count, so elements of 64 bytes are
     * registered where they divide the tensor; elsewhere they would reach past its end. */
    const tutti_tensor *tensor = tutti_graph_get_tensor(h->binding->graph, t);
    size_t element = tensor->bytes % LONG_ELEMENT ? tutti_dtype_bytes(tensor->dtype) : LONG_ELEMENT;
    size_t count = tensor->bytes ? tensor->bytes / element : 1;
    if (count > UINT32_MAX)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "tensor '%s' has %zu bytes, too many for StarPU",
            tensor->name, tensor->bytes);
    const uintptr_t host = (uintptr_t)h->binding->host[t].pointer;
    const uintptr_t gpu = (uintptr_t)h->binding->gpu[t].pointer;
    starpu_vector_data_register(&h->handle[t], gpu ? (int)h->lives : STARPU_MAIN_RAM,
        gpu ? gpu : host, (uint32_t)count, element);
    if (gpu && host) starpu_vector_ptr_register(h->handle[t], STARPU_MAIN_RAM, host, host, 0);
    return TUTTI_OK;
}

static tutti_status open_copies(tutti_tensor_handles *h)
{
    const int gpu = h->binding->place.gpu;
    h->lent = calloc((size_t)h->binding->tensors + 1, sizeof *h->lent);
    h->mode = calloc((size_t)h->binding->tensors + 1, sizeof *h->mode);
    if (!h->lent || !h->mode)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d tensors", h->binding->tensors);
    tutti_status status = devices->queue_open(gpu, &h->queue);
    return status ? status : devices->event_open(gpu, &h->event);
}

tutti_status tutti_tensor_handles_open(const tutti_binding *binding, tutti_tensor_handles *handles)
{
    const int has_gpu = binding->place.device == TUTTI_CUDA;
    tutti_status status = TUTTI_OK;
    *handles = (tutti_tensor_handles){.binding = binding, .lives = STARPU_MAIN_RAM};
    if (has_gpu)
        handles->lives = starpu_worker_get_memory_node(
            (unsigned)starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0));
    handles->handle = calloc((size_t)binding->tensors + 1, sizeof(starpu_data_handle_t));
    if (!handles->handle)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d handles", binding->tensors);
    if (!status && has_gpu) status = open_copies(handles);
    for (int t = 0; t < binding->tensors && !status; t++) status = register_tensor(handles, t);
    if (status) tutti_tensor_handles_close(handles);
    return status;
}

void tutti_tensor_handles_close(tutti_tensor_handles *handles)
{
    for (int t = 0; handles->handle && t < handles->binding->tensors; t++)
        if (handles->handle[t]) starpu_data_unregister_no_coherency(handles->handle[t]);
    if (handles->binding) {
        devices->event_close(handles->binding->place.gpu, handles->event);
        devices->queue_close(handles->binding->place.gpu, handles->queue);
    }
    free(handles->handle);
    free(handles->lent);
    free(handles->mode);
    *handles = (tutti_tensor_handles){0};
}

/* ---- the main thread's turn ---- */

/* Copies, and waits for the end. */
static tutti_status copy(tutti_tensor_handles *h, int tensor, void *to, const void *from)
{
    const int gpu = h->binding->place.gpu;
    const double until_s = tutti_clock_s() + longest_copy_s;
    int passed = 0;
    tutti_status status = devices->copy(gpu, to, from, h->binding->gpu[tensor].bytes, h->queue);
    if (!status) status = devices->event_mark(gpu, h->event, h->queue);
    while (!status && !passed) {
        status = devices->event_passed(gpu, h->event, &passed);
        if (!status && !passed && tutti_clock_s() > until_s)
            status = tutti_fail(TUTTI_ERR_TIMEOUT, "GPU %d: tensor '%s' was not copied in %g s",
                gpu, name_of(h, tensor), longest_copy_s);
    }
    return status;
}

/* With a GPU: memory for the main thread, with the tensor's value. */
static tutti_status lend(tutti_tensor_handles *h, int tensor, tutti_mode mode)
{
    const tutti_buffer *at = &h->binding->gpu[tensor];
    void *memory = tutti_mem_aligned(at->bytes);
    if (!memory)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a copy of tensor '%s' (%zu bytes)",
            name_of(h, tensor), at->bytes);
    tutti_status status = mode & TUTTI_READ ? copy(h, tensor, memory, at->pointer) : TUTTI_OK;
    if (status == TUTTI_ERR_TIMEOUT) return status; /* the copy may still write */
    if (status) {
        free(memory);
        return status;
    }
    h->lent[tensor] = memory;
    h->mode[tensor] = mode;
    return TUTTI_OK;
}

static int is_on_gpu(const tutti_tensor_handles *h, int tensor)
{
    return h->binding->gpu[tensor].pointer != NULL;
}

static unsigned node_of(const tutti_tensor_handles *h, int tensor)
{
    return is_on_gpu(h, tensor) ? h->lives : STARPU_MAIN_RAM;
}

tutti_status tutti_tensor_handles_acquire(
    tutti_tensor_handles *handles, int tensor, tutti_mode mode, void **data)
{
    const unsigned node = node_of(handles, tensor);
    starpu_data_handle_t handle = handles->handle[tensor];
    int rc = starpu_data_acquire_on_node(handle, (int)node, tutti_starpu_mode(mode));
    if (rc)
        return tutti_fail(TUTTI_ERR_INTERNAL, "StarPU cannot acquire tensor '%s': %s",
            name_of(handles, tensor), strerror(-rc));
    if (!is_on_gpu(handles, tensor)) {
        *data = handles->binding->host[tensor].pointer;
        return TUTTI_OK;
    }
    tutti_status status = lend(handles, tensor, mode);
    if (status) {
        starpu_data_release_on_node(handle, (int)node);
        return status;
    }
    *data = handles->lent[tensor];
    return TUTTI_OK;
}

tutti_status tutti_tensor_handles_release(tutti_tensor_handles *handles, int tensor)
{
    tutti_status status = TUTTI_OK;
    if (is_on_gpu(handles, tensor)) {
        void *memory = handles->lent[tensor];
        if (handles->mode[tensor] & TUTTI_WRITE)
            status = copy(handles, tensor, handles->binding->gpu[tensor].pointer, memory);
        if (status != TUTTI_ERR_TIMEOUT) free(memory); /* else the copy may still read */
        handles->lent[tensor] = NULL;
    }
    starpu_data_release_on_node(handles->handle[tensor], (int)node_of(handles, tensor));
    return status;
}
