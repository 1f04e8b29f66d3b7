#include "dag/graph/region.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/graph/edges.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a section's nodes wait for, and what waits for them ---- */

enum { WORD = 64 };

/* Sets of events from outside, one set for each row. */
typedef struct sets {
    uint64_t *bits;
    size_t words; /* of a row */
} sets;

/* Nodes of the section are rows, in program order. */
typedef struct laws {
    const tutti_graph *graph;
    int section, rows;
    int *node, *row; /* of a row; of a node, or -1 */
    /* The rows of this step that row r follows: before[first[r]] to before[first[r + 1] - 1]. */
    int *before, *first, room;
    sets waits;   /* for what from outside, of this step or the last one, a row waits */
    sets follows; /* which rows of this step come before a row; with several workers */
    sets reaches; /* which collectives of this step, and what else from outside, follow it */
    char *closes; /* it is the last one that something from outside waits for */
} laws;

static uint64_t *set_of(const sets *s, int64_t row)
{
    return s->bits + (size_t)row * s->words;
}

static void add_bit(const sets *s, int64_t row, size_t bit)
{
    set_of(s, row)[bit / WORD] |= 1ull << bit % WORD;
}

static void add_set(const sets *s, int64_t to, int64_t from)
{
    for (size_t w = 0; w < s->words; w++) set_of(s, to)[w] |= set_of(s, from)[w];
}

static int has_bit(const sets *s, int64_t row, size_t bit)
{
    return set_of(s, row)[bit / WORD] >> bit % WORD & 1;
}

static int is_within(const sets *s, int64_t part, int64_t whole)
{
    for (size_t w = 0; w < s->words; w++)
        if (set_of(s, part)[w] & ~set_of(s, whole)[w]) return 0;
    return 1;
}

static int make_sets(sets *s, int64_t rows, size_t bits)
{
    s->words = (bits + WORD - 1) / WORD + 1;
    s->bits = calloc(tutti_mem_product((size_t)rows + 1, s->words), sizeof *s->bits);
    return s->bits != NULL;
}

static int is_collective(const tutti_node *node)
{
    return node->kind == TUTTI_NODE_COLLECTIVE;
}

/* ---- tensors that others than the graph's nodes write or read ---- */

enum { WRITTEN = 1, USED = 2 };

static void find_uses(const tutti_graph *graph, char uses[])
{
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        for (int a = 0; tutti_node_runs(node) && a < node->accesses; a++)
            uses[node->access[a].tensor] |=
                (char)((node->access[a].mode & TUTTI_WRITE ? WRITTEN : 0) |
                       (node->access[a].mode & TUTTI_READ || is_collective(node) ? USED : 0));
    }
}

/* A gradient that no node reads goes to a store of keys, from which parameters come then. */
static int goes_out(const tutti_graph *graph, int tensor, const char uses[])
{
    return tutti_graph_get_tensor(graph, tensor)->role == TUTTI_ROLE_GRADIENT &&
           !(uses[tensor] & USED);
}

static int has_store(const tutti_graph *graph, const char uses[])
{
    for (int t = 0; t < tutti_graph_tensors(graph); t++)
        if (goes_out(graph, t, uses)) return 1;
    return 0;
}

/* ---- the walk through a step before, and this one ---- */

typedef struct walk {
    laws *laws;
    const char *uses;
    sets waits;   /* of all instances; its last rows are those of the section */
    int64_t base; /* the first of these */
    int instances;
    const tutti_node **of;
    int collectives, has_store, failed;
} walk;

/* Bits of waits: the collectives of the step before, those of this one, what is fed in this one, and, with a store of
 * keys, tensors that no node writes. */
static size_t feeds_bit(const walk *w)
{
    return 2 * (size_t)w->collectives;
}

static void note_before(walk *w, int64_t from, int64_t to)
{
    laws *l = w->laws;
    if (l->first[to - w->base + 1] == l->room) {
        const int room = l->room ? 2 * l->room : 256;
        int *grown = realloc(l->before, (size_t)room * sizeof *grown);
        if (!grown) {
            w->failed = 1;
            return;
        }
        l->before = grown;
        l->room = room;
    }
    l->before[l->first[to - w->base + 1]++] = (int)(from - w->base);
}

/* The start of a link of a chain, which another one waits for, is not its end. */
static void follow(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    walk *w = ctx;
    if (edge == TUTTI_EDGE_START || from == to) return;
    add_set(&w->waits, to, from);
    if (from >= w->base) note_before(w, from, to);
}

