#include "dag/run/binding.h"

#include "dag/base/clones.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/device/device.h"
#include "dag/kernels/engines.h"
#include "dag/kernels/workspace.h"

#include <stdlib.h>
#include <string.h>

static const tutti_device_kind *const devices = &tutti_device_kind_built;

int tutti_binding_collects_there(const tutti_binding_place *place, const tutti_node *node)
{
    return place->device == TUTTI_CUDA && place->collects_there && !node->edge;
}

/* ---- memory ---- */

enum { HOST = 1, GPU = 2, RECEIVED = 4 };

/* Of each block, whether it must be in main memory, on the GPU, or both; and whether collectives write to it. */
static void find_uses(const tutti_binding *b, unsigned char used[])
{
    for (int t = 0; t < b->tensors; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(b->graph, t);
        const int on_gpu = b->place.device == TUTTI_CUDA && tensor->role != TUTTI_ROLE_TOKEN;
        used[tensor->block] |= on_gpu ? GPU : HOST;
    }
    for (int n = 0; n < b->nodes; n++) {
        const tutti_node *node = tutti_graph_get_node(b->graph, n);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        if (tutti_binding_collects_there(&b->place, node)) continue;
        for (int a = 0; a < node->accesses; a++) {
            const tutti_access *access = &node->access[a];
            const int is_received = access->mode == TUTTI_WRITE || access->mode == TUTTI_READWRITE;
            used[tutti_graph_get_tensor(b->graph, access->tensor)->block] |=
                is_received ? HOST | RECEIVED : HOST;
        }
    }
}

/* Zeroed memory that other ranks can write to; NULL: none. */
static void *get_received(const tutti_binding *b, size_t bytes)
{
    const tutti_binding_memory *m = &b->place.received;
    void *memory = bytes && m->take ? m->take(m->ctx, bytes) : NULL;
    if (memory) memset(memory, 0, bytes);
    return memory;
}

static tutti_status get_host(
    const tutti_binding *b, const tutti_tensor *tensor, int is_received, void **memory)
{
    if (b->place.device == TUTTI_CUDA)
        return devices->pin(b->place.gpu, tensor->block_bytes, memory);
    *memory = is_received ? get_received(b, tensor->block_bytes) : NULL;
    b->placed[tensor->block] = *memory != NULL;
    if (*memory) return TUTTI_OK;
    *memory = tutti_mem_aligned(tensor->block_bytes);
    return *memory ? TUTTI_OK
                   : tutti_fail(TUTTI_ERR_NOMEM, "no memory for tensor '%s' (%zu bytes)",
                         tensor->name, tensor->block_bytes);
}

static tutti_status bind_block(tutti_binding *b, int t, int used)
{
    const tutti_tensor *tensor = tutti_graph_get_tensor(b->graph, t);
    tutti_status status = TUTTI_OK;
    if (used & GPU) status = devices->alloc(b->place.gpu, tensor->block_bytes, &b->gpu[t].pointer);
    if (!status && used & HOST) status = get_host(b, tensor, used & RECEIVED, &b->host[t].pointer);
    return status;
}

/* A tensor's place in a block. */
static void *within(const tutti_buffer *block, const tutti_tensor *tensor)
{
    return block->pointer ? (char *)block->pointer + tensor->offset : NULL;
}

static void describe(tutti_binding *b, int t)
{
    const tutti_tensor *tensor = tutti_graph_get_tensor(b->graph, t);
    const int pinned = b->place.device == TUTTI_CUDA;
    b->host[t] = (tutti_buffer){.pointer = within(&b->host[tensor->block], tensor),
        .bytes = tensor->bytes,
        .memory = pinned ? TUTTI_MEMORY_PINNED : TUTTI_MEMORY_HOST};
    b->gpu[t] = (tutti_buffer){.pointer = within(&b->gpu[tensor->block], tensor),
        .bytes = tensor->bytes,
        .memory = TUTTI_MEMORY_DEVICE,
        .device = b->place.gpu};
}

static tutti_status bind_memory(tutti_binding *b, const unsigned char used[])
{
    tutti_status status = TUTTI_OK;
    for (int t = 0; t < b->tensors && !status; t++) status = bind_block(b, t, used[t]);
    for (int t = 0; t < b->tensors && !status; t++) /* offsets of a block's first tensor are 0 */
        describe(b, t);
    return status;
}

static void free_block(const tutti_binding *b, int t)
{
    if (b->place.payload || tutti_graph_get_tensor(b->graph, t)->block != t) return;
    if (b->place.device == TUTTI_CUDA) {
        devices->unpin(b->place.gpu, b->host[t].pointer);
        devices->release(b->place.gpu, b->gpu[t].pointer);
    } else if (b->placed[t])
        b->place.received.give(b->place.received.ctx, b->host[t].pointer);
    else
        free(b->host[t].pointer);
}

