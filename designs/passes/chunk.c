#include "designs/passes/chunk.h"

#include "dag/base/log.h"

#include <stdlib.h>

int64_t tutti_chunk_default_bytes(void)
{
    return 1 << 20;
}

/* Elements of every chunk but the last, which may have fewer. Long chunks begin at a multiple of 64 bytes if the
 * element size divides 64. Calling it again with the resulting number of chunks gives the same length. */
static int64_t part_of(const tutti_coll_args *args, int64_t chunks)
{
    enum { LONG = 1024, LINE = 64 };
    int64_t part = (args->count + chunks - 1) / chunks;
    int64_t aligned = LINE / (int64_t)tutti_dtype_bytes(args->dtype);
    return part < LONG || aligned < 2 ? part : (part + aligned - 1) / aligned * aligned;
}

static int chunks_of(const tutti_coll_args *args, int64_t bytes)
{
    enum { MOST = 4096 };
    int64_t all = args->count * (int64_t)tutti_dtype_bytes(args->dtype);
    if (args->kind != TUTTI_ALLREDUCE || bytes <= 0 || all <= bytes) return 1;
    if (tutti_coll_is_whole(args)) return 1;
    int64_t chunks = (all + bytes - 1) / bytes;
    if (chunks > args->count) chunks = args->count;
    if (chunks > MOST) chunks = MOST;
    int64_t most = bytes / (int64_t)tutti_dtype_bytes(args->dtype);
    while (part_of(args, chunks) > most && chunks < args->count && chunks < MOST) chunks++;
    int64_t part = part_of(args, chunks);
    return (int)((args->count + part - 1) / part);
}

/* The chunks beyond one per collective in the node's section and group, up to this node. */
static int extra_before(const tutti_graph *graph, int n, const int extra[])
{
    int before = tutti_graph_previous(graph, n);
    return before < 0
               ? 0
               : extra[before] + tutti_chunk_count(&tutti_graph_get_node(graph, before)->place) - 1;
}

tutti_status tutti_chunk_cut(tutti_graph *graph, int64_t bytes, int lanes)
{
    int nodes = tutti_graph_nodes(graph);
    int *extra = calloc((size_t)nodes + 1, sizeof *extra);
    tutti_status status =
        extra ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory to cut %d nodes", nodes);
    for (int n = 0; n < nodes && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        tutti_place place = node->place;
        extra[n] = extra_before(graph, n, extra);
        place.chunks = place.holds ? 1 : chunks_of(node->desc, bytes);
        place.lanes = node->edge ? 1 : lanes;
        place.lane = (place.lane + extra[n]) % place.lanes;
        status = tutti_graph_set_place(graph, n, place);
    }
    free(extra);
    return status;
}

tutti_place tutti_chunk_place(const tutti_coll_args *args, int64_t bytes, int lanes, int64_t *next)
{
    tutti_place place = {
        .lane = (int)(*next % lanes), .lanes = lanes, .chunks = chunks_of(args, bytes)};
    *next += place.chunks;
    return place;
}

int tutti_chunk_count(const tutti_place *place)
{
    return place->chunks ? place->chunks : 1;
}

int tutti_chunk_lane(const tutti_place *place, int chunk)
{
    return place->lanes ? (place->lane + chunk) % place->lanes : place->lane;
}

tutti_coll_args tutti_chunk_args(const tutti_coll_args *args, int chunks, int chunk)
{
    tutti_coll_args a = *args;
    if (chunks <= 1) return a;
    int64_t part = part_of(args, chunks), from = chunk * part;
    size_t bytes = tutti_dtype_bytes(args->dtype);
    a.count = args->count - from < part ? args->count - from : part;
    if (args->recv) a.recv = (char *)args->recv + (size_t)from * bytes;
    if (args->send) a.send = (const char *)args->send + (size_t)from * bytes;
    for (int k = 0; k < args->extras; k++)
        a.extra[k] = (const char *)args->extra[k] + (size_t)from * bytes;
    return a;
}
