#include "dag/graph/parts.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for one more element of `size` bytes in *array. */
static tutti_status grow(void *array, int count, int *room, size_t size)
{
    if (count < *room) return TUTTI_OK;
    int wanted = *room ? *room * 2 : 64;
    void *grown = realloc(*(void **)array, tutti_mem_product((size_t)wanted, size));
    if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for %d elements", wanted);
    *(void **)array = grown;
    *room = wanted;
    return TUTTI_OK;
}

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

tutti_status tutti_graph_new(tutti_graph **graph)
{
    tutti_graph *g = calloc(1, sizeof *g);
    if (!g) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory");
    *graph = g;
    return TUTTI_OK;
}

static void node_clear(tutti_node *node)
{
    free((void *)node->name);
    free((void *)node->desc);
    free((void *)node->access);
}

void tutti_graph_free(tutti_graph *graph)
{
    if (!graph) return;
    for (int i = 0; i < graph->tensors; i++) free((void *)graph->tensor[i].name);
    for (int i = 0; i < graph->nodes; i++) node_clear(&graph->node[i]);
    for (int i = 0; i < graph->sections; i++) free(graph->section[i]);
    free(graph->tensor);
    free(graph->node);
    free(graph->section);
    free(graph->named);
    free(graph);
}

/* ---- tensors by name ---- */

/* FNV-1a. */
static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* Where the name is, or would be put. */
static int *find_place(const tutti_graph *graph, const char *name)
{
    const uint32_t mask = (uint32_t)graph->named_room - 1;
    uint32_t at = hash_name(name) & mask;
    while (graph->named[at] && strcmp(graph->tensor[graph->named[at] - 1].name, name))
        at = (at + 1) & mask;
    return &graph->named[at];
}

/* Makes room for one more name. */
static tutti_status grow_names(tutti_graph *graph)
{
    if (graph->tensors < graph->named_room / 2) return TUTTI_OK;
    const int wanted = graph->named_room ? graph->named_room * 2 : 128;
    int *grown = calloc((size_t)wanted, sizeof *grown);
    if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for %d names", wanted);
    free(graph->named);
    graph->named = grown;
    graph->named_room = wanted;
    for (int i = 0; i < graph->tensors; i++) *find_place(graph, graph->tensor[i].name) = 1 + i;
    return TUTTI_OK;
}

int tutti_graph_find(const tutti_graph *graph, const char *name)
{
    return graph->named_room ? *find_place(graph, name) - 1 : -1;
}

tutti_status tutti_graph_tensor(tutti_graph *graph, const char *name, tutti_role role,
    tutti_dtype dtype, tutti_shape shape, int *tensor)
{
    if (tutti_graph_find(graph, name) >= 0)
        return tutti_fail(TUTTI_ERR_INVAL, "graph: there already is a tensor '%s'", name);
    int64_t count = tutti_shape_count(&shape);
    size_t bytes =
        count < 0 ? SIZE_MAX : tutti_mem_product((size_t)count, tutti_dtype_bytes(dtype));
    if (bytes > SIZE_MAX / 4)
        return tutti_fail(TUTTI_ERR_INVAL, "graph: tensor '%s' has a bad shape", name);
    tutti_status status =
        grow(&graph->tensor, graph->tensors, &graph->tensor_room, sizeof *graph->tensor);
    if (!status) status = grow_names(graph);
    if (status) return status;
    char *copy = strdup(name);
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for tensor '%s'", name);
    graph->tensor[graph->tensors] = (tutti_tensor){.name = copy,
        .role = role,
        .dtype = dtype,
        .shape = shape,
        .bytes = role == TUTTI_ROLE_TOKEN ? 0 : bytes,
        .block = graph->tensors,
        .block_bytes = role == TUTTI_ROLE_TOKEN ? 0 : bytes,
        .owns = role == TUTTI_ROLE_TOKEN ? 0 : count};
    *find_place(graph, name) = 1 + graph->tensors;
    *tensor = graph->tensors++;
    return TUTTI_OK;
}

tutti_status tutti_graph_section(tutti_graph *graph, const char *name, int *section)
{
    tutti_status status =
        grow(&graph->section, graph->sections, &graph->section_room, sizeof *graph->section);
    if (status) return status;
    char *copy = strdup(name);
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for section '%s'", name);
    graph->section[graph->sections] = copy;
    *section = graph->sections++;
    return TUTTI_OK;
}

