#include "dag/graph/region_laws.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/graph/edges.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a section's nodes wait for, and what waits for them ---- */

enum { WORD = 64 };

/* Sets of events from outside, one set for each row. */
typedef struct sets {
    uint64_t *bits;
    size_t words; /* of a row */
} sets;

/* Which rows come before a row, as far as they are among the last `words` words of such a set: what is farther away
 * counts as what does not come before it. Whole sets would be as large as the square of a section's nodes. */
enum { MOST_WINDOW_BYTES = 256 << 20 };
typedef struct window {
    uint64_t *bits;
    int64_t words; /* of a row; the last one has the bit of the row itself */
} window;

struct tutti_region_laws {
    const tutti_graph *graph;
    int section, workers, rows;
    int *node, *row; /* of a row; of a node, or -1 */
    /* The rows of this step that row r follows: before[first[r]] to before[first[r + 1] - 1]. */
    int *before, *first, room;
    sets waits;     /* for what from outside, of this step or the last one, a row waits */
    window follows; /* which rows of this step come before a row; with several workers */
    sets reaches;   /* which collectives of this step, and what else from outside, follow it */
    char *closes;   /* it is the last one that something from outside waits for */
};

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

/* Which word of a whole set is the first one of the row. */
static int64_t begin_of(const window *w, int64_t row)
{
    const int64_t first = row / WORD - w->words + 1;
    return first > 0 ? first : 0;
}

static uint64_t *word_of(const window *w, int64_t row, int64_t word)
{
    return &w->bits[row * w->words + word - begin_of(w, row)];
}

static int has_before(const window *w, int64_t row, int64_t before)
{
    const int64_t word = before / WORD;
    return word >= begin_of(w, row) && *word_of(w, row, word) >> before % WORD & 1;
}

/* That row, and all that come before it. */
static void add_before(window *w, int64_t row, int64_t before)
{
    const int64_t first = begin_of(w, row), words = before / WORD - first;
    if (words < 0) return;
    uint64_t *to = word_of(w, row, first);
    const uint64_t *from = word_of(w, before, first);
    for (int64_t i = 0; i <= words; i++) to[i] |= from[i];
    to[words] |= 1ull << before % WORD;
}

static int is_collective(const tutti_node *node)
{
    return node->kind == TUTTI_NODE_COLLECTIVE;
}

/* ---- tensors that others than the graph's nodes write or read ---- */

enum { WRITTEN = 1, USED = 2 };

/* With a store of keys tensors come from it and go to it. They are numbered, each among its own. */
typedef struct outside {
    char *uses;  /* of each tensor: by the nodes of the graph */
    int *number; /* of each tensor that comes or goes; others -1 */
    int comes, goes;
} outside;

/* A gradient that no node reads goes to a store of keys. */
static int goes_out(const tutti_graph *graph, int tensor, const outside *o)
{
    return tutti_graph_get_tensor(graph, tensor)->role == TUTTI_ROLE_GRADIENT &&
           !(o->uses[tensor] & USED);
}

/* From a store come the parameters, which no node writes then. */
static int comes_in(const tutti_graph *graph, int tensor, const outside *o)
{
    return tutti_graph_get_tensor(graph, tensor)->role != TUTTI_ROLE_INPUT &&
           o->uses[tensor] == USED;
}

static void find_uses(const tutti_graph *graph, outside *o)
{
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        for (int a = 0; tutti_node_runs(node) && a < node->accesses; a++)
            o->uses[node->access[a].tensor] |=
                (char)((node->access[a].mode & TUTTI_WRITE ? WRITTEN : 0) |
                       (node->access[a].mode & TUTTI_READ || is_collective(node) ? USED : 0));
    }
}

static void number_tensors(const tutti_graph *graph, outside *o)
{
    const int tensors = tutti_graph_tensors(graph);
    for (int t = 0; t < tensors; t++) o->number[t] = goes_out(graph, t, o) ? o->goes++ : -1;
    for (int t = 0; t < tensors && o->goes; t++)
        if (comes_in(graph, t, o)) o->number[t] = o->comes++;
}

/* ---- the walk through a step before, and this one ---- */

