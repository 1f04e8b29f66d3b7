#include "dag/graph/edges.h"

#include "dag/base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The accesses to one tensor since its last write. */
typedef struct history {
    int64_t writer; /* -1: none yet */
    int linked;     /* the writer was a link of a chain */
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

/* ---- what comes before what ---- */

typedef struct number_list {
    int *number, count, room; /* sorted */
} number_list;

/* A submitted node. */
typedef struct reached {
    number_list near;   /* the nearest before it */
    int first, numbers; /* its own */
} reached;

struct tutti_reach {
    tutti_edges *edges;
    reached *node;
    int64_t submitted, room;
    int failed; /* memory ran out while edges were added */
};

tutti_status tutti_reach_new(int tensors, tutti_reach **reach)
{
    tutti_reach *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "edges: no memory");
    tutti_status status = tutti_edges_new(tensors, &r->edges);
    if (status)
        free(r);
    else
        *reach = r;
    return status;
}

void tutti_reach_free(tutti_reach *reach)
{
    if (!reach) return;
    for (int64_t i = 0; i < reach->submitted; i++) free(reach->node[i].near.number);
    tutti_edges_free(reach->edges);
    free(reach->node);
    free(reach);
}

/* Inserts a number in order unless it is there already. Returns 0 when memory runs out. */
static int insert(number_list *list, int number)
{
    int at = list->count;
    while (at > 0 && list->number[at - 1] >= number) at--;
    if (at < list->count && list->number[at] == number) return 1;
    if (list->count == list->room) {
        int room = list->room ? 2 * list->room : 4;
        int *grown = realloc(list->number, (size_t)room * sizeof *grown);
        if (!grown) return 0;
        list->number = grown;
        list->room = room;
    }
    memmove(list->number + at + 1, list->number + at,
        (size_t)(list->count - at) * sizeof *list->number);
    list->number[at] = number;
    list->count++;
    return 1;
}

/* A node with numbers stands for everything before it; a node without passes on what is before
 * it. */
static void inherit(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    tutti_reach *r = ctx;
    const reached *earlier = &r->node[from];
    number_list *near = &r->node[to].near;
    (void)edge;
    for (int i = 0; i < earlier->numbers; i++) r->failed |= !insert(near, earlier->first + i);
    for (int i = 0; !earlier->numbers && i < earlier->near.count; i++)
        r->failed |= !insert(near, earlier->near.number[i]);
}

tutti_status tutti_reach_add(tutti_reach *reach, const tutti_node *node, int first, int numbers,
    const int **before, int *befores)
{
    tutti_reach *r = reach;
    if (r->submitted == r->room) {
        int64_t room = r->room ? 2 * r->room : 256;
        reached *grown = realloc(r->node, (size_t)room * sizeof *grown);
        if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "edges: no memory");
        r->node = grown;
        r->room = room;
    }
    int64_t id = r->submitted++;
    r->node[id] = (reached){.first = first, .numbers = numbers};
    tutti_status status = tutti_edges_add(r->edges, id, node->accesses, node->access, inherit, r);
    if (!status && r->failed) status = tutti_fail(TUTTI_ERR_NOMEM, "edges: no memory");
    *before = r->node[id].near.number;
    *befores = r->node[id].near.count;
    return status;
}

/* ---- who needs what first ---- */

static int is_data(const tutti_graph *graph, const tutti_access *access)
{
    return tutti_graph_get_tensor(graph, access->tensor)->role != TUTTI_ROLE_TOKEN;
}

static int reads_touched(const tutti_graph *graph, const tutti_node *node, const char touched[])
{
    for (int a = 0; a < node->accesses; a++)
        if ((node->access[a].mode & TUTTI_READ) && touched[node->access[a].tensor] &&
            is_data(graph, &node->access[a]))
            return 1;
    return 0;
}

/* Marks what the node writes as depending on touched data, or as not. */
static void touch(const tutti_node *node, int depends, char touched[])
{
    for (int a = 0; a < node->accesses; a++)
        if (node->access[a].mode & TUTTI_WRITE) touched[node->access[a].tensor] = (char)depends;
}

tutti_status tutti_reach_next_step(const tutti_graph *graph, int node, int *needed)
{
    const tutti_node *sum = tutti_graph_get_node(graph, node);
    int nodes = tutti_graph_nodes(graph), found = INT_MAX;
    char *touched = calloc((size_t)tutti_graph_tensors(graph) + 1, 1);
    if (!touched) return tutti_fail(TUTTI_ERR_NOMEM, "edges: no memory");
    touch(sum, 1, touched);
    for (int pass = 0; pass < 2 && found == INT_MAX; pass++)
        for (int n = pass ? 0 : node + 1; n < nodes && found == INT_MAX; n++) {
            const tutti_node *next = tutti_graph_get_node(graph, n);
            if (next->section != sum->section) continue;
            int depends = reads_touched(graph, next, touched);
            if (pass && depends)
                found = n;
            else
                touch(next, depends, touched);
        }
    free(touched);
    *needed = found;
    return TUTTI_OK;
}