/* ---- kernels ---- */

/* How many of a node's accesses are buffers of its op: those behind them only order the node. */
static int count_buffers(const tutti_node *node, tutti_dtype first)
{
    tutti_op_buffer wanted;
    int count = node->accesses;
    while (count > 0 && !tutti_op_buffer_get(node->op, first, count, 0, &wanted)) count--;
    return count;
}

/* Whether a kernel node's tensors are those that its op takes. */
static tutti_status check_buffers(const tutti_binding *b, const tutti_node *node)
{
    tutti_dtype first = tutti_graph_get_tensor(b->graph, node->access[0].tensor)->dtype;
    int count = count_buffers(node, first);
    if (!count)
        return tutti_fail(TUTTI_ERR_INTERNAL, "node '%s': %s takes %s, not %d buffers", node->name,
            node->op->name, node->op->buffers, node->accesses);
    for (int a = 0; a < count; a++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(b->graph, node->access[a].tensor);
        tutti_op_buffer wanted;
        tutti_op_buffer_get(node->op, first, count, a, &wanted);
        if (tensor->dtype != wanted.dtype)
            return tutti_fail(TUTTI_ERR_INTERNAL, "node '%s': %s of %s must be %s, but '%s' is %s",
                node->name, wanted.name, node->op->name, tutti_dtype_name(wanted.dtype),
                tensor->name, tutti_dtype_name(tensor->dtype));
    }
    return TUTTI_OK;
}

/* The kernel of a node's op on the place. */
static tutti_status find_kernel(
    const tutti_binding *b, const tutti_node *node, const tutti_kernel **found)
{
    if (node->op->desc_bytes != node->desc_bytes)
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "node '%s': %s takes a descriptor of %zu bytes, not %zu", node->name, node->op->name,
            node->op->desc_bytes, node->desc_bytes);
    tutti_dtype dtype = tutti_graph_get_tensor(b->graph, node->access[0].tensor)->dtype;
    const tutti_kernel *kernel = NULL;
    if (b->place.tf32 && dtype == TUTTI_F32) kernel = tutti_kernel_find_tf32(node->op);
    if (!kernel) kernel = tutti_kernel_find(node->op, b->place.device, dtype);
    if (!kernel)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "node '%s': this build has no kernel for %s of %s on %s", node->name, node->op->name,
            tutti_dtype_name(dtype), tutti_device_name(b->place.device));
    *found = kernel;
    return TUTTI_OK;
}

static tutti_status bind_kernel(tutti_binding *b, int i)
{
    const tutti_node *node = tutti_graph_get_node(b->graph, i);
    const tutti_kernel *kernel;
    if (node->accesses > b->widest) b->widest = node->accesses;
    if (node->kind != TUTTI_NODE_KERNEL) return TUTTI_OK;
    tutti_status status = find_kernel(b, node, &kernel);
    if (!status) status = check_buffers(b, node);
    if (status) return status;
    status = kernel->open(node->desc, &b->args[i]);
    if (status)
        return tutti_fail(status, "node '%s': %s cannot be opened", node->name, node->op->name);
    b->kernel[i] = kernel;
    return TUTTI_OK;
}

static tutti_status bind_kernels(tutti_binding *b)
{
    const char *fault = b->place.device == TUTTI_CPU ? tutti_kernel_fault(TUTTI_F32) : NULL;
    if (fault) return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: use another machine, or a GPU", fault);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->nodes && !status; i++) status = bind_kernel(b, i);
    return status;
}

/* ---- how much of a GPU's memory it takes ---- */

static double gib(size_t bytes)
{
    return (double)bytes / 0x1p30;
}

/* opened: all kernels are, so that it is known what they work in. */
static tutti_status refuse_room(const tutti_binding *b, size_t room, int opened)
{
    const size_t needed = b->tensor_bytes + b->kernel_bytes;
    return tutti_fail(TUTTI_ERR_NOMEM,
        "GPU %d has %.2f GiB of free memory, but a step takes %s%.2f (its tensors %.2f, what "
        "kernels work in %.2f): use a smaller batch, fewer ranks for each GPU, or bf16",
        b->place.gpu, gib(room), opened ? "" : "at least ", gib(needed), gib(b->tensor_bytes),
        gib(b->kernel_bytes));
}

