#include "designs/passes/remote_buffer.h"

#include "collectives/value/args.h"
#include "dag/base/log.h"
#include "dag/graph/sent.h"

#include <stdio.h>
#include <stdlib.h>

static int writes(tutti_mode mode)
{
    return mode == TUTTI_WRITE || mode == TUTTI_READWRITE;
}

static int names_tensor(const tutti_node *node, int tensor)
{
    for (int a = 0; a < node->accesses; a++)
        if (node->access[a].tensor == tensor) return 1;
    return 0;
}

/* The tensors that the collective writes to, or else reads: they are one piece of memory, from the first one's
 * beginning to the last one's end. */
static void measure(const tutti_graph *graph, const tutti_node *node, tutti_remote_buffer *b)
{
    size_t end = 0;
    const tutti_tensor *first = NULL;
    b->sends = 1;
    for (int a = 0; a < node->accesses; a++) b->sends &= !writes(node->access[a].mode);
    for (int a = 0; a < node->accesses; a++) {
        const tutti_access *access = &node->access[a];
        const tutti_tensor *t = tutti_graph_get_tensor(graph, access->tensor);
        const int counts = b->sends ? access->mode == TUTTI_READ : writes(access->mode);
        if (!counts || t->role == TUTTI_ROLE_TOKEN || (first && t->block != first->block)) continue;
        if (!first) b->tensor = access->tensor;
        if (!first || t->offset < first->offset) first = t;
        if (t->offset + t->bytes > end) end = t->offset + t->bytes;
        b->tensors++;
    }
    b->bytes = first ? end - first->offset : 0;
}

/* Nodes that name one tensor are ordered, also those of different steps; those that name two are not. */
static tutti_status check_memory(
    const tutti_graph *graph, const tutti_node *node, const tutti_remote_buffer *b)
{
    if (b->sends || !b->tensors) return TUTTI_OK;
    const tutti_tensor *mine = tutti_graph_get_tensor(graph, b->tensor);
    for (int t = 0; t < tutti_graph_tensors(graph); t++) {
        const tutti_tensor *other = tutti_graph_get_tensor(graph, t);
        const int apart = other->block != mine->block || !other->bytes ||
                          other->offset + other->bytes <= mine->offset ||
                          other->offset >= mine->offset + b->bytes;
        if (apart || names_tensor(node, t)) continue;
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "'%s' receives '%s', which shares memory with '%s', and nothing orders the two",
            node->name, mine->name, other->name);
    }
    return TUTTI_OK;
}

/* How a node uses a tensor; 0: it does not, or does not run. */
static tutti_mode use_of(const tutti_node *node, int tensor)
{
    for (int a = 0; tutti_node_runs(node) && a < node->accesses; a++)
        if (node->access[a].tensor == tensor) return node->access[a].mode;
    return 0;
}

/* From what is sent back to the kernel that wrote it first; and who else uses it before it is written again. */
static void trace_origin(const tutti_graph *graph, int n, tutti_remote_buffer *b)
{
    const int section = tutti_graph_get_node(graph, n)->section, nodes = tutti_graph_nodes(graph);
    b->origin = -1;
    for (int i = n - 1; i >= 0 && b->origin < 0; i--) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section != section) continue;
        const tutti_mode use = use_of(node, b->tensor);
        if (use == TUTTI_WRITE) b->origin = i;
        b->in_place += use == TUTTI_READWRITE;
        b->readers += use == TUTTI_READ;
    }
    for (int i = n + 1; i < nodes; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section != section) continue;
        const tutti_mode use = use_of(node, b->tensor);
        if (use == TUTTI_WRITE) return;
        b->readers += use != 0;
    }
}

static void explain(const tutti_node *node, const tutti_remote_options *o, tutti_remote_buffer *b)
{
    const tutti_members *m = o->members(o->ctx, node->group);
    int far = -1, reached = 0;
    for (int i = 0; m && i < m->size; i++) {
        const int rank = m->of ? m->of[i] : i;
        if (rank == o->rank) continue;
        if (o->reaches(o->ctx, rank))
            reached = 1;
        else if (far < 0)
            far = rank;
    }
    if (o->on_gpu)
        snprintf(b->why, sizeof b->why, "it is on a GPU, and goes through main memory");
    else if (far >= 0 && !o->reaches(o->ctx, o->rank))
        snprintf(b->why, sizeof b->why,
            "the transport '%s' has no memory that other ranks write to", o->transport);
    else if (far >= 0)
        snprintf(b->why, sizeof b->why, "rank %d%s is on another host", far,
            reached ? " of those that take part" : "");
    else
        b->small = b->bytes <= o->small_bytes;
    if (b->small)
        snprintf(b->why, sizeof b->why, "it is small, and goes before its receive is known");
}

tutti_status tutti_remote_buffers_find(const tutti_graph *graph,
    const tutti_remote_options *options, int *count, tutti_remote_buffer **found)
{
    const int nodes = tutti_graph_nodes(graph);
    tutti_remote_buffer *all = calloc((size_t)nodes + 1, sizeof *all);
    tutti_status status =
        all ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d collectives", nodes);
    tutti_sent_tensors sent = {0};
    int used = 0;
    if (!status) status = tutti_sent_tensors_find(graph, &sent);
    for (int n = 0; n < nodes && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        tutti_remote_buffer *b = &all[used];
        b->node = n;
        measure(graph, node, b);
        if (!b->tensors) continue;
        status = check_memory(graph, node, b);
        if (b->sends) trace_origin(graph, n, b);
        explain(node, options, b);
        b->direct = b->sends && !*b->why && sent.message_of[n] != TUTTI_SENT_NONE;
        if (b->sends) *b->why = 0;
        used++;
    }
    tutti_sent_tensors_free(&sent);
    if (status) {
        free(all);
        return status;
    }
    *count = used;
    *found = all;
    return TUTTI_OK;
}
