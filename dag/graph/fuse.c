/* Marks that become one: tensors laid out one after the other, or side by side. */
#include "dag/graph/parts.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* Whether marks of this verb are laid out together. */
static int is_fusible(tutti_verb verb)
{
    return verb == TUTTI_MARK_ALLREDUCE || verb == TUTTI_MARK_REDUCE_SCATTER ||
           verb == TUTTI_MARK_ALLGATHER || verb == TUTTI_MARK_REDUCE ||
           verb == TUTTI_MARK_BROADCAST;
}

/* Whether a tensor of a mark can be laid out with others, and no node from `begin` to the one before `end`
 * uses it. */
static tutti_status check_movable(const tutti_graph *graph, const tutti_node *mark, int tensor,
    tutti_dtype dtype, int begin, int end)
{
    const tutti_tensor *t = &graph->tensor[tensor];
    if (t->dtype != dtype || t->block != tensor || t->block_bytes != t->bytes)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: tensor '%s' cannot be laid out with others: another type, or it is already",
            t->name);
    for (int n = begin; n < end; n++)
        if (tutti_node_names(&graph->node[n], tensor))
            return tutti_fail(TUTTI_ERR_INVAL,
                "graph: mark '%s' cannot be fused with '%s': node '%s' between them uses it",
                mark->name, graph->node[end].name, graph->node[n].name);
    return TUTTI_OK;
}

/* Whether mark[m] may move to the place of the last mark. */
static tutti_status check_fusible(const tutti_graph *graph, const int mark[], int m, int end)
{
    tutti_status status = tutti_graph_check_node(graph, mark[m]);
    if (status) return status;
    const tutti_node *node = &graph->node[mark[m]], *last = &graph->node[end];
    int again = 0;
    for (int i = 0; i < m; i++) again |= mark[i] == mark[m];
    if (node->kind != TUTTI_NODE_MARK || again || node->section != last->section)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: node '%s' cannot be fused: it is not another mark of the section", node->name);
    if (node->mark.verb != last->mark.verb || !is_fusible(node->mark.verb) ||
        node->mark.group != last->mark.group || node->mark.root != last->mark.root)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: marks '%s' and '%s' cannot be fused: they do not do the same over one group, "
            "with one root",
            node->name, last->name);
    if (node->mark.vectors != last->mark.vectors)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: marks '%s' and '%s' cannot be fused: they add %d and %d vectors", node->name,
            last->name, node->mark.vectors, last->mark.vectors);
    const tutti_dtype dtype = graph->tensor[graph->node[mark[0]].access[0].tensor].dtype;
    tutti_status laid = TUTTI_OK;
    for (int a = 0; a < node->accesses && !laid; a++)
        laid = check_movable(graph, node, node->access[a].tensor, dtype, mark[m] + 1, end);
    return laid;
}

/* Lays every `stride`-th of the tensors out one after the other, in the block of the first. */
static void lay_out(tutti_graph *graph, int accesses, int stride, const tutti_access access[])
{
    enum { ALIGNMENT = 64, ELEMENTS = 16 };
    int block = access[0].tensor;
    size_t end = 0, step = ELEMENTS * tutti_dtype_bytes(graph->tensor[block].dtype);
    if (step > ALIGNMENT) step = ALIGNMENT;
    for (int a = 0; a < accesses; a += stride) {
        tutti_tensor *t = &graph->tensor[access[a].tensor];
        t->block = block;
        t->offset = (end + step - 1) / step * step;
        end = t->offset + t->bytes;
    }
    for (int a = 0; a < accesses; a += stride) graph->tensor[access[a].tensor].block_bytes = end;
}

/* Whether the marks can become one; *end: the last of them in program order. */
static tutti_status check_marks(const tutti_graph *graph, int count, const int mark[], int *end)
{
    tutti_status status = TUTTI_OK;
    *end = -1;
    if (count < 1) return tutti_fail(TUTTI_ERR_INVAL, "graph: %d marks to fuse", count);
    for (int m = 0; m < count && !status; m++) {
        status = tutti_graph_check_node(graph, mark[m]);
        if (mark[m] > *end) *end = mark[m];
    }
    for (int m = count - 1; m >= 0 && !status; m--) status = check_fusible(graph, mark, m, *end);
    return status;
}

/* The last mark becomes that of all; it takes `access`. */
static tutti_status take_over(
    tutti_graph *graph, int count, const int mark[], int end, tutti_access access[], int accesses)
{
    tutti_node *last = &graph->node[end];
    char name[256];
    snprintf(name, sizeof name, "%s+%d", last->name, count - 1);
    char *copy = strdup(name);
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory to fuse %d marks", count);
    for (int m = 0; m < count; m++) {
        if (mark[m] == end) continue;
        graph->node[mark[m]].kind = TUTTI_NODE_ABSORBED;
        graph->node[mark[m]].accesses = 0;
    }
    free((void *)last->access);
    free((void *)last->name);
    last->access = access;
    last->accesses = accesses;
    last->name = copy;
    return TUTTI_OK;
}

