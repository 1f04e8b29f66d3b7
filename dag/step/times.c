#include "dag/step/times.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/base/rng.h"
#include "dag/kernels/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_RUNS = 2, MOST_RUNS = 20 };
static const double enough_s = 0.01;

static void free_buffers(int count, void *buf[])
{
    while (count-- > 0) free(buf[count]);
    free(buf);
}

/* Memory for a node's tensors, all zeros. */
static void **make_buffers(const tutti_graph *graph, const tutti_node *node)
{
    void **buf = calloc((size_t)node->accesses, sizeof *buf);
    for (int a = 0; buf && a < node->accesses; a++) {
        size_t bytes = tutti_graph_get_tensor(graph, node->access[a].tensor)->bytes;
        buf[a] = tutti_mem_aligned(bytes);
        if (!buf[a]) {
            free_buffers(a, buf);
            return NULL;
        }
        memset(buf[a], 0, bytes);
    }
    return buf;
}

/* The shortest of several runs, after one that warms up. */
static tutti_status time_kernel(
    const tutti_kernel *kernel, const void *args, void *const buf[], double *seconds)
{
    double total_s = 0;
    tutti_status status = kernel->fn(args, buf, NULL);
    *seconds = INFINITY;
    for (int i = 0; i < MOST_RUNS && !status && (i < LEAST_RUNS || total_s < enough_s); i++) {
        double begun = tutti_clock_s();
        status = kernel->fn(args, buf, NULL);
        double took_s = tutti_clock_s() - begun;
        *seconds = fmin(*seconds, took_s);
        total_s += took_s;
    }
    return status;
}

static tutti_dtype first_type(const tutti_graph *graph, const tutti_node *node)
{
    return tutti_graph_get_tensor(graph, node->access[0].tensor)->dtype;
}

static tutti_status time_node(const tutti_graph *graph, const tutti_node *node, double *seconds)
{
    const tutti_kernel *kernel = tutti_kernel_find(node->op, TUTTI_CPU, first_type(graph, node));
    void *args, **buf = make_buffers(graph, node);
    if (!buf) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to time %s", node->op->name);
    tutti_status status = kernel->open(node->desc, &args);
    if (!status) {
        status = time_kernel(kernel, args, buf, seconds);
        kernel->close(args);
    }
    free_buffers(node->accesses, buf);
    return status;
}

static int is_same(const tutti_graph *graph, const tutti_node *a, const tutti_node *b)
{
    return a->op == b->op && a->accesses == b->accesses && a->desc_bytes == b->desc_bytes &&
           memcmp(a->desc, b->desc, a->desc_bytes) == 0 &&
           first_type(graph, a) == first_type(graph, b);
}

/* An earlier node that computes the same, or the node itself. */
static int find_same(const tutti_graph *graph, int section, int n)
{
    const tutti_node *node = tutti_graph_get_node(graph, n);
    for (int m = 0; m < n; m++) {
        const tutti_node *other = tutti_graph_get_node(graph, m);
        if (other->section == section && other->kind == TUTTI_NODE_KERNEL &&
            is_same(graph, other, node))
            return m;
    }
    return n;
}

tutti_status tutti_graph_times(const tutti_graph *graph, int section, double seconds[])
{
    tutti_status status = TUTTI_OK;
    for (int n = 0; n < tutti_graph_nodes(graph) && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        seconds[n] = 0;
        if (node->section != section || node->kind != TUTTI_NODE_KERNEL) continue;
        int same = find_same(graph, section, n);
        if (same < n)
            seconds[n] = seconds[same];
        else
            status = time_node(graph, node, &seconds[n]);
    }
    return status;
}

tutti_status tutti_graph_time(const tutti_graph *graph, int node, double *seconds)
{
    return time_node(graph, tutti_graph_get_node(graph, node), seconds);
}

uint64_t tutti_graph_kernel_hash(const tutti_graph *graph, int node)
{
    const tutti_node *n = tutti_graph_get_node(graph, node);
    const unsigned char *byte = n->desc;
    uint64_t h = tutti_rng_stream(n->op->name) ^ (uint64_t)first_type(graph, n);
    for (size_t i = 0; i < n->desc_bytes; i++) h = (h ^ byte[i]) * 1099511628211ull;
    return h;
}
