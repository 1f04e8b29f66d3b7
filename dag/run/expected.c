#include "dag/run/expected.h"

#include <math.h>

/* Of one core of a server's processor, and of a GPU of one: operations and bytes in a second, and what any kernel
 * takes. */
static const struct {
    double flops, bytes, least_s;
} rates[] = {[TUTTI_CPU] = {60e9, 8e9, 1e-6}, [TUTTI_CUDA] = {150e12, 2e12, 3e-6}};

double tutti_expected_s(const tutti_graph *graph, int node, tutti_device device)
{
    const tutti_node *n = tutti_graph_get_node(graph, node);
    if (n->kind != TUTTI_NODE_KERNEL) return 0;
    const tutti_dtype dtype = tutti_graph_get_tensor(graph, n->access[0].tensor)->dtype;
    const double flops = n->op->flops ? n->op->flops(n->desc) : 0;
    const double bytes = n->op->bytes ? n->op->bytes(n->desc, tutti_dtype_bytes(dtype))
                                      : (double)tutti_graph_node_bytes(graph, node);
    return rates[device].least_s + fmax(flops / rates[device].flops, bytes / rates[device].bytes);
}
