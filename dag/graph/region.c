#include "dag/graph/region.h"

#include "dag/base/log.h"
#include "dag/graph/region_laws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the regions of a section ---- */

typedef struct growing {
    const tutti_graph *graph;
    const tutti_region_laws *laws;
    const tutti_region_rule *rule;
    const double *node_s;
    int *rows, count;
    char *is_in;
    double expected_s;
    tutti_regions *found;
    int room;
    /* of each tensor: 1 + its access in the region that is made */
    int *access_of;
} growing;

static void release_region(tutti_region *region)
{
    free((void *)region->name);
    free((void *)region->node);
    free((void *)region->access);
}

static void add_access(growing *g, tutti_region *r, tutti_access *access, const tutti_access *more)
{
    int *at = &g->access_of[more->tensor];
    if (!*at) {
        access[r->accesses] = *more;
        *at = ++r->accesses;
    } else if (access[*at - 1].mode == TUTTI_READ && more->mode & TUTTI_WRITE)
        access[*at - 1].mode = TUTTI_READWRITE;
}

static const tutti_node *node_at(const tutti_graph *graph, const tutti_region_laws *laws, int row)
{
    return tutti_graph_get_node(graph, tutti_region_laws_node(laws, row));
}

static int is_collective(const tutti_node *node)
{
    return node->kind == TUTTI_NODE_COLLECTIVE;
}

static const tutti_node *row_of(const growing *g, int i)
{
    return node_at(g->graph, g->laws, g->rows[i]);
}

/* What is written first holds nothing from outside, whatever reads it later. */
static tutti_status describe(growing *g, tutti_region *r)
{
    int accesses = 0, *node = malloc((size_t)g->count * sizeof *node);
    for (int i = 0; i < g->count; i++) accesses += row_of(g, i)->accesses;
    tutti_access *access = malloc((size_t)accesses * sizeof *access);
    const char *first = row_of(g, 0)->name, *last = row_of(g, g->count - 1)->name;
    const size_t length = strlen(first) + strlen(last) + 3;
    char *name = malloc(length);
    *r = (tutti_region){name, row_of(g, 0)->section, g->count, node, 0, access,
        row_of(g, 0)->priority, g->expected_s};
    if (!node || !access || !name) {
        release_region(r);
        return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", g->count);
    }
    snprintf(name, length, "%s..%s", first, last);
    for (int i = 0; i < g->count; i++) {
        const tutti_node *n = row_of(g, i);
        node[i] = tutti_region_laws_node(g->laws, g->rows[i]);
        if (n->priority > r->priority) r->priority = n->priority;
        for (int a = 0; a < n->accesses; a++) add_access(g, r, access, &n->access[a]);
    }
    for (int a = 0; a < r->accesses; a++) g->access_of[access[a].tensor] = 0;
    return TUTTI_OK;
}

/* Ends the region that grows, and begins anew. A single node is none. */
static tutti_status end_region(growing *g)
{
    tutti_regions *f = g->found;
    tutti_status status = TUTTI_OK;
    if (g->count > 1 && f->regions == g->room) {
        const int room = g->room ? 2 * g->room : 32;
        tutti_region *grown = realloc(f->region, (size_t)room * sizeof *grown);
        if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d", room);
        f->region = grown;
        g->room = room;
    }
    if (g->count > 1) status = describe(g, &f->region[f->regions]);
    for (int i = 0; i < g->count; i++) {
        g->is_in[g->rows[i]] = 0;
        if (g->count > 1 && !status)
            f->of[tutti_region_laws_node(g->laws, g->rows[i])] = f->regions;
    }
    f->regions += g->count > 1 && !status;
    g->count = 0;
    g->expected_s = 0;
    return status;
}

static tutti_status take_row(growing *g, int row)
{
    const double node_s = g->node_s[tutti_region_laws_node(g->laws, row)];
    int with;
    tutti_status status = TUTTI_OK;
    if (g->count && (g->expected_s + node_s > g->rule->longest_s ||
                        tutti_region_laws_find_breach(g->laws, g->rows, g->count, g->is_in, row,
                            &with) != TUTTI_REGION_KEEPS))
        status = end_region(g);
    g->rows[g->count++] = row;
    g->is_in[row] = 1;
    g->expected_s += node_s;
    return status;
}

static tutti_status find_in_section(growing *g, int section)
{
    tutti_region_laws *laws;
    tutti_status status = tutti_region_laws_make(g->graph, section, g->rule->workers, &laws);
    if (status) return status;
    const int rows = tutti_region_laws_rows(laws);
    g->laws = laws;
    g->rows = calloc((size_t)rows + 1, sizeof *g->rows);
    g->is_in = calloc((size_t)rows + 1, 1);
    if (!g->rows || !g->is_in)
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", rows);
    for (int r = 0; r < rows && !status; r++)
        if (!is_collective(node_at(g->graph, laws, r))) status = take_row(g, r);
    if (!status) status = end_region(g);
    free(g->rows);
    free(g->is_in);
    tutti_region_laws_free(laws);
    return status;
}

void tutti_regions_free(tutti_regions *regions)
{
    for (int i = 0; i < regions->regions; i++) release_region(&regions->region[i]);
    free(regions->region);
    free(regions->of);
    memset(regions, 0, sizeof *regions);
}

