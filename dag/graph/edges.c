#include "dag/graph/edges.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* What has touched one tensor since its last write. */
typedef struct history {
    int64_t writer; /* -1: none yet */
    int linked;     /* it was a link of a chain */
    int64_t *reader;
    int readers, room;
} history;

struct tutti_edges {
    int tensors;
    history history[];
};

tutti_status tutti_edges_new(int tensors, tutti_edges **edges)
{
    tutti_edges *e = calloc(1, sizeof *e + (size_t)tensors * sizeof e->history[0]);
    if (!e) return tutti_fail(TUTTI_ERR_NOMEM, "edges: no memory for %d tensors", tensors);
    e->tensors = tensors;
    for (int t = 0; t < tensors; t++) e->history[t].writer = -1;
    *edges = e;
    return TUTTI_OK;
}

void tutti_edges_free(tutti_edges *edges)
{
    if (!edges) return;
    for (int t = 0; t < edges->tensors; t++) free(edges->history[t].reader);
    free(edges);
}

static tutti_status make_room(tutti_edges *edges, int accesses, const tutti_access access[])
{
    for (int a = 0; a < accesses; a++) {
        history *h = &edges->history[access[a].tensor];
        if (h->readers < h->room) continue;
        int room = h->room ? 2 * h->room : 8;
        int64_t *grown = realloc(h->reader, (size_t)room * sizeof *grown);
        if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "edges: no memory");
        h->reader = grown;
        h->room = room;
    }
    return TUTTI_OK;
}

tutti_status tutti_edges_add(tutti_edges *edges, int64_t id, int accesses,
    const tutti_access access[], tutti_edges_fn *fn, void *ctx)
{
    tutti_status status = make_room(edges, accesses, access);
    if (status) return status;
    for (int a = 0; a < accesses; a++) {
        history *h = &edges->history[access[a].tensor];
        int linked = access[a].mode == TUTTI_CHAIN;
        if (h->writer >= 0)
            fn(ctx, h->writer, id, linked && h->linked ? TUTTI_EDGE_START : TUTTI_EDGE_END);
        if (access[a].mode == TUTTI_READ) {
            h->reader[h->readers++] = id;
            continue;
        }
        for (int r = 0; r < h->readers; r++) fn(ctx, h->reader[r], id, TUTTI_EDGE_END);
        h->readers = 0;
        h->writer = id;
        h->linked = linked;
    }
    return TUTTI_OK;
}

static void print_edge(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    static const char *const looks[] = {
        [TUTTI_EDGE_END] = "", [TUTTI_EDGE_START] = " [style=dashed]"};
    fprintf(ctx, "  n%lld -> n%lld%s;\n", (long long)from, (long long)to, looks[edge]);
}

tutti_status tutti_edges_dot(const tutti_graph *graph, int section, FILE *out)
{
    static const char *const looks[] = {
        "shape=box", "shape=box,style=dashed", "shape=ellipse,style=filled"};
    tutti_edges *edges;
    tutti_status status = tutti_edges_new(tutti_graph_tensors(graph), &edges);
    if (status) return status;
    fprintf(out, "digraph \"%s\" {\n", tutti_graph_section_name(graph, section));
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *n = tutti_graph_get_node(graph, i);
        if (n->section != section) continue;
        fprintf(out, "  n%d [label=\"%s\",%s];\n", i, n->name, looks[n->kind]);
        status = tutti_edges_add(edges, i, n->accesses, n->access, print_edge, out);
    }
    fprintf(out, "}\n");
    tutti_edges_free(edges);
    return status;
}