static tutti_status check_accesses(
    const tutti_graph *graph, const char *name, int accesses, const tutti_access access[])
{
    for (int i = 0; i < accesses; i++) {
        if (access[i].tensor < 0 || access[i].tensor >= graph->tensors)
            return tutti_fail(TUTTI_ERR_INVAL, "graph: node '%s' names tensor %d of %d", name,
                access[i].tensor, graph->tensors);
        for (int j = 0; j < i; j++)
            if (access[i].tensor == access[j].tensor)
                return tutti_fail(TUTTI_ERR_INVAL, "graph: node '%s' names tensor '%s' twice", name,
                    graph->tensor[access[i].tensor].name);
    }
    return TUTTI_OK;
}

static tutti_status append(tutti_graph *graph, const tutti_node *proto, int *node)
{
    tutti_status status = check_accesses(graph, proto->name, proto->accesses, proto->access);
    int section = graph->sections - 1;
    if (!status && section < 0) status = tutti_graph_section(graph, "main", &section);
    if (!status) status = grow(&graph->node, graph->nodes, &graph->node_room, sizeof *graph->node);
    if (status) return status;
    tutti_node fresh = *proto;
    fresh.name = strdup(proto->name);
    fresh.desc = copy_of(proto->desc, proto->desc_bytes);
    fresh.access = copy_of(proto->access, (size_t)proto->accesses * sizeof *proto->access);
    fresh.section = section;
    fresh.place = (tutti_place){.lane = -1, .priority = proto->mark.priority};
    if (!fresh.name || !fresh.desc || !fresh.access) {
        node_clear(&fresh);
        return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for node '%s'", proto->name);
    }
    graph->node[graph->nodes] = fresh;
    if (node) *node = graph->nodes;
    graph->nodes++;
    return TUTTI_OK;
}

tutti_status tutti_graph_kernel(tutti_graph *graph, const char *name, const struct tutti_op *op,
    const void *desc, size_t desc_bytes, int accesses, const tutti_access access[], int *node)
{
    tutti_node proto = {.name = name,
        .kind = TUTTI_NODE_KERNEL,
        .op = op,
        .desc = desc,
        .desc_bytes = desc_bytes,
        .accesses = accesses,
        .access = access};
    return append(graph, &proto, node);
}

static const char *const verbs[TUTTI_MARK_VERBS] = {
    "allreduce", "reduce_scatter", "allgather", "reduce", "broadcast", "send", "recv"};

const char *tutti_verb_name(tutti_verb verb)
{
    return (unsigned)verb < TUTTI_MARK_VERBS ? verbs[verb] : "unknown";
}

/* What a gather follows. */
static tutti_status check_follows(const tutti_graph *graph, const tutti_mark *mark)
{
    const tutti_tensor *t = &graph->tensor[mark->tensor];
    int n = mark->follows - 1;
    const tutti_node *node = n >= 0 && n < graph->nodes ? &graph->node[n] : NULL;
    if (!node || mark->verb != TUTTI_MARK_ALLGATHER || node->kind != TUTTI_NODE_MARK ||
        node->mark.verb != TUTTI_MARK_REDUCE_SCATTER || node->mark.group != mark->group ||
        node->section != graph->sections - 1 ||
        tutti_shape_count(&graph->tensor[node->mark.tensor].shape) != tutti_shape_count(&t->shape))
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: the mark of '%s' does not follow a reduce_scatter of as many elements in its "
            "section and group",
            t->name);
    return TUTTI_OK;
}

static int has_tensor(const tutti_graph *graph, int tensor)
{
    return tensor >= 0 && tensor < graph->tensors;
}

static tutti_status check_vectors(const tutti_graph *graph, const tutti_mark *mark)
{
    const tutti_tensor *t = &graph->tensor[mark->tensor];
    const int adds = mark->verb == TUTTI_MARK_ALLREDUCE || mark->verb == TUTTI_MARK_REDUCE_SCATTER;
    if (mark->vectors && (!adds || mark->vectors < 0 || mark->vectors > TUTTI_MARK_VECTORS))
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: the mark of '%s' adds %d vectors: 0 to %d are possible, of an allreduce or a "
            "reduce_scatter",
            t->name, mark->vectors, TUTTI_MARK_VECTORS);
    for (int k = 0; k < mark->vectors; k++) {
        const int x = mark->vector[k];
        if (!has_tensor(graph, x) || graph->tensor[x].dtype != t->dtype ||
            tutti_shape_count(&graph->tensor[x].shape) != tutti_shape_count(&t->shape))
            return tutti_fail(TUTTI_ERR_INVAL,
                "graph: vector %d of the mark of '%s' is tensor %d: not one of its type and size",
                k, t->name, x);
    }
    return TUTTI_OK;
}