static void visit(walk *w, tutti_edges *edges, int64_t id, int number)
{
    const tutti_node *node = w->of[id];
    if (id >= w->base) {
        laws *l = w->laws;
        const int row = (int)(id - w->base);
        l->first[row + 1] = l->first[row];
    }
    if (tutti_edges_add(edges, id, node->accesses, node->access, follow, w)) w->failed = 1;
    if (is_collective(node))
        add_bit(&w->waits, id, (size_t)number + (id < w->base ? 0 : (size_t)w->collectives));
    for (int a = 0; a < node->accesses; a++) {
        const int t = node->access[a].tensor;
        const tutti_role role = tutti_graph_get_tensor(w->laws->graph, t)->role;
        if (id < w->base || !(node->access[a].mode & TUTTI_READ) || w->uses[t] & WRITTEN) continue;
        if (role == TUTTI_ROLE_INPUT)
            add_bit(&w->waits, id, feeds_bit(w));
        else if (w->has_store)
            add_bit(&w->waits, id, feeds_bit(w) + 1 + (size_t)t);
    }
}

/* All sections once, as the step before, and then the one that is looked at. */
static tutti_status walk_steps(walk *w)
{
    const tutti_graph *graph = w->laws->graph;
    tutti_edges *edges;
    tutti_status status = tutti_edges_new(tutti_graph_tensors(graph), &edges);
    int number = 0;
    for (int64_t id = 0; !status && id < w->instances; id++) {
        if (id == w->base) number = 0;
        visit(w, edges, id, number);
        number += is_collective(w->of[id]);
        if (w->failed) status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory");
    }
    tutti_edges_free(edges);
    return status;
}

static void list_instances(walk *w)
{
    laws *l = w->laws;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) w->base = w->instances;
        for (int n = 0; n < tutti_graph_nodes(l->graph); n++) {
            const tutti_node *node = tutti_graph_get_node(l->graph, n);
            if (!tutti_node_runs(node) || (pass && node->section != l->section)) continue;
            if (pass) {
                l->node[l->rows] = n;
                l->row[n] = l->rows++;
            } else
                w->collectives += is_collective(node);
            w->of[w->instances++] = node;
        }
    }
}

static tutti_status find_waits(laws *l, const char uses[])
{
    const size_t nodes = (size_t)tutti_graph_nodes(l->graph);
    walk w = {.laws = l,
        .uses = uses,
        .has_store = has_store(l->graph, uses),
        .of = calloc(2 * nodes + 1, sizeof *w.of)};
    tutti_status status =
        w.of ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %zu nodes", nodes);
    if (!status) list_instances(&w);
    const size_t tensors = w.has_store ? (size_t)tutti_graph_tensors(l->graph) : 0;
    const size_t bits = feeds_bit(&w) + 1 + tensors;
    if (!status && !make_sets(&w.waits, w.instances, bits))
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", w.instances);
    if (!status) status = walk_steps(&w);
    if (!status && !make_sets(&l->waits, l->rows, bits))
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", l->rows);
    if (!status)
        memcpy(l->waits.bits, set_of(&w.waits, w.base),
            (size_t)l->rows * l->waits.words * sizeof *l->waits.bits);
    free(w.waits.bits);
    free(w.of);
    return status;
}

static const tutti_node *node_at(const laws *l, int row)
{
    return tutti_graph_get_node(l->graph, l->node[row]);
}

/* Who comes before which collective, and before what goes to a store; from the last row on. */
static tutti_status find_reaches(laws *l, const char uses[])
{
    const size_t tensors = has_store(l->graph, uses) ? (size_t)tutti_graph_tensors(l->graph) : 0;
    size_t bit = 0, collectives = 0;
    for (int r = 0; r < l->rows; r++) collectives += is_collective(node_at(l, r)) ? 1 : 0;
    if (!make_sets(&l->reaches, l->rows, collectives + tensors))
        return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", l->rows);
    for (int r = l->rows - 1; r >= 0; r--) {
        const tutti_node *node = node_at(l, r);
        if (is_collective(node)) add_bit(&l->reaches, r, bit++);
        for (int a = 0; a < node->accesses; a++)
            if (goes_out(l->graph, node->access[a].tensor, uses))
                add_bit(&l->reaches, r, collectives + (size_t)node->access[a].tensor);
        for (int b = l->first[r]; b < l->first[r + 1]; b++) add_set(&l->reaches, l->before[b], r);
    }
    return TUTTI_OK;
}

static tutti_status find_followed(laws *l)
{
    if (!make_sets(&l->follows, l->rows, (size_t)l->rows))
        return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", l->rows);
    for (int r = 0; r < l->rows; r++)
        for (int b = l->first[r]; b < l->first[r + 1]; b++) {
            add_bit(&l->follows, r, (size_t)l->before[b]);
            add_set(&l->follows, r, l->before[b]);
        }
    return TUTTI_OK;
}

