#include "apps/bench/ops.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BUFFERS = 64 };

typedef struct row {
    const tutti_op *op;
    int nodes;
    double seconds, flops, bytes; /* of all repeats; the others of one run */
} row;

/* Opens a node's kernel, runs it, adds its time, closes it. */
static tutti_status measure_kernel(
    const tutti_graph *graph, int index, void *buf[], int repeats, row *r)
{
    void *args;
    const tutti_node *node = tutti_graph_get_node(graph, index);
    tutti_dtype dtype = tutti_graph_get_tensor(graph, node->access[0].tensor)->dtype;
    const tutti_kernel *kernel = tutti_kernel_find(node->op, TUTTI_CPU, dtype);
    tutti_status status = kernel->open(node->desc, &args);
    if (status) return status;
    status = kernel->fn(args, buf, NULL); /* warms up, and produces what later nodes read */
    double begun = tutti_clock_s();
    for (int i = 0; i < repeats && !status; i++) status = kernel->fn(args, buf, NULL);
    r->seconds += tutti_clock_s() - begun;
    r->flops += node->op->flops ? node->op->flops(node->desc) : 0;
    r->bytes += node->op->bytes ? node->op->bytes(node->desc, tutti_dtype_bytes(dtype))
                                : (double)tutti_graph_node_bytes(graph, index);
    r->nodes++;
    kernel->close(args);
    return status;
}

/* Acquires the node's tensors and measures its kernel. */
static tutti_status measure_node(tutti_training_session *session, int index, int repeats, row *r)
{
    const tutti_graph *graph = session->graph;
    const tutti_node *node = tutti_graph_get_node(graph, index);
    void *buf[MOST_BUFFERS];
    if (node->accesses > MOST_BUFFERS)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s has %d buffers, but at most %d can be measured", node->name, node->accesses,
            MOST_BUFFERS);
    tutti_status status = TUTTI_OK;
    int had = 0;
    for (; had < node->accesses && !status; had += !status) {
        const tutti_tensor *t = tutti_graph_get_tensor(graph, node->access[had].tensor);
        status = session->runner->acquire(
            session->run, node->access[had].tensor, TUTTI_READWRITE, t->bytes, &buf[had]);
    }
    if (!status) status = measure_kernel(graph, index, buf, repeats, r);
    while (had-- > 0) session->runner->release(session->run, node->access[had].tensor);
    return status;
}

static void print_row(tutti_result *result, const row *r, int repeats, double total_s)
{
    double ms = 1e3 * r->seconds / repeats, part = 100 * r->seconds / total_s;
    double gflops = r->flops * repeats / r->seconds / 1e9;
    double gbytes = r->bytes * repeats / r->seconds / 1e9;
    printf("%-20s %6d %10.3f %10.1f %10.1f %7.1f %%\n", r->op->name, r->nodes, ms, gflops, gbytes,
        part);
    tutti_result_event(result,
        json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "event", "op", "op", r->op->name, "nodes",
            r->nodes, "ms", ms, "gflops", gflops, "gbytes_s", gbytes, "part_pct", part));
}

/* One row per op; an op of NULL ends them. The caller frees them. */
static row *make_rows(void)
{
    int ops = 0;
    while (tutti_op_get(ops)) ops++;
    row *rows = calloc((size_t)ops + 1, sizeof *rows);
    for (int i = 0; rows && i < ops; i++) rows[i].op = tutti_op_get(i);
    return rows;
}

static row *row_of(row *rows, const tutti_op *op)
{
    while (rows->op != op) rows++;
    return rows;
}

tutti_status tutti_ops_measure(tutti_training_session *session, int repeats, tutti_result *result)
{
    double total_s = 0;
    const tutti_graph *graph = session->graph;
    tutti_status status = TUTTI_OK;
    row *rows = make_rows();
    if (!rows) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a table of ops");
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section == session->step->train && node->kind == TUTTI_NODE_KERNEL)
            status = measure_node(session, i, repeats, row_of(rows, node->op));
    }
    for (row *r = rows; r->op; r++) total_s += r->seconds;
    if (!status)
        printf(
            "%-20s %6s %10s %10s %10s %9s\n", "op", "nodes", "ms/step", "GFLOP/s", "GB/s", "part");
    for (row *r = rows; r->op && !status; r++)
        if (r->nodes) print_row(result, r, repeats, total_s);
    free(rows);
    return status;
}