static tutti_status check_mark(const tutti_graph *graph, const tutti_mark *mark)
{
    if (!has_tensor(graph, mark->tensor))
        return tutti_fail(
            TUTTI_ERR_INVAL, "graph: a mark names tensor %d of %d", mark->tensor, graph->tensors);
    const char *name = graph->tensor[mark->tensor].name;
    if ((unsigned)mark->verb >= TUTTI_MARK_VERBS)
        return tutti_fail(
            TUTTI_ERR_INVAL, "graph: the mark of '%s' has no verb %d", name, (int)mark->verb);
    if (mark->group < 0 || mark->root < 0 || mark->peer < 0 || mark->edge < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: the mark of '%s' names group %d, root %d, peer %d, edge %d: must be from 0",
            name, mark->group, mark->root, mark->peer, mark->edge);
    if (mark->rows && (mark->verb != TUTTI_MARK_ALLGATHER || mark->follows ||
                          graph->tensor[mark->tensor].shape.rank != 2))
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: the mark of '%s' has no rows: it must gather a tensor of rank 2, and follow "
            "nothing",
            name);
    tutti_status status = check_vectors(graph, mark);
    return !status && mark->follows ? check_follows(graph, mark) : status;
}

tutti_status tutti_graph_mark(tutti_graph *graph, const tutti_mark *mark, int *node)
{
    tutti_status status = check_mark(graph, mark);
    if (status) return status;
    char name[256];
    int sums = mark->verb == TUTTI_MARK_ALLREDUCE;
    snprintf(name, sizeof name, "%s.%s", graph->tensor[mark->tensor].name,
        sums ? "sum" : tutti_verb_name(mark->verb));
    tutti_access access[1 + TUTTI_MARK_VECTORS];
    access[0] = (tutti_access){mark->tensor, mark->verb == TUTTI_MARK_SEND   ? TUTTI_READ
                                             : mark->verb == TUTTI_MARK_RECV ? TUTTI_WRITE
                                                                             : TUTTI_READWRITE};
    for (int k = 0; k < mark->vectors; k++)
        access[1 + k] = (tutti_access){mark->vector[k], TUTTI_READ};
    tutti_node proto = {.name = name,
        .kind = TUTTI_NODE_MARK,
        .accesses = 1 + mark->vectors,
        .access = access,
        .mark = *mark};
    return append(graph, &proto, node);
}

tutti_status tutti_graph_check_node(const tutti_graph *graph, int node)
{
    if (node >= 0 && node < graph->nodes) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "graph: node %d of %d", node, graph->nodes);
}

tutti_status tutti_graph_set_collective(
    tutti_graph *graph, int node, const void *desc, size_t desc_bytes)
{
    tutti_status status = tutti_graph_check_node(graph, node);
    if (status) return status;
    tutti_node *n = &graph->node[node];
    if (n->kind != TUTTI_NODE_MARK)
        return tutti_fail(TUTTI_ERR_INVAL, "graph: node '%s' is not a mark", n->name);
    void *copy = copy_of(desc, desc_bytes);
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for node '%s'", n->name);
    free((void *)n->desc);
    n->desc = copy;
    n->desc_bytes = desc_bytes;
    n->kind = TUTTI_NODE_COLLECTIVE;
    return TUTTI_OK;
}

tutti_status tutti_graph_set_own(tutti_graph *graph, int tensor, int64_t first, int64_t owns)
{
    if (tensor < 0 || tensor >= graph->tensors)
        return tutti_fail(TUTTI_ERR_INVAL, "graph: tensor %d of %d", tensor, graph->tensors);
    tutti_tensor *t = &graph->tensor[tensor];
    if (first < 0 || owns < 0 || first > tutti_shape_count(&t->shape) - owns)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: tensor '%s' has no %lld elements from element %lld on", t->name,
            (long long)owns, (long long)first);
    t->first = first;
    t->owns = owns;
    return TUTTI_OK;
}

void tutti_graph_set_urgent(tutti_graph *graph, int tensor)
{
    graph->tensor[tensor].urgent = 1;
}