/* The last kernel in program order that a collective follows lets it start. */
static void find_closers(laws *l, const char uses[])
{
    for (int r = 0; r < l->rows; r++) {
        const tutti_node *node = node_at(l, r);
        int last = -1;
        for (int b = l->first[r]; is_collective(node) && b < l->first[r + 1]; b++)
            if (!is_collective(node_at(l, l->before[b])) && l->before[b] > last)
                last = l->before[b];
        if (last >= 0) l->closes[last] = 1;
        for (int a = 0; !is_collective(node) && a < node->accesses; a++)
            l->closes[r] |= (char)goes_out(l->graph, node->access[a].tensor, uses);
    }
}

static void free_laws(laws *l)
{
    free(l->node);
    free(l->row);
    free(l->before);
    free(l->first);
    free(l->waits.bits);
    free(l->follows.bits);
    free(l->reaches.bits);
    free(l->closes);
}

static tutti_status make_laws(const tutti_graph *graph, int section, int workers, laws *made)
{
    const size_t nodes = (size_t)tutti_graph_nodes(graph) + 1;
    laws l = {.graph = graph,
        .section = section,
        .node = calloc(nodes, sizeof *l.node),
        .row = malloc(nodes * sizeof *l.row),
        .first = calloc(nodes + 1, sizeof *l.first),
        .closes = calloc(nodes, 1)};
    char *uses = calloc((size_t)tutti_graph_tensors(graph) + 1, 1);
    tutti_status status = TUTTI_OK;
    if (!l.node || !l.row || !l.first || !l.closes || !uses)
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %zu nodes", nodes);
    if (!status) {
        memset(l.row, -1, nodes * sizeof *l.row);
        find_uses(graph, uses);
        status = find_waits(&l, uses);
    }
    if (!status && workers > 1) status = find_followed(&l);
    if (!status && workers > 1) status = find_reaches(&l, uses);
    if (!status) find_closers(&l, uses);
    free(uses);
    if (status)
        free_laws(&l);
    else
        *made = l;
    return status;
}

/* ---- may a node join? ---- */

/* What a node that joins would break. */
typedef enum breach { KEEPS, FOLLOWS_OUTSIDE, WAITS_OTHERWISE, DELAYS, IS_APART } breach;

/* Of row `next` behind the rows of a region; is_in: whether a row is one. *with: the other row. */
static breach find_breach(const laws *l, const int rows[], int count, const char is_in[], int next,
    int workers, int *with)
{
    const int last = rows[count - 1];
    int follows_last = 0;
    *with = last;
    for (int b = l->first[next]; b < l->first[next + 1]; b++) {
        const int before = l->before[b];
        follows_last |= before == last;
        if (is_in[before] || before < rows[0]) continue;
        *with = before;
        return FOLLOWS_OUTSIDE;
    }
    if (l->closes[last]) return DELAYS;
    if (!is_within(&l->waits, next, rows[0]) || !is_within(&l->waits, rows[0], next)) {
        *with = rows[0];
        return WAITS_OTHERWISE;
    }
    if (workers < 2) return KEEPS;
    if (!follows_last) return IS_APART;
    for (int b = l->first[next]; b < l->first[next + 1]; b++)
        if (!is_in[l->before[b]] && !has_bit(&l->follows, rows[0], (size_t)l->before[b])) {
            *with = l->before[b];
            return FOLLOWS_OUTSIDE;
        }
    for (int i = 0; i < count; i++)
        if (!is_within(&l->reaches, rows[i], next)) {
            *with = rows[i];
            return DELAYS;
        }
    return KEEPS;
}

/* ---- the regions of a section ---- */

