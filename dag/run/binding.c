#include "dag/run/binding.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdlib.h>
#include <string.h>

static tutti_status bind_memory(tutti_binding *b)
{
    for (int t = 0; t < b->tensors; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(b->graph, t);
        if (tensor->block != t) continue;
        b->memory[t] = tutti_mem_aligned(tensor->block_bytes);
        if (!b->memory[t])
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for tensor '%s' (%zu bytes)",
                tensor->name, tensor->block_bytes);
    }
    for (int t = 0; t < b->tensors; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(b->graph, t);
        if (tensor->block != t) b->memory[t] = (char *)b->memory[tensor->block] + tensor->offset;
    }
    return TUTTI_OK;
}

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

static tutti_status bind_kernel(tutti_binding *b, int i)
{
    const tutti_node *node = tutti_graph_get_node(b->graph, i);
    if (node->accesses > b->widest) b->widest = node->accesses;
    if (node->kind != TUTTI_NODE_KERNEL) return TUTTI_OK;
    if (node->op->desc_bytes != node->desc_bytes)
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "node '%s': %s takes a descriptor of %zu bytes, not %zu", node->name, node->op->name,
            node->op->desc_bytes, node->desc_bytes);
    tutti_dtype dtype = tutti_graph_get_tensor(b->graph, node->access[0].tensor)->dtype;
    const tutti_kernel *kernel = tutti_kernel_find(node->op, TUTTI_CPU, dtype);
    if (!kernel)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "node '%s': no kernel computes %s for %s on a %s",
            node->name, node->op->name, tutti_dtype_name(dtype), tutti_device_name(TUTTI_CPU));
    tutti_status status = check_buffers(b, node);
    if (status) return status;
    status = kernel->open(node->desc, &b->args[i]);
    if (status)
        return tutti_fail(status, "node '%s': %s cannot be opened", node->name, node->op->name);
    b->kernel[i] = kernel;
    return TUTTI_OK;
}

tutti_status tutti_binding_open(const tutti_graph *graph, tutti_binding *binding)
{
    tutti_binding b = {
        .graph = graph, .tensors = tutti_graph_tensors(graph), .nodes = tutti_graph_nodes(graph)};
    b.memory = calloc((size_t)b.tensors + 1, sizeof *b.memory);
    b.kernel = calloc((size_t)b.nodes + 1, sizeof *b.kernel);
    b.args = calloc((size_t)b.nodes + 1, sizeof *b.args);
    tutti_status status = TUTTI_OK;
    if (!b.memory || !b.kernel || !b.args)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d nodes", b.nodes);
    if (!status) status = bind_memory(&b);
    for (int i = 0; i < b.nodes && !status; i++) status = bind_kernel(&b, i);
    if (status)
        tutti_binding_close(&b);
    else
        *binding = b;
    return status;
}

void tutti_binding_close(tutti_binding *binding)
{
    for (int i = 0; binding->kernel && i < binding->nodes; i++)
        if (binding->kernel[i]) binding->kernel[i]->close(binding->args[i]);
    for (int t = 0; binding->memory && t < binding->tensors; t++)
        if (tutti_graph_get_tensor(binding->graph, t)->block == t) free(binding->memory[t]);
    free(binding->memory);
    free(binding->kernel);
    free(binding->args);
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
    const tutti_binding *binding, int node, void *const buf[], tutti_meter *meter)
{
    double mark = tutti_meter_enter(meter, TUTTI_METER_COMPUTE);
    tutti_status status = binding->kernel[node]->fn(binding->args[node], buf, NULL);
    tutti_meter_leave(meter, TUTTI_METER_COMPUTE, mark);
    if (status)
        return tutti_fail(status, "node '%s': %s failed",
            tutti_graph_get_node(binding->graph, node)->name, binding->kernel[node]->op->name);
    return TUTTI_OK;
}