tutti_status tutti_graph_set_desc(tutti_graph *graph, int node, const void *desc, size_t desc_bytes)
{
    tutti_status status = tutti_graph_check_node(graph, node);
    if (status) return status;
    tutti_node *n = &graph->node[node];
    if (n->kind != TUTTI_NODE_KERNEL || n->desc_bytes != desc_bytes)
        return tutti_fail(TUTTI_ERR_INVAL,
            "graph: node '%s' is no kernel with a descriptor of %zu bytes", n->name, desc_bytes);
    memcpy((void *)n->desc, desc, desc_bytes);
    return TUTTI_OK;
}

tutti_status tutti_graph_cut(tutti_graph *graph, int tensor, int64_t first, int64_t owns)
{
    tutti_status status = tutti_graph_set_own(graph, tensor, first, owns);
    if (status) return status;
    tutti_tensor *t = &graph->tensor[tensor];
    int held = t->block != tensor || t->block_bytes != t->bytes;
    for (int n = 0; n < graph->nodes && !held; n++)
        held =
            graph->node[n].kind != TUTTI_NODE_KERNEL && tutti_node_names(&graph->node[n], tensor);
    if (held) return tutti_fail(TUTTI_ERR_INVAL, "graph: tensor '%s' cannot be cut", t->name);
    t->shape = tutti_shape_of(owns ? owns : 1);
    t->bytes = t->block_bytes = (size_t)(owns ? owns : 1) * tutti_dtype_bytes(t->dtype);
    return TUTTI_OK;
}

tutti_status tutti_graph_set_place(tutti_graph *graph, int node, tutti_place place)
{
    tutti_status status = tutti_graph_check_node(graph, node);
    if (!status) graph->node[node].place = place;
    return status;
}

tutti_status tutti_graph_set_group(tutti_graph *graph, int node, int group, int edge)
{
    tutti_status status = tutti_graph_check_node(graph, node);
    if (status) return status;
    graph->node[node].group = group;
    graph->node[node].edge = edge;
    return TUTTI_OK;
}

int tutti_graph_previous(const tutti_graph *graph, int node)
{
    const tutti_node *n = &graph->node[node];
    for (int i = node - 1; i >= 0 && graph->node[i].section == n->section; i--)
        if (graph->node[i].kind == TUTTI_NODE_COLLECTIVE && graph->node[i].group == n->group)
            return i;
    return -1;
}

tutti_status tutti_graph_add_access(tutti_graph *graph, int node, tutti_access access)
{
    tutti_status status = tutti_graph_check_node(graph, node);
    if (status) return status;
    tutti_node *n = &graph->node[node];
    size_t held = (size_t)n->accesses * sizeof access;
    tutti_access *grown = malloc(held + sizeof access);
    if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "graph: no memory for node '%s'", n->name);
    memcpy(grown, n->access, held);
    grown[n->accesses] = access;
    status = check_accesses(graph, n->name, n->accesses + 1, grown);
    if (status) {
        free(grown);
        return status;
    }
    free((void *)n->access);
    n->access = grown;
    n->accesses++;
    return TUTTI_OK;
}

void tutti_graph_set_priority(tutti_graph *graph, int node, int priority)
{
    graph->node[node].priority = priority;
}

int64_t tutti_graph_node_bytes(const tutti_graph *graph, int node)
{
    const tutti_node *n = &graph->node[node];
    int64_t total = 0;
    for (int a = 0; a < n->accesses; a++) {
        int64_t bytes = (int64_t)graph->tensor[n->access[a].tensor].bytes;
        total += n->access[a].mode == TUTTI_READWRITE ? 2 * bytes : bytes;
    }
    return total;
}

int tutti_graph_tensors(const tutti_graph *graph)
{
    return graph->tensors;
}

int tutti_graph_nodes(const tutti_graph *graph)
{
    return graph->nodes;
}

int tutti_graph_sections(const tutti_graph *graph)
{
    return graph->sections;
}

const tutti_tensor *tutti_graph_get_tensor(const tutti_graph *graph, int tensor)
{
    return &graph->tensor[tensor];
}

const tutti_node *tutti_graph_get_node(const tutti_graph *graph, int node)
{
    return &graph->node[node];
}

const char *tutti_graph_section_name(const tutti_graph *graph, int section)
{
    return graph->section[section];
}