typedef struct growing {
    const laws *laws;
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

/* What is written first holds nothing from outside, whatever reads it later. */
static tutti_status describe(growing *g, tutti_region *r)
{
    const laws *l = g->laws;
    int accesses = 0, *node = malloc((size_t)g->count * sizeof *node);
    for (int i = 0; i < g->count; i++) accesses += node_at(l, g->rows[i])->accesses;
    tutti_access *access = malloc((size_t)accesses * sizeof *access);
    const char *first = node_at(l, g->rows[0])->name;
    const char *last = node_at(l, g->rows[g->count - 1])->name;
    const size_t length = strlen(first) + strlen(last) + 3;
    char *name = malloc(length);
    *r = (tutti_region){name, l->section, g->count, node, 0, access,
        node_at(l, g->rows[0])->priority, g->expected_s};
    if (!node || !access || !name) {
        release_region(r);
        return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", g->count);
    }
    snprintf(name, length, "%s..%s", first, last);
    for (int i = 0; i < g->count; i++) {
        const tutti_node *n = node_at(l, g->rows[i]);
        node[i] = l->node[g->rows[i]];
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
        if (g->count > 1 && !status) f->of[g->laws->node[g->rows[i]]] = f->regions;
    }
    f->regions += g->count > 1 && !status;
    g->count = 0;
    g->expected_s = 0;
    return status;
}

static tutti_status take_row(growing *g, int row)
{
    const double node_s = g->node_s[g->laws->node[row]];
    int with;
    tutti_status status = TUTTI_OK;
    if (g->count && (g->expected_s + node_s > g->rule->longest_s ||
                        find_breach(g->laws, g->rows, g->count, g->is_in, row, g->rule->workers,
                            &with) != KEEPS))
        status = end_region(g);
    g->rows[g->count++] = row;
    g->is_in[row] = 1;
    g->expected_s += node_s;
    return status;
}

static tutti_status find_in_section(growing *g, const tutti_graph *graph, int section)
{
    laws l;
    tutti_status status = make_laws(graph, section, g->rule->workers, &l);
    if (status) return status;
    g->laws = &l;
    g->rows = calloc((size_t)l.rows + 1, sizeof *g->rows);
    g->is_in = calloc((size_t)l.rows + 1, 1);
    if (!g->rows || !g->is_in)
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", l.rows);
    for (int r = 0; r < l.rows && !status; r++)
        if (!is_collective(node_at(&l, r))) status = take_row(g, r);
    if (!status) status = end_region(g);
    free(g->rows);
    free(g->is_in);
    free_laws(&l);
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
    growing g = {.rule = rule,
        .node_s = node_s,
        .found = regions,
        .access_of = calloc((size_t)tutti_graph_tensors(graph) + 1, sizeof *g.access_of)};
    tutti_status status = TUTTI_OK;
    if (!regions->of || !g.access_of)
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", nodes);
    for (int n = 0; n < nodes && !status; n++) regions->of[n] = -1;
    for (int s = 0; s < tutti_graph_sections(graph) && !status && rule->longest_s > 0; s++)
        status = find_in_section(&g, graph, s);
    free(g.access_of);
    if (status) tutti_regions_free(regions);
    return status;
}

/* ---- the check ---- */

static tutti_status refuse(
    const laws *l, const tutti_region *region, breach what, int row, int with)
{
    static const char *const reasons[] = {
        [FOLLOWS_OUTSIDE] =
            "it follows this one, which is outside, and which the region would wait for",
        [WAITS_OTHERWISE] = "they do not wait for the same from outside",
        [DELAYS] = "what waits for this one would start later",
        [IS_APART] = "it does not follow this one, and could run beside it"};
    return tutti_fail(TUTTI_ERR_INTERNAL, "region '%s': '%s' and '%s' cannot be in it: %s",
        region->name, node_at(l, row)->name, node_at(l, with)->name, reasons[what]);
}

static tutti_status check_region(
    const laws *l, const tutti_region *region, int workers, int rows[], char is_in[])
{
    for (int i = 0; i < region->nodes; i++) {
        const int row = region->node[i] >= 0 && region->node[i] < tutti_graph_nodes(l->graph)
                            ? l->row[region->node[i]]
                            : -1;
        if (row < 0 || is_collective(node_at(l, row)) || (i && row <= rows[i - 1]))
            return tutti_fail(TUTTI_ERR_INTERNAL,
                "region '%s': node %d is no kernel of its section, or in no order", region->name,
                region->node[i]);
        int with;
        const breach what = i ? find_breach(l, rows, i, is_in, row, workers, &with) : KEEPS;
        if (what != KEEPS) return refuse(l, region, what, row, with);
        rows[i] = row;
        is_in[row] = 1;
    }
    for (int i = 0; i < region->nodes; i++) is_in[rows[i]] = 0;
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

tutti_status tutti_regions_check(
    const tutti_graph *graph, const tutti_regions *regions, int workers)
{
    const size_t nodes = (size_t)tutti_graph_nodes(graph) + 1;
    int *rows = calloc(nodes, sizeof *rows);
    char *is_in = calloc(nodes, 1);
    tutti_status status = rows && is_in
                              ? check_list(regions)
                              : tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for a check");
    for (int s = 0; s < tutti_graph_sections(graph) && !status && regions->regions; s++) {
        laws l;
        status = make_laws(graph, s, workers, &l);
        if (status) break;
        for (int r = 0; r < regions->regions && !status; r++)
            if (regions->region[r].section == s)
                status = check_region(&l, &regions->region[r], workers, rows, is_in);
        free_laws(&l);
    }
    free(rows);
    free(is_in);
    return status;
}
