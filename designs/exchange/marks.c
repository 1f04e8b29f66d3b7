#include "designs/exchange/marks.h"

#include "collectives/value/args.h"
#include "dag/base/log.h"
#include "designs/passes/bucket.h"
#include "designs/passes/chunk.h"

#include <stdlib.h>

/* The fault in the place of the n-th collective of a section and group; NULL: none. */
static const char *find_misplacement(
    const tutti_design *design, const tutti_node *node, int64_t n, int lanes)
{
    int chained = 0;
    for (int i = 0; i < node->accesses; i++) chained |= node->access[i].mode == TUTTI_CHAIN;
    if (node->place.lane < 0 || node->place.lane >= lanes) return "on a lane that does not exist";
    int anew = !node->place.index && !design->start->reorders;
    if (node->place.index != n && !anew) return "with an index that is not its position";
    if (node->place.holds && !tutti_design_may_hold(design))
        return "where it holds a worker that does not start it, or that has passed on a chain";
    return chained == design->chain ? NULL
                                    : "outside of the chain it declares, or in an undeclared one";
}

/* The driver and the checker rely on places: a design that writes a lane or index out of range is refused. */
static tutti_status check_places(const tutti_design *design, const tutti_graph *graph, int lanes)
{
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        int before = tutti_graph_previous(graph, i), most = node->edge ? 1 : lanes;
        int64_t index = before < 0 ? 0 : tutti_graph_get_node(graph, before)->place.index + 1;
        const char *wrong = find_misplacement(design, node, index, most);
        if (wrong)
            return tutti_fail(TUTTI_ERR_INVAL,
                "design %s puts collective '%s' %s (lane %d of %d, index %lld)", design->name,
                node->name, wrong, node->place.lane, most, (long long)node->place.index);
    }
    return TUTTI_OK;
}

/* ---- what a mark becomes ---- */

static int is_message(const tutti_mark *mark)
{
    return mark->verb == TUTTI_MARK_SEND || mark->verb == TUTTI_MARK_RECV;
}

/* The group of a mark, and its members. */
static tutti_status group_of(
    const tutti_marks_options *o, const tutti_node *node, int *group, const tutti_members **members)
{
    const tutti_mark *mark = &node->mark;
    int self = o->members(o->ctx, 0)->rank;
    tutti_status status = TUTTI_OK;
    *group = mark->group;
    if (mark->verb == TUTTI_MARK_SEND)
        status = o->edge(o->ctx, self, mark->peer, mark->edge, group);
    else if (mark->verb == TUTTI_MARK_RECV)
        status = o->edge(o->ctx, mark->peer, self, mark->edge, group);
    if (status) return status;
    *members = o->members(o->ctx, *group);
    return TUTTI_OK;
}

/* members NULL: there is no such group. */
static tutti_status check_members(
    const tutti_marks_options *o, const tutti_node *node, int group, const tutti_members *members)
{
    if (!members)
        return tutti_fail(TUTTI_ERR_INVAL,
            "'%s' names group %d, which this exchange does not have: make the group first",
            node->name, group);
    if (members->rank < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "'%s' names group %d, and rank %d is not in it: leave it out of this rank's graph",
            node->name, group, o->members(o->ctx, 0)->rank);
    return TUTTI_OK;
}

/* The bytes of a mark's data; for a bucket, the whole block with its gaps. */
static size_t bytes_of(const tutti_graph *graph, const tutti_node *node)
{
    const tutti_tensor *first = tutti_graph_get_tensor(graph, node->access[0].tensor);
    for (int a = 1; a < node->accesses; a++)
        if (node->access[a].mode == TUTTI_READWRITE &&
            tutti_graph_get_tensor(graph, node->access[a].tensor)->block == first->block)
            return first->block_bytes;
    return first->bytes;
}

/* Sets the counts of an allgather whose blocks differ in length. */
static void set_counts(tutti_coll_args *args, int P, int64_t counts[])
{
    int64_t offset;
    if (args->count % P == 0) {
        args->count /= P;
        return;
    }
    for (int r = 0; r < P; r++) tutti_coll_block(args->count, P, r, &offset, &counts[r]);
    args->counts = counts;
}

/* Records which elements of the node's tensors are in this rank's block; in a broadcast, the root has all. */
static tutti_status set_own(tutti_graph *graph, int n, int64_t count, const tutti_members *members)
{
    const tutti_node *node = tutti_graph_get_node(graph, n);
    const int block = tutti_graph_get_tensor(graph, node->access[0].tensor)->block;
    int64_t begin = 0, length = node->mark.root == members->rank ? count : 0;
    if (node->mark.verb != TUTTI_MARK_BROADCAST)
        tutti_coll_block(count, members->size, members->rank, &begin, &length);
    for (int a = 0; a < node->accesses; a++) {
        const int tensor = node->access[a].tensor;
        const tutti_tensor *t = tutti_graph_get_tensor(graph, tensor);
        if (a > 0 && (t->block != block || node->access[a].mode != TUTTI_READWRITE)) continue;
        int64_t at = (int64_t)(t->offset / tutti_dtype_bytes(t->dtype));
        int64_t all = tutti_shape_count(&t->shape);
        int64_t first = begin < at ? 0 : begin - at, end = begin + length - at;
        if (end > all) end = all;
        if (first >= end) first = end = 0;
        tutti_status status = tutti_graph_set_own(graph, tensor, first, end - first);
        if (status) return status;
    }
    return TUTTI_OK;
}

