#include "designs/exchange/marks.h"

#include "collectives/value/args.h"
#include "dag/base/log.h"
#include "designs/passes/bucket.h"
#include "designs/passes/chunk.h"

/* The fault in the place of a section's n-th collective; NULL: none. */
static const char *misplaced(
    const tutti_design *design, const tutti_node *node, int64_t n, int lanes)
{
    int chained = 0;
    for (int i = 0; i < node->accesses; i++) chained |= node->access[i].mode == TUTTI_CHAIN;
    if (node->place.lane < 0 || node->place.lane >= lanes) return "on a lane that does not exist";
    if (node->place.index != n) return "with an index that is not its position";
    if (node->place.holds && !tutti_design_may_hold(design))
        return "where it holds a worker that does not start it, or that has handed on a chain";
    return chained == design->chain ? NULL
                                    : "off the chain that it declares, or on one that it does not";
}

/* The driver and the checker rely on places: a design that writes a lane or index out of range is refused. */
static tutti_status check_places(const tutti_design *design, const tutti_graph *graph, int lanes)
{
    int section = -1;
    int64_t index = 0;
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        if (node->section != section) index = 0;
        section = node->section;
        const char *wrong = misplaced(design, node, index++, lanes);
        if (wrong)
            return tutti_fail(TUTTI_ERR_INVAL,
                "design %s puts collective '%s' %s (lane %d of %d, index %lld)", design->name,
                node->name, wrong, node->place.lane, lanes, (long long)node->place.index);
    }
    return TUTTI_OK;
}

tutti_status tutti_marks_turn(tutti_graph *graph, const tutti_design *design, int lanes,
    int64_t bucket_bytes, int64_t chunk_bytes)
{
    int64_t bytes = bucket_bytes < 0 ? tutti_bucket_default_bytes(graph) : bucket_bytes;
    tutti_status status = tutti_bucket_fuse(graph, bytes);
    if (status) return status;
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind != TUTTI_NODE_MARK) continue;
        const tutti_tensor *first = tutti_graph_get_tensor(graph, node->access[0].tensor);
        tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
            .dtype = first->dtype,
            .op = TUTTI_SUM,
            .count = (int64_t)first->block_bytes / (int64_t)tutti_dtype_bytes(first->dtype)};
        status = tutti_graph_set_collective(graph, i, &args, sizeof args);
        if (status) return status;
    }
    status = design->place(graph, lanes);
    if (!status) status = check_places(design, graph, lanes);
    return status ? status : tutti_chunk_cut(graph, chunk_bytes, lanes);
}