typedef struct walk {
    tutti_region_laws *laws;
    const outside *outside;
    sets waits;   /* of all instances; its last rows are those of the section */
    int64_t base; /* the first of these */
    int instances;
    const tutti_node **of;
    int collectives, failed;
} walk;

/* Bits of waits: the collectives of the step before, those of this one, what is fed in this one, and what comes from a
 * store of keys. */
static size_t feeds_bit(const walk *w)
{
    return 2 * (size_t)w->collectives;
}

static void note_before(walk *w, int64_t from, int64_t to)
{
    tutti_region_laws *l = w->laws;
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
        tutti_region_laws *l = w->laws;
        const int row = (int)(id - w->base);
        l->first[row + 1] = l->first[row];
    }
    if (tutti_edges_add(edges, id, node->accesses, node->access, follow, w)) w->failed = 1;
    if (is_collective(node))
        add_bit(&w->waits, id, (size_t)number + (id < w->base ? 0 : (size_t)w->collectives));
    for (int a = 0; a < node->accesses; a++) {
        const int t = node->access[a].tensor;
        const tutti_role role = tutti_graph_get_tensor(w->laws->graph, t)->role;
        if (id < w->base || !(node->access[a].mode & TUTTI_READ) || w->outside->uses[t] & WRITTEN)
            continue;
        if (role == TUTTI_ROLE_INPUT)
            add_bit(&w->waits, id, feeds_bit(w));
        else if (w->outside->number[t] >= 0)
            add_bit(&w->waits, id, feeds_bit(w) + 1 + (size_t)w->outside->number[t]);
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
    tutti_region_laws *l = w->laws;
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

static tutti_status find_waits(tutti_region_laws *l, const outside *o)
{
    const size_t nodes = (size_t)tutti_graph_nodes(l->graph);
    walk w = {.laws = l, .outside = o, .of = calloc(2 * nodes + 1, sizeof *w.of)};
    tutti_status status =
        w.of ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %zu nodes", nodes);
    if (!status) list_instances(&w);
    const size_t bits = feeds_bit(&w) + 1 + (size_t)o->comes;
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

static const tutti_node *node_at(const tutti_region_laws *l, int row)
{
    return tutti_graph_get_node(l->graph, l->node[row]);
}

/* Who comes before which collective, and before what goes to a store; from the last row on. */
static tutti_status find_reaches(tutti_region_laws *l, const outside *o)
{
    size_t bit = 0, collectives = 0;
    for (int r = 0; r < l->rows; r++) collectives += is_collective(node_at(l, r)) ? 1 : 0;
    if (!make_sets(&l->reaches, l->rows, collectives + (size_t)o->goes))
        return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", l->rows);
    for (int r = l->rows - 1; r >= 0; r--) {
        const tutti_node *node = node_at(l, r);
        if (is_collective(node)) add_bit(&l->reaches, r, bit++);
        for (int a = 0; a < node->accesses; a++)
            if (goes_out(l->graph, node->access[a].tensor, o))
                add_bit(&l->reaches, r, collectives + (size_t)o->number[node->access[a].tensor]);
        for (int b = l->first[r]; b < l->first[r + 1]; b++) add_set(&l->reaches, l->before[b], r);
    }
    return TUTTI_OK;
}

static tutti_status find_followed(tutti_region_laws *l)
{
    const int64_t rows = l->rows + 1, whole = l->rows / WORD + 1,
                  most = MOST_WINDOW_BYTES / (int64_t)sizeof *l->follows.bits / rows;
    l->follows.words = whole < most ? whole : most > 0 ? most : 1;
    l->follows.bits =
        calloc(tutti_mem_product((size_t)rows, (size_t)l->follows.words), sizeof *l->follows.bits);
    if (!l->follows.bits)
        return tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %d nodes", l->rows);
    for (int r = 0; r < l->rows; r++)
        for (int b = l->first[r]; b < l->first[r + 1]; b++)
            add_before(&l->follows, r, l->before[b]);
    return TUTTI_OK;
}

/* The last kernel in program order that a collective follows lets it start. */
static void find_closers(tutti_region_laws *l, const outside *o)
{
    for (int r = 0; r < l->rows; r++) {
        const tutti_node *node = node_at(l, r);
        int last = -1;
        for (int b = l->first[r]; is_collective(node) && b < l->first[r + 1]; b++)
            if (!is_collective(node_at(l, l->before[b])) && l->before[b] > last)
                last = l->before[b];
        if (last >= 0) l->closes[last] = 1;
        for (int a = 0; !is_collective(node) && a < node->accesses; a++)
            l->closes[r] |= (char)goes_out(l->graph, node->access[a].tensor, o);
    }
}

void tutti_region_laws_free(tutti_region_laws *l)
{
    if (!l) return;
    free(l->node);
    free(l->row);
    free(l->before);
    free(l->first);
    free(l->waits.bits);
    free(l->follows.bits);
    free(l->reaches.bits);
    free(l->closes);
    free(l);
}

static tutti_status find_all(tutti_region_laws *l, outside *o)
{
    find_uses(l->graph, o);
    number_tensors(l->graph, o);
    tutti_status status = find_waits(l, o);
    if (!status && l->workers > 1) status = find_followed(l);
    if (!status && l->workers > 1) status = find_reaches(l, o);
    if (!status) find_closers(l, o);
    return status;
}

tutti_status tutti_region_laws_make(
    const tutti_graph *graph, int section, int workers, tutti_region_laws **laws)
{
    const size_t nodes = (size_t)tutti_graph_nodes(graph) + 1,
                 tensors = (size_t)tutti_graph_tensors(graph) + 1;
    tutti_region_laws *l = calloc(1, sizeof *l);
    outside o = {.uses = calloc(tensors, 1), .number = calloc(tensors, sizeof *o.number)};
    tutti_status status = TUTTI_OK;
    if (l) {
        *l = (tutti_region_laws){.graph = graph,
            .section = section,
            .workers = workers,
            .node = calloc(nodes, sizeof *l->node),
            .row = malloc(nodes * sizeof *l->row),
            .first = calloc(nodes + 1, sizeof *l->first),
            .closes = calloc(nodes, 1)};
        if (l->row) memset(l->row, -1, nodes * sizeof *l->row);
    }
    if (!l || !l->node || !l->row || !l->first || !l->closes || !o.uses || !o.number)
        status = tutti_fail(TUTTI_ERR_NOMEM, "regions: no memory for %zu nodes", nodes);
    if (!status) status = find_all(l, &o);
    free(o.uses);
    free(o.number);
    if (status)
        tutti_region_laws_free(l);
    else
        *laws = l;
    return status;
}

int tutti_region_laws_rows(const tutti_region_laws *l)
{
    return l->rows;
}

int tutti_region_laws_node(const tutti_region_laws *l, int row)
{
    return l->node[row];
}

int tutti_region_laws_row(const tutti_region_laws *l, int node)
{
    return l->row[node];
}

/* ---- may a node join? ---- */

tutti_region_breach tutti_region_laws_find_breach(const tutti_region_laws *l, const int rows[],
    int count, const char is_in[], int next, int *with)
{
    const int last = rows[count - 1];
    int follows_last = 0;
    *with = last;
    for (int b = l->first[next]; b < l->first[next + 1]; b++) {
        const int before = l->before[b];
        follows_last |= before == last;
        if (is_in[before] || before < rows[0]) continue;
        *with = before;
        return TUTTI_REGION_FOLLOWS_OUTSIDE;
    }
    if (l->closes[last]) return TUTTI_REGION_DELAYS;
    if (!is_within(&l->waits, next, rows[0]) || !is_within(&l->waits, rows[0], next)) {
        *with = rows[0];
        return TUTTI_REGION_WAITS_OTHERWISE;
    }
    if (l->workers < 2) return TUTTI_REGION_KEEPS;
    if (!follows_last) return TUTTI_REGION_IS_APART;
    for (int b = l->first[next]; b < l->first[next + 1]; b++)
        if (!is_in[l->before[b]] && !has_before(&l->follows, rows[0], l->before[b])) {
            *with = l->before[b];
            return TUTTI_REGION_FOLLOWS_OUTSIDE;
        }
    for (int i = 0; i < count; i++)
        if (!is_within(&l->reaches, rows[i], next)) {
            *with = rows[i];
            return TUTTI_REGION_DELAYS;
        }
    return TUTTI_REGION_KEEPS;
}