/* The gathered block must be the block of the sum. */
static tutti_status check_follows(const tutti_graph *graph, const tutti_node *node)
{
    if (!node->mark.follows) return TUTTI_OK;
    const tutti_node *sum = tutti_graph_get_node(graph, node->mark.follows - 1);
    const tutti_tensor *summed = tutti_graph_get_tensor(graph, sum->mark.tensor),
                       *gathered = tutti_graph_get_tensor(graph, node->mark.tensor);
    if (summed->first == gathered->first && summed->owns == gathered->owns) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INTERNAL,
        "'%s' gathers a block that differs from its sum's: %lld elements from %lld on, not %lld "
        "from "
        "%lld on",
        node->name, (long long)gathered->owns, (long long)gathered->first, (long long)summed->owns,
        (long long)summed->first);
}

/* A mark in a group that has only this rank needs no communication. */
static tutti_status check_alone(const tutti_node *node)
{
    if (is_message(&node->mark))
        return tutti_fail(TUTTI_ERR_INVAL,
            "'%s' is a message, and there is only one rank: messages need two", node->name);
    if (node->mark.vectors)
        return tutti_fail(TUTTI_ERR_INVAL,
            "'%s' adds %d vectors over one rank: add them in the graph", node->name,
            node->mark.vectors);
    return TUTTI_OK;
}

static tutti_status lower_mark(const tutti_marks_options *o, tutti_graph *graph, int n)
{
    static const tutti_coll_kind kinds[TUTTI_MARK_VERBS] = {
        [TUTTI_MARK_ALLREDUCE] = TUTTI_ALLREDUCE,
        [TUTTI_MARK_REDUCE_SCATTER] = TUTTI_REDUCE_SCATTER,
        [TUTTI_MARK_ALLGATHER] = TUTTI_ALLGATHER,
        [TUTTI_MARK_REDUCE] = TUTTI_REDUCE,
        [TUTTI_MARK_BROADCAST] = TUTTI_BROADCAST,
        [TUTTI_MARK_SEND] = TUTTI_MESSAGE,
        [TUTTI_MARK_RECV] = TUTTI_MESSAGE,
    };
    const tutti_node *node = tutti_graph_get_node(graph, n);
    const tutti_members *members = NULL;
    int group = 0;
    tutti_status status = group_of(o, node, &group, &members);
    if (!status) status = check_members(o, node, group, members);
    if (!status && members->size == 1) status = check_alone(node);
    if (status || members->size == 1) return status;
    if (node->mark.rows &&
        tutti_graph_get_tensor(graph, node->access[0].tensor)->shape.dim[0] != members->size)
        return tutti_fail(TUTTI_ERR_INVAL,
            "'%s' gathers %lld rows, in a group of %d ranks: give it a row for each", node->name,
            (long long)tutti_graph_get_tensor(graph, node->access[0].tensor)->shape.dim[0],
            members->size);
    if (node->mark.root >= members->size)
        return tutti_fail(TUTTI_ERR_INVAL, "'%s' has root %d, in a group of %d ranks", node->name,
            node->mark.root, members->size);
    const tutti_tensor *first = tutti_graph_get_tensor(graph, node->access[0].tensor);
    size_t P = (size_t)members->size;
    struct {
        tutti_coll_args args;
        int64_t counts[];
    } *desc = calloc(1, sizeof *desc + P * sizeof *desc->counts);
    if (!desc) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for '%s'", node->name);
    desc->args = (tutti_coll_args){.kind = kinds[node->mark.verb],
        .dtype = first->dtype,
        .op = TUTTI_SUM,
        .root = node->mark.root,
        .out_of_place = node->mark.vectors > 0,
        .extras = node->mark.vectors ? node->mark.vectors - 1 : 0,
        .count = (int64_t)(bytes_of(graph, node) / tutti_dtype_bytes(first->dtype)),
        .group = group};
    if (desc->args.kind == TUTTI_ALLGATHER || desc->args.kind == TUTTI_REDUCE_SCATTER ||
        node->mark.verb == TUTTI_MARK_BROADCAST)
        status = set_own(graph, n, desc->args.count, members);
    if (!status) status = check_follows(graph, node);
    if (desc->args.kind == TUTTI_ALLGATHER) set_counts(&desc->args, members->size, desc->counts);
    if (!status)
        status = tutti_graph_set_collective(
            graph, n, desc, sizeof *desc + (desc->args.counts ? P * sizeof *desc->counts : 0));
    free(desc);
    return status;
}

/* Records in the graph which ranks take part in a collective, for the design. */
static tutti_status set_group(const tutti_marks_options *o, tutti_graph *graph, int n)
{
    const tutti_node *node = tutti_graph_get_node(graph, n);
    int group = ((const tutti_coll_args *)node->desc)->group;
    const tutti_members *members = o->members(o->ctx, group);
    tutti_status status = check_members(o, node, group, members);
    return status ? status : tutti_graph_set_group(graph, n, group, members->key < 0);
}

tutti_status tutti_marks_lower(tutti_graph *graph, const tutti_marks_options *options)
{
    const tutti_marks_options *o = options;
    int64_t bytes = o->bucket_bytes < 0 ? tutti_bucket_default_bytes(graph) : o->bucket_bytes;
    tutti_status status = tutti_bucket_fuse(graph, bytes);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        tutti_node_kind kind = tutti_graph_get_node(graph, i)->kind;
        if (kind == TUTTI_NODE_MARK) status = lower_mark(o, graph, i);
        kind = tutti_graph_get_node(graph, i)->kind;
        if (!status && kind == TUTTI_NODE_COLLECTIVE) status = set_group(o, graph, i);
    }
    if (!status) status = o->design->place(graph, o->lanes);
    if (!status) status = check_places(o->design, graph, o->lanes);
    return status ? status : tutti_chunk_cut(graph, o->chunk_bytes, o->lanes);
}

tutti_status tutti_marks_alone(const tutti_graph *graph)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind == TUTTI_NODE_MARK) status = check_alone(node);
    }
    return status;
}