tutti_status tutti_graph_fuse(tutti_graph *graph, int count, const int mark[])
{
    int end;
    tutti_status status = check_marks(graph, count, mark, &end);
    if (status || count == 1) return status;
    const int stride = 1 + graph->node[end].mark.vectors, accesses = count * stride;
    tutti_access *access = malloc((size_t)accesses * sizeof *access);
    if (!access) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory to fuse %d marks", count);
    for (int m = 0; m < count; m++)
        memcpy(&access[m * stride], graph->node[mark[m]].access, (size_t)stride * sizeof *access);
    status = take_over(graph, count, mark, end, access, accesses);
    if (status) {
        free(access);
        return status;
    }
    for (int k = 0; k < stride; k++) lay_out(graph, accesses - k, stride, access + k);
    return TUTTI_OK;
}

/* ---- tensors with a row for each rank ---- */

/* Which of these tensors a node names; -1: none, or -2: several. */
static int named_by(const tutti_node *node, int count, const int tensor[])
{
    int found = -1;
    for (int t = 0; t < count; t++)
        if (tutti_node_names(node, tensor[t])) found = found == -1 ? tensor[t] : -2;
    return found;
}

static tutti_status check_joined(
    const tutti_graph *graph, int count, const int mark[], const int tensor[])
{
    const tutti_tensor *first = &graph->tensor[tensor[0]];
    for (int m = 0; m < count; m++) {
        const tutti_tensor *t = &graph->tensor[tensor[m]];
        if (!graph->node[mark[m]].mark.rows || t->shape.dim[0] != first->shape.dim[0])
            return tutti_fail(TUTTI_ERR_INVAL,
                "graph: tensor '%s' cannot be joined to '%s': it has not a row for each rank",
                t->name, first->name);
    }
    for (int n = 0; n < graph->nodes; n++)
        if (named_by(&graph->node[n], count, tensor) == -2)
            return tutti_fail(TUTTI_ERR_INVAL,
                "graph: tensors that node '%s' names cannot be joined to each other",
                graph->node[n].name);
    return TUTTI_OK;
}

/* Nodes name `all` instead of the tensor, of which they write a part. */
static void rename_tensor(tutti_graph *graph, int tensor, int all)
{
    for (int n = 0; n < graph->nodes; n++)
        for (int a = 0; a < graph->node[n].accesses; a++) {
            tutti_access *access = (tutti_access *)&graph->node[n].access[a];
            if (access->tensor != tensor) continue;
            access->tensor = all;
            if (access->mode == TUTTI_WRITE) access->mode = TUTTI_READWRITE;
        }
}

static void lay_side_by_side(tutti_graph *graph, int count, const int tensor[])
{
    tutti_tensor *all = &graph->tensor[tensor[0]];
    const size_t element = tutti_dtype_bytes(all->dtype);
    int64_t columns = 0;
    for (int t = 0; t < count; t++) {
        graph->tensor[tensor[t]].block = tensor[0];
        graph->tensor[tensor[t]].offset = (size_t)columns * element;
        columns += graph->tensor[tensor[t]].shape.dim[1];
    }
    all->shape.dim[1] = columns;
    all->owns = tutti_shape_count(&all->shape);
    all->bytes = (size_t)all->owns * element;
    for (int t = 0; t < count; t++) graph->tensor[tensor[t]].block_bytes = all->bytes;
}

tutti_status tutti_graph_join(tutti_graph *graph, int count, const int mark[])
{
    int end;
    tutti_status status = check_marks(graph, count, mark, &end);
    if (status || count == 1) return status;
    int *tensor = calloc((size_t)count, sizeof *tensor);
    tutti_access *access = malloc(sizeof *access);
    if (!tensor || !access)
        status = tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory to join %d marks", count);
    for (int m = 0; m < count && !status; m++) tensor[m] = graph->node[mark[m]].access[0].tensor;
    if (!status) status = check_joined(graph, count, mark, tensor);
    if (!status) {
        *access = (tutti_access){tensor[0], TUTTI_READWRITE};
        status = take_over(graph, count, mark, end, access, 1);
    }
    if (!status) {
        access = NULL;
        graph->node[end].mark.tensor = tensor[0];
        for (int m = 0; m < count; m++) rename_tensor(graph, tensor[m], tensor[0]);
        lay_side_by_side(graph, count, tensor);
    }
    free(tensor);
    free(access);
    return status;
}
