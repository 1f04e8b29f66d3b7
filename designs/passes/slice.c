#include "designs/passes/slice.h"

int64_t tutti_slice_default_bytes(void)
{
    return 1 << 20;
}

/* Elements of every slice but the last, which may have fewer. Long ones begin at a multiple of 64
 * bytes. The same for the number of slices that this length makes. */
static int64_t part_of(int64_t count, int64_t slices)
{
    enum { LONG = 1024, ALIGNED = 16 };
    int64_t part = (count + slices - 1) / slices;
    return part < LONG ? part : (part + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static int slices_of(const tutti_coll_args *args, int64_t bytes)
{
    enum { MOST = 4096 };
    int64_t all = args->count * (int64_t)tutti_dtype_bytes(args->dtype);
    if (args->kind != TUTTI_ALLREDUCE || bytes <= 0 || all <= bytes) return 1;
    int64_t slices = (all + bytes - 1) / bytes;
    if (slices > args->count) slices = args->count;
    if (slices > MOST) slices = MOST;
    int64_t most = bytes / (int64_t)tutti_dtype_bytes(args->dtype);
    while (part_of(args->count, slices) > most && slices < args->count && slices < MOST) slices++;
    int64_t part = part_of(args->count, slices);
    return (int)((args->count + part - 1) / part);
}

tutti_status tutti_slice_cut(tutti_graph *graph, int64_t bytes, int lanes)
{
    int section = -1, extra = 0; /* slices of the section so far beyond one a collective */
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->section != section) {
            section = node->section;
            extra = 0;
        }
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        tutti_place place = node->place;
        place.slices = place.holds ? 1 : slices_of(node->desc, bytes);
        place.lanes = lanes;
        place.lane = (place.lane + extra) % lanes;
        tutti_status status = tutti_graph_set_place(graph, n, place);
        if (status) return status;
        extra += place.slices - 1;
    }
    return TUTTI_OK;
}

int tutti_slice_count(const tutti_place *place)
{
    return place->slices ? place->slices : 1;
}

int tutti_slice_lane(const tutti_place *place, int slice)
{
    return place->lanes ? (place->lane + slice) % place->lanes : place->lane;
}

tutti_coll_args tutti_slice_args(const tutti_coll_args *args, int slices, int slice)
{
    tutti_coll_args a = *args;
    if (slices <= 1) return a;
    int64_t part = part_of(args->count, slices), from = slice * part;
    size_t bytes = tutti_dtype_bytes(args->dtype);
    a.count = args->count - from < part ? args->count - from : part;
    a.recv = (char *)args->recv + (size_t)from * bytes;
    if (args->send) a.send = (const char *)args->send + (size_t)from * bytes;
    return a;
}