/* Once kernels are open: their libraries have taken memory of their own by then, as much as they like. */
static tutti_status check_rest(const tutti_binding *b, size_t room)
{
    const int gpu = b->place.gpu;
    size_t rest;
    tutti_status status = devices->room(gpu, &rest);
    if (status) return status;
    const size_t libraries = room - b->kernel_bytes > rest ? room - b->kernel_bytes - rest : 0;
    if (b->tensor_bytes > rest)
        return tutti_fail(TUTTI_ERR_NOMEM,
            "GPU %d has %.2f GiB of free memory, but the tensors of a step take %.2f: of %.2f that "
            "were free, kernels work in %.2f, and their libraries, or other programs, have taken "
            "%.2f: use a smaller batch, fewer ranks for each GPU, or bf16",
            gpu, gib(rest), gib(b->tensor_bytes), gib(room), gib(b->kernel_bytes), gib(libraries));
    tutti_log(TUTTI_LOG_INFO,
        "GPU %d: a step takes %.2f GiB of %.2f that are free (its tensors %.2f, what kernels work "
        "in "
        "%.2f), and libraries of kernels have taken %.2f",
        gpu, gib(b->tensor_bytes + b->kernel_bytes), gib(room), gib(b->tensor_bytes),
        gib(b->kernel_bytes), gib(libraries));
    return TUTTI_OK;
}

/* Opens kernels before tensors are there: what they need is known only then, also where it is too much. */
static tutti_status bind_kernels_on_gpu(tutti_binding *b, const unsigned char used[])
{
    size_t room;
    tutti_status status = devices->room(b->place.gpu, &room);
    if (status) return status;
    for (int t = 0; t < b->tensors; t++)
        if (used[t] & GPU) b->tensor_bytes += tutti_graph_get_tensor(b->graph, t)->block_bytes;
    tutti_workspace_begin(room > b->tensor_bytes ? room - b->tensor_bytes : 0);
    tutti_engines_begin(b->place.engines);
    status = bind_kernels(b);
    tutti_engines_end();
    b->kernel_bytes = tutti_workspace_end();
    if (b->tensor_bytes + b->kernel_bytes > room) return refuse_room(b, room, !status);
    return status ? status : check_rest(b, room);
}

/* Nothing is there. */
static void bind_payload(tutti_binding *b)
{
    for (int t = 0; t < b->tensors; t++)
        b->host[t] = (tutti_buffer){.pointer = b->place.payload,
            .bytes = tutti_graph_get_tensor(b->graph, t)->bytes,
            .memory = TUTTI_MEMORY_DEVICE};
    for (int n = 0; n < b->nodes; n++) {
        const int accesses = tutti_graph_get_node(b->graph, n)->accesses;
        if (accesses > b->widest) b->widest = accesses;
    }
}

static tutti_status bind(tutti_binding *b)
{
    if (b->place.payload) {
        bind_payload(b);
        return TUTTI_OK;
    }
    unsigned char *used = calloc((size_t)b->tensors + 1, 1);
    if (!used) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d tensors", b->tensors);
    find_uses(b, used);
    tutti_status status =
        b->place.device == TUTTI_CUDA ? bind_kernels_on_gpu(b, used) : bind_kernels(b);
    if (!status) status = bind_memory(b, used);
    free(used);
    return status;
}

/* Sorts the nodes that run by section, by counting. */
static void list_sections(tutti_binding *b)
{
    for (int n = 0; n < b->nodes; n++) {
        const tutti_node *node = tutti_graph_get_node(b->graph, n);
        if (tutti_node_runs(node)) b->first[node->section + 1]++;
    }
    for (int s = 0; s < b->sections; s++) b->first[s + 1] += b->first[s];
    const int all = b->first[b->sections];
    for (int n = b->nodes - 1; n >= 0; n--) {
        const tutti_node *node = tutti_graph_get_node(b->graph, n);
        if (tutti_node_runs(node)) b->running[--b->first[node->section + 1]] = n;
    }
    /* Now first[s + 1] is where section s begins. */
    memmove(b->first, b->first + 1, (size_t)b->sections * sizeof *b->first);
    b->first[b->sections] = all;
}

