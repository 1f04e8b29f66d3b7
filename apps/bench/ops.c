#include "apps/bench/ops.h"

#include "apps/bench/bounds.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 64, REPEATS = TUTTI_OPS_REPEATS, FURTHEST = 5 };

/* A node of the step, or all nodes of an op together. */
typedef struct row {
    const char *name;
    const tutti_op *op;
    int nodes;
    tutti_dtype dtype;             /* of a node */
    double flops, bytes, written;  /* of one run; bytes: those written, too */
    double in_use;                 /* by a node: bytes of its tensors */
    double seconds[REPEATS];       /* of each run */
    double of_flops_s, of_bytes_s; /* the least that it can take, by either bound alone */
    double least_s;                /* by both: of each node the longer */
} row;

typedef struct table {
    int nodes, ops;
    row *node, *op;
} table;

/* ---- measuring ---- */

/* Runs an opened kernel. */
static tutti_status time_kernel(const tutti_kernel *kernel, const void *args, void *buf[], row *r)
{
    tutti_status status = kernel->fn(args, buf, NULL); /* warms up, makes what later nodes read */
    for (int i = 0; i < REPEATS && !status; i++) {
        double begun = tutti_clock_s();
        status = kernel->fn(args, buf, NULL);
        r->seconds[i] = tutti_clock_s() - begun;
    }
    return status;
}

/* Opens a node's kernel, runs and closes it. */
static tutti_status measure_kernel(const tutti_graph *graph, int index, void *buf[], row *r)
{
    void *args;
    const tutti_node *node = tutti_graph_get_node(graph, index);
    r->dtype = tutti_graph_get_tensor(graph, node->access[0].tensor)->dtype;
    const tutti_kernel *kernel = tutti_kernel_find(node->op, TUTTI_CPU, r->dtype);
    tutti_status status = kernel->open(node->desc, &args);
    if (status) return status;
    status = time_kernel(kernel, args, buf, r);
    r->flops = node->op->flops ? node->op->flops(node->desc) : 0;
    r->bytes = node->op->bytes ? node->op->bytes(node->desc, tutti_dtype_bytes(r->dtype))
                               : (double)tutti_graph_node_bytes(graph, index);
    if (r->written > r->bytes) r->written = r->bytes;
    kernel->close(args);
    return status;
}

/* Acquires the node's tensors and measures its kernel. */
static tutti_status measure_node(tutti_training_session *session, int index, row *r)
{
    const tutti_graph *graph = session->graph;
    const tutti_node *node = tutti_graph_get_node(graph, index);
    void *buf[MOST_BUFFERS];
    if (node->accesses > MOST_BUFFERS)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s has %d buffers, but at most %d can be measured", node->name, node->accesses,
            MOST_BUFFERS);
    *r = (row){.name = node->name, .op = node->op, .nodes = 1};
    tutti_status status = TUTTI_OK;
    int had = 0;
    for (; had < node->accesses && !status; had += !status) {
        const tutti_tensor *t = tutti_graph_get_tensor(graph, node->access[had].tensor);
        status = session->runner->acquire(
            session->run, node->access[had].tensor, TUTTI_READWRITE, t->bytes, &buf[had]);
        r->in_use += (double)t->bytes;
        if (node->access[had].mode != TUTTI_READ) r->written += (double)t->bytes;
    }
    if (!status) status = measure_kernel(graph, index, buf, r);
    while (had-- > 0) session->runner->release(session->run, node->access[had].tensor);
    return status;
}

static tutti_status measure_nodes(tutti_training_session *session, table *t)
{
    const tutti_graph *graph = session->graph;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section == session->step->train && node->kind == TUTTI_NODE_KERNEL)
            status = measure_node(session, i, &t->node[t->nodes++]);
    }
    return status;
}

/* Bounds are measured before and after: see bounds.h. */
static tutti_status measure(
    tutti_training_session *session, int trials, table *t, tutti_bounds *bounds)
{
    tutti_status status = tutti_bounds_measure(TUTTI_F32, trials, bounds);
    if (!status) status = measure_nodes(session, t);
    int known[TUTTI_DTYPE_COUNT] = {0};
    for (int i = 0; i < t->nodes && !status; i++) {
        tutti_dtype dtype = t->node[i].dtype;
        if (known[dtype] || !(t->node[i].flops > 0)) continue;
        known[dtype] = 1;
        status = tutti_bounds_measure(dtype, trials, bounds);
    }
    return status;
}