tutti_status tutti_regions_find(const tutti_graph *graph, const double node_s[],
    const tutti_region_rule *rule, tutti_regions *regions)
{
    const int nodes = tutti_graph_nodes(graph);
    *regions = (tutti_regions){.nodes = nodes, .of = malloc(((size_t)nodes + 1) * sizeof(int))};
    growing g = {.graph = graph,
        .rule = rule,
        .node_s = node_s,
        .found = regions,
        .access_of = calloc((size_t)tutti_graph_tensors(graph) + 1, sizeof *g.access_of)};
    tutti_status status = TUTTI_OK;
    if (!regions->of || !g.access_of)
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", nodes);
    for (int n = 0; n < nodes && !status; n++) regions->of[n] = -1;
    for (int s = 0; s < tutti_graph_sections(graph) && !status && rule->longest_s > 0; s++)
        status = find_in_section(&g, s);
    free(g.access_of);
    if (status) tutti_regions_free(regions);
    return status;
}

/* ---- the check ---- */

/* The region that is checked; rows and is_in have room for all nodes of the graph. */
typedef struct checked {
    const tutti_graph *graph;
    const tutti_region_laws *laws;
    const tutti_region *region;
    int *rows;
    char *is_in;
} checked;

static tutti_status refuse(const checked *c, tutti_region_breach what, int row, int with)
{
    static const char *const reasons[] = {
        [TUTTI_REGION_FOLLOWS_OUTSIDE] =
            "it follows this one, which is outside, and which the region would wait for",
        [TUTTI_REGION_WAITS_OTHERWISE] = "they do not wait for the same from outside",
        [TUTTI_REGION_DELAYS] = "what waits for this one would start later",
        [TUTTI_REGION_IS_APART] = "it does not follow this one, and could run beside it"};
    return tutti_fail(TUTTI_ERR_INTERNAL, "region '%s': '%s' and '%s' cannot be in it: %s",
        c->region->name, node_at(c->graph, c->laws, row)->name,
        node_at(c->graph, c->laws, with)->name, reasons[what]);
}

/* Node i of the region; -1: it is no kernel of its section, or in no order. */
static int find_row(const checked *c, int i)
{
    const int node = c->region->node[i];
    if (node < 0 || node >= tutti_graph_nodes(c->graph)) return -1;
    if (is_collective(tutti_graph_get_node(c->graph, node))) return -1;
    const int row = tutti_region_laws_row(c->laws, node);
    return i && row <= c->rows[i - 1] ? -1 : row;
}

static tutti_status check_region(const checked *c)
{
    const tutti_region *region = c->region;
    for (int i = 0; i < region->nodes; i++) {
        const int row = find_row(c, i);
        int with;
        if (row < 0)
            return tutti_fail(TUTTI_ERR_INTERNAL,
                "region '%s': node %d is no kernel of its section, or in no order", region->name,
                region->node[i]);
        const tutti_region_breach what =
            i ? tutti_region_laws_find_breach(c->laws, c->rows, i, c->is_in, row, &with)
              : TUTTI_REGION_KEEPS;
        if (what != TUTTI_REGION_KEEPS) return refuse(c, what, row, with);
        c->rows[i] = row;
        c->is_in[row] = 1;
    }
    for (int i = 0; i < region->nodes; i++) c->is_in[c->rows[i]] = 0;
    return TUTTI_OK;
}

/* Each node is in one region at most, which of[] says. */
static tutti_status check_list(const tutti_regions *regions)
{
    int listed = 0, named = 0;
    for (int r = 0; r < regions->regions; r++)
        for (int i = 0; i < regions->region[r].nodes; i++, listed++)
            if (regions->of[regions->region[r].node[i]] != r)
                return tutti_fail(TUTTI_ERR_INTERNAL, "region '%s': node %d is in another one",
                    regions->region[r].name, regions->region[r].node[i]);
    for (int n = 0; n < regions->nodes; n++) named += regions->of[n] >= 0;
    return listed == named ? TUTTI_OK
                           : tutti_fail(TUTTI_ERR_INTERNAL,
                                 "regions: %d nodes are in one, but %d are listed", named, listed);
}

static int has_regions(const tutti_regions *regions, int section)
{
    for (int r = 0; r < regions->regions; r++)
        if (regions->region[r].section == section) return 1;
    return 0;
}

static tutti_status check_section(
    checked *c, const tutti_regions *regions, int section, int workers)
{
    tutti_region_laws *laws;
    tutti_status status = tutti_region_laws_make(c->graph, section, workers, &laws);
    if (status) return status;
    c->laws = laws;
    for (int r = 0; r < regions->regions && !status; r++) {
        c->region = &regions->region[r];
        if (c->region->section == section) status = check_region(c);
    }
    tutti_region_laws_free(laws);
    return status;
}

tutti_status tutti_regions_check(
    const tutti_graph *graph, const tutti_regions *regions, int workers)
{
    const size_t nodes = (size_t)tutti_graph_nodes(graph) + 1;
    checked c = {.graph = graph, .rows = calloc(nodes, sizeof *c.rows), .is_in = calloc(nodes, 1)};
    tutti_status status = c.rows && c.is_in
                              ? check_list(regions)
                              : tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for a check");
    for (int s = 0; s < tutti_graph_sections(graph) && !status; s++)
        if (has_regions(regions, s)) status = check_section(&c, regions, s, workers);
    free(c.rows);
    free(c.is_in);
    return status;
}
