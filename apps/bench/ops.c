#include "apps/bench/ops.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BUFFERS = 64 };

typedef struct row {
    int nodes;
    double seconds, flops; /* of all repeats; of one run */
} row;

/* Opens a node's kernel, runs it, adds its time, closes it. */
static tutti_status measure_kernel(const tutti_node *node, void *buf[], int repeats, row *r)
{
    void *args;
    const tutti_kernel *kernel = tutti_kernel_cpu(node->op);
    tutti_status status = kernel->open(node->desc, &args);
    if (status) return status;
    status = kernel->fn(args, buf, NULL); /* warms up, and produces what later nodes read */
    double begun = tutti_clock_s();
    for (int i = 0; i < repeats && !status; i++) status = kernel->fn(args, buf, NULL);
    r->seconds += tutti_clock_s() - begun;
    r->flops += kernel->flops ? kernel->flops(node->desc) : 0;
    r->nodes++;
    kernel->close(args);
    return status;
}

/* Acquires the node's tensors and measures its kernel. */
static tutti_status measure_node(
    tutti_training_session *session, const tutti_node *node, int repeats, row *r)
{
    void *buf[MOST_BUFFERS];
    if (node->accesses > MOST_BUFFERS)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s has %d buffers, but at most %d can be measured", node->name, node->accesses,
            MOST_BUFFERS);
    tutti_status status = TUTTI_OK;
    int had = 0;
    for (; had < node->accesses && !status; had += !status) {
        const tutti_tensor *t = tutti_graph_get_tensor(session->graph, node->access[had].tensor);
        status = session->runner->acquire(
            session->run, node->access[had].tensor, TUTTI_READWRITE, t->bytes, &buf[had]);
    }
    if (!status) status = measure_kernel(node, buf, repeats, r);
    while (had-- > 0) session->runner->release(session->run, node->access[had].tensor);
    return status;
}

static void print_row(tutti_result *result, int op, const row *r, int repeats, double total_s)
{
    double ms = 1e3 * r->seconds / repeats, part = 100 * r->seconds / total_s;
    double gflops = r->flops * repeats / r->seconds / 1e9;
    printf("%-20s %6d %10.3f %10.1f %7.1f %%\n", tutti_op_name(op), r->nodes, ms, gflops, part);
    tutti_result_event(
        result, json_pack("{s:s, s:s, s:i, s:f, s:f, s:f}", "event", "op", "op", tutti_op_name(op),
                    "nodes", r->nodes, "ms", ms, "gflops", gflops, "part_pct", part));
}

tutti_status tutti_ops_measure(tutti_training_session *session, int repeats, tutti_result *result)
{
    row rows[TUTTI_OP_COUNT] = {{0}};
    double total_s = 0;
    const tutti_graph *graph = session->graph;
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section != session->step->train || node->kind != TUTTI_NODE_KERNEL) continue;
        tutti_status status = measure_node(session, node, repeats, &rows[node->op]);
        if (status) return status;
    }
    for (int op = 0; op < TUTTI_OP_COUNT; op++) total_s += rows[op].seconds;
    printf("%-20s %6s %10s %10s %9s\n", "op", "nodes", "ms/step", "GFLOP/s", "part");
    for (int op = 0; op < TUTTI_OP_COUNT; op++)
        if (rows[op].nodes) print_row(result, op, &rows[op], repeats, total_s);
    return TUTTI_OK;
}