/* ---- adding up ---- */

/* The times by the bounds of the node alone. */
static void set_bound(const tutti_bounds *bounds, row *r)
{
    r->of_flops_s = tutti_bounds_of_flops(bounds, r->dtype, r->flops);
    r->of_bytes_s = tutti_bounds_of_bytes(bounds, r->bytes - r->written, r->written, r->in_use);
    r->least_s = r->of_flops_s > r->of_bytes_s ? r->of_flops_s : r->of_bytes_s;
}

/* Adds a node to the row of its op, or to that of all ops. */
static void add(const row *node, row *sum)
{
    sum->nodes++;
    sum->flops += node->flops;
    sum->bytes += node->bytes;
    sum->written += node->written;
    /* what the bound of each node is made of */
    if (node->of_flops_s > node->of_bytes_s)
        sum->of_flops_s += node->least_s;
    else
        sum->of_bytes_s += node->least_s;
    sum->least_s += node->least_s;
    for (int i = 0; i < REPEATS; i++) sum->seconds[i] += node->seconds[i];
}

static row *row_of(table *t, const tutti_op *op)
{
    row *r = t->op;
    while (r->op != op) r++;
    return r;
}

static double median_s(const row *r)
{
    double sorted[REPEATS];
    memcpy(sorted, r->seconds, sizeof sorted);
    return tutti_median(REPEATS, sorted);
}

/* ---- telling ---- */

/* "32 KiB", "256 MiB" */
static const char *size_text(int i, char text[16])
{
    size_t kib = tutti_bounds_block(i) >> 10;
    snprintf(text, 16, kib < 1024 ? "%zu KiB" : "%zu MiB", kib < 1024 ? kib : kib >> 10);
    return text;
}

static void report_bandwidth(const char *name, const double bytes_s[], tutti_result *result)
{
    char text[16];
    printf("bound of a core: %s, GB/s by size ", name);
    for (int i = 0; i < TUTTI_BOUNDS_BLOCKS; i++) {
        if (i % 3 == 1)
            printf("%s %s %.1f", i > 1 ? "," : "", size_text(i, text), bytes_s[i] / 1e9);
        tutti_result_event(result,
            json_pack("{s:s, s:s, s:I, s:s, s:[f]}", "event", "bound", "name", name, "bytes",
                (json_int_t)tutti_bounds_block(i), "unit", "GB/s", "samples", bytes_s[i] / 1e9));
    }
    printf("\n");
}

/* The bounds: every size of a block for programs, every third for people. */
static void report_bounds(const tutti_bounds *bounds, tutti_result *result)
{
    for (int t = 0; t < TUTTI_DTYPE_COUNT; t++) {
        const char *name = tutti_dtype_name((tutti_dtype)t);
        if (!(bounds->flops_per_s[t] > 0)) continue;
        printf("bound of a core: %.1f GFLOP/s (%s)\n", bounds->flops_per_s[t] / 1e9, name);
        tutti_result_event(
            result, json_pack("{s:s, s:s, s:s, s:[f]}", "event", "bound", "name", name, "unit",
                        "GFLOP/s", "samples", bounds->flops_per_s[t] / 1e9));
    }
    report_bandwidth("reads", bounds->read_per_s, result);
    report_bandwidth("writes", bounds->written_per_s, result);
    report_bandwidth("both", bounds->moved_per_s, result);
}

/* The bound that more of the least time comes from. */
static const char *bound_of(const row *r)
{
    return r->of_flops_s > r->of_bytes_s ? "flops" : "bytes";
}

static double share_of(const row *r)
{
    return r->least_s / median_s(r);
}