tutti_status tutti_binding_open(
    const tutti_graph *graph, const tutti_binding_place *place, tutti_binding *binding)
{
    tutti_binding b = {.graph = graph,
        .place = *place,
        .tensors = tutti_graph_tensors(graph),
        .nodes = tutti_graph_nodes(graph),
        .sections = tutti_graph_sections(graph)};
    b.host = calloc((size_t)b.tensors + 1, sizeof *b.host);
    b.gpu = calloc((size_t)b.tensors + 1, sizeof *b.gpu);
    b.placed = calloc((size_t)b.tensors + 1, 1);
    b.kernel = calloc((size_t)b.nodes + 1, sizeof *b.kernel);
    b.args = calloc((size_t)b.nodes + 1, sizeof *b.args);
    b.first = calloc((size_t)b.sections + 1, sizeof *b.first);
    b.running = calloc((size_t)b.nodes + 1, sizeof *b.running);
    tutti_status status = tutti_isa_check();
    if (!status &&
        (!b.host || !b.gpu || !b.placed || !b.kernel || !b.args || !b.first || !b.running))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d nodes", b.nodes);
    if (!status) list_sections(&b);
    if (!status && place->device == TUTTI_CUDA) status = devices->select(place->gpu);
    if (!status) status = bind(&b);
    if (status)
        tutti_binding_close(&b);
    else
        *binding = b;
    return status;
}

/* A node without args of its own: a kernel is closed as soon as it is open. */
static tutti_status choose_engine(const tutti_binding *b, const tutti_node *node)
{
    const tutti_kernel *kernel;
    void *args = NULL;
    tutti_status status = find_kernel(b, node, &kernel);
    if (!status) status = kernel->open(node->desc, &args);
    if (status)
        return tutti_fail(status, "node '%s': %s cannot be opened", node->name, node->op->name);
    kernel->close(args);
    return TUTTI_OK;
}

tutti_status tutti_binding_choose_engines(
    const tutti_graph *graph, const tutti_binding_place *place)
{
    const tutti_binding b = {.graph = graph, .place = *place};
    tutti_status status = devices->select(place->gpu);
    tutti_engines_begin(place->engines);
    for (int n = 0; n < tutti_graph_nodes(graph) && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind == TUTTI_NODE_KERNEL) status = choose_engine(&b, node);
    }
    tutti_engines_end();
    return status;
}

void tutti_binding_close(tutti_binding *binding)
{
    for (int i = 0; binding->kernel && i < binding->nodes; i++)
        if (binding->kernel[i]) binding->kernel[i]->close(binding->args[i]);
    const int has_memory = binding->host && binding->gpu && binding->placed;
    for (int t = 0; has_memory && t < binding->tensors; t++) free_block(binding, t);
    free(binding->host);
    free(binding->gpu);
    free(binding->placed);
    free(binding->kernel);
    free(binding->args);
    free(binding->first);
    free(binding->running);
    memset(binding, 0, sizeof *binding);
}

tutti_status tutti_binding_check(
    const tutti_binding *binding, int tensor, size_t bytes, const char *what)
{
    const tutti_tensor *t = tutti_graph_get_tensor(binding->graph, tensor);
    if (bytes == t->bytes) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s of '%s': %zu bytes, not %zu", what, t->name, bytes, t->bytes);
}

tutti_status tutti_binding_execute(
    const tutti_binding *binding, int node, void *const buf[], void *queue)
{
    const tutti_kernel *kernel = binding->kernel[node];
    if (binding->place.payload) return TUTTI_OK;
    tutti_status status = kernel->fn(binding->args[node], buf, queue);
    if (!status) return TUTTI_OK;
    return tutti_fail(status, "node '%s': %s failed",
        tutti_graph_get_node(binding->graph, node)->name, kernel->op->name);
}

/* These have one row, which has `many`. */
static tutti_status execute_alike(const tutti_binding *binding, int count, const int nodes[],
    void *const *const buf[], void *queue)
{
    enum { AT_ONCE = 256 };
    const tutti_kernel *kernel = binding->kernel[nodes[0]];
    for (int first = 0; first < count; first += AT_ONCE) {
        const int here = count - first < AT_ONCE ? count - first : AT_ONCE;
        void *args[AT_ONCE];
        for (int i = 0; i < here; i++) args[i] = binding->args[nodes[first + i]];
        tutti_status status = kernel->many(here, args, buf + first, queue);
        if (status)
            return tutti_fail(status, "node '%s' and %d others: %s failed",
                tutti_graph_get_node(binding->graph, nodes[first])->name, here - 1,
                kernel->op->name);
    }
    return TUTTI_OK;
}

tutti_status tutti_binding_execute_many(const tutti_binding *binding, int count, const int nodes[],
    void *const *const buf[], void *queue)
{
    int alike = count > 1 && binding->kernel[nodes[0]]->many != NULL;
    for (int i = 1; i < count; i++)
        alike = alike && binding->kernel[nodes[i]] == binding->kernel[nodes[0]];
    if (alike) return execute_alike(binding, count, nodes, buf, queue);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < count && !status; i++)
        status = tutti_binding_execute(binding, nodes[i], buf[i], queue);
    return status;
}