/* kind: "op" or "node". The samples are shares of the bound, one of each run. */
static void write_row(tutti_result *result, const char *kind, const row *r, double total_s)
{
    double ms = 1e3 * median_s(r), share[REPEATS];
    for (int i = 0; i < REPEATS; i++) share[i] = r->least_s / r->seconds[i];
    json_t *event = json_pack("{s:s, s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "event", kind, "op",
        r->op->name, "name", r->name, "nodes", r->nodes, "ms", ms, "gflops", r->flops / ms / 1e6,
        "gbytes_s", r->bytes / ms / 1e6, "part_pct", 100 * median_s(r) / total_s);
    json_t *more = json_pack("{s:s, s:f, s:f, s:s, s:o}", "kind", bound_of(r), "least_ms",
        1e3 * r->least_s, "share", share_of(r), "unit", "share of bound", "samples",
        tutti_result_samples(REPEATS, share, 1));
    json_object_update(event, more);
    json_decref(more);
    tutti_result_event(result, event);
}

static void print_row(const row *r, double total_s)
{
    double seconds = median_s(r);
    printf("%-20s %6d %10.3f %9.1f %9.1f %7.1f %%   %s %5.0f %%\n", r->name, r->nodes,
        1e3 * seconds, r->flops / seconds / 1e9, r->bytes / seconds / 1e9, 100 * seconds / total_s,
        bound_of(r), 100 * share_of(r));
}

static double lost_s(const row *r)
{
    return median_s(r) - r->least_s;
}

static int by_loss(const void *left, const void *right)
{
    double a = lost_s(left), b = lost_s(right);
    return (a < b) - (a > b);
}

/* The nodes that lose most time. Sorts the nodes. */
static void print_furthest(table *t)
{
    qsort(t->node, (size_t)t->nodes, sizeof *t->node, by_loss);
    printf("furthest from their bounds:");
    for (int i = 0; i < FURTHEST && i < t->nodes; i++)
        printf("%s %s %.3f of %.3f ms (%.0f %%)", i ? "," : "", t->node[i].name,
            1e3 * t->node[i].least_s, 1e3 * median_s(&t->node[i]), 100 * share_of(&t->node[i]));
    printf("\n");
}

static void report_table(table *t, const tutti_bounds *bounds, tutti_result *result)
{
    row all = {.name = "all", .op = &(tutti_op){.name = "all"}};
    for (int i = 0; i < t->nodes; i++) {
        set_bound(bounds, &t->node[i]);
        add(&t->node[i], row_of(t, t->node[i].op));
        add(&t->node[i], &all);
    }
    double total_s = median_s(&all);
    report_bounds(bounds, result);
    printf("%-20s %6s %10s %9s %9s %9s   %s\n", "op", "nodes", "ms/step", "GFLOP/s", "GB/s", "part",
        "of its bound");
    for (row *r = t->op; r->op; r++) {
        if (!r->nodes) continue;
        print_row(r, total_s);
        write_row(result, "op", r, total_s);
    }
    print_row(&all, total_s);
    write_row(result, "op", &all, total_s);
    for (int i = 0; i < t->nodes; i++) write_row(result, "node", &t->node[i], total_s);
    print_furthest(t);
}

/* ---- all of it ---- */

/* A row for each op, the last without one, and room for every node. */
static tutti_status make_table(const tutti_graph *graph, table *t)
{
    while (tutti_op_get(t->ops)) t->ops++;
    t->op = calloc((size_t)t->ops + 1, sizeof *t->op);
    t->node = calloc((size_t)tutti_graph_nodes(graph), sizeof *t->node);
    if (!t->op || !t->node) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a table of ops");
    for (int i = 0; i < t->ops; i++)
        t->op[i] = (row){.name = tutti_op_get(i)->name, .op = tutti_op_get(i)};
    return TUTTI_OK;
}

tutti_status tutti_ops_measure(tutti_training_session *session, int trials, tutti_result *result)
{
    table t = {0};
    tutti_bounds *bounds = calloc(1, sizeof *bounds);
    tutti_status status = bounds ? make_table(session->graph, &t)
                                 : tutti_fail(TUTTI_ERR_NOMEM, "no memory for bounds");
    if (!status) status = measure(session, trials, &t, bounds);
    if (!status) report_table(&t, bounds, result);
    free(bounds);
    free(t.op);
    free(t.node);
    return status;
}
