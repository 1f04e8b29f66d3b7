#include "collectives/sched/forest.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts of trees are whole multiples of this, in elements, but for the last. Places for segments that have
 * arrived: a cache's worth. */
enum { GRAIN = 16, CACHED = 32 * 15360, LEAST_PLACES = 2 };

tutti_status tutti_forest_new(int P, int trees, tutti_forest **forest)
{
    tutti_forest *f = calloc(1, sizeof *f);
    int ok = f && (f->tree = calloc((size_t)trees + 1, sizeof *f->tree));
    for (int t = 0; ok && t < trees; t++) {
        ok = (f->tree[t].parent = malloc(((size_t)P + 1) * sizeof(int))) != NULL;
        f->trees = t + 1;
        f->tree[t].weight = 1;
        for (int r = 0; ok && r < P; r++) f->tree[t].parent[r] = -1;
    }
    if (ok) {
        f->P = P;
        *forest = f;
        return TUTTI_OK;
    }
    tutti_forest_free(f);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a forest of %d trees", trees);
}

void tutti_forest_free(tutti_forest *f)
{
    if (!f) return;
    for (int t = 0; f->tree && t < f->trees; t++) free(f->tree[t].parent);
    free(f->tree);
    free(f);
}

tutti_status tutti_forest_add(tutti_forest *f, const int parent[], double weight)
{
    size_t bytes = (size_t)f->P * sizeof *parent;
    int t = 0;
    while (t < f->trees && memcmp(f->tree[t].parent, parent, bytes) != 0) t++;
    if (t < f->trees) {
        f->tree[t].weight += weight;
        return TUTTI_OK;
    }
    int *copy = malloc(bytes + 1);
    tutti_tree *larger = realloc(f->tree, ((size_t)t + 1) * sizeof *larger);
    if (larger) f->tree = larger;
    if (!copy || !larger) {
        free(copy);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a forest of %d trees", t + 1);
    }
    memcpy(copy, parent, bytes);
    f->tree[f->trees++] = (tutti_tree){copy, weight};
    return TUTTI_OK;
}

/* The root above a rank; -1: there is none, because of a circle. */
static int root_above(const int parent[], int P, int rank)
{
    for (int steps = 0; steps < P; steps++) {
        if (parent[rank] < 0) return rank;
        rank = parent[rank];
    }
    return -1;
}

tutti_status tutti_forest_check(const tutti_forest *f)
{
    for (int t = 0; t < f->trees; t++) {
        const int *parent = f->tree[t].parent;
        if (!(f->tree[t].weight > 0) || !isfinite(f->tree[t].weight))
            return tutti_fail(TUTTI_ERR_INVAL, "tree %d has the weight %g", t, f->tree[t].weight);
        for (int r = 0; r < f->P; r++)
            if (parent[r] < -1 || parent[r] >= f->P)
                return tutti_fail(
                    TUTTI_ERR_INVAL, "tree %d: the parent of rank %d is %d", t, r, parent[r]);
        for (int r = 0; r < f->P; r++) {
            int root = root_above(parent, f->P, r);
            if (root < 0)
                return tutti_fail(TUTTI_ERR_INVAL, "tree %d: rank %d is in a circle", t, r);
            if (root != root_above(parent, f->P, 0))
                return tutti_fail(TUTTI_ERR_INVAL, "tree %d has two roots: ranks %d and %d", t,
                    root_above(parent, f->P, 0), root);
        }
    }
    return TUTTI_OK;
}

/* ---- trees by name ---- */

/* Sets the parent of number v, counted from the root, to number p; p < 0: the root's. */
static void set_parent(int P, int root, int v, int p, int parent[])
{
    parent[(v + root) % P] = p < 0 ? -1 : (p + root) % P;
}

/* v without its lowest digit to the base k that is not 0. */
static int nomial_parent(int v, int k)
{
    int power = 1;
    while (v && v / power % k == 0) power *= k;
    return v ? v - v / power % k * power : -1;
}

void tutti_tree_chain(int P, int root, int k, int parent[])
{
    (void)k;
    for (int v = 0; v < P; v++) set_parent(P, root, v, v - 1, parent);
}

void tutti_tree_nomial(int P, int root, int k, int parent[])
{
    for (int v = 0; v < P; v++) set_parent(P, root, v, nomial_parent(v, k), parent);
}

void tutti_tree_chain_binomial(int P, int root, int k, int parent[])
{
    for (int v = 0; v < P; v++) {
        int above = v % k ? v - 1 : nomial_parent(v / k, 2);
        set_parent(P, root, v, v % k || above < 0 ? above : above * k, parent);
    }
}

void tutti_tree_chain_chain(int P, int root, int k, int parent[])
{
    for (int v = 0; v < P; v++) set_parent(P, root, v, v % k ? v - 1 : v ? v - k : -1, parent);
}

tutti_status tutti_tree_hosts(int P, int root, const int host[], int parent[])
{
    int firsts = 0, *first = malloc(((size_t)P + 1) * sizeof *first);
    if (!first) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a tree of %d ranks", P);
    for (int v = 0; v < P; v++) {
        int rank = (v + root) % P, before = v - 1;
        while (before >= 0 && host[(before + root) % P] != host[rank]) before--;
        if (before >= 0) {
            parent[rank] = (before + root) % P;
            continue;
        }
        parent[rank] = firsts ? first[nomial_parent(firsts, 2)] : -1;
        first[firsts++] = rank;
    }
    free(first);
    return TUTTI_OK;
}

/* ---- what one rank does ---- */

/* This rank's place in a tree, and the tree's part of the vector. */
typedef struct place {
    int parent;    /* -1: the root */
    int *child, n; /* deep subtrees first */
    int depth;     /* below the root */
    int height;    /* of the tree */
    int64_t from, length;
} place;

/* What a rank does with a segment of a tree, in its turn. */
typedef enum act { ACT_GATHER, ACT_SEND_SUM, ACT_RECV_RESULT, ACT_SEND_RESULT, ACTS } act;

typedef struct turn {
    double at; /* in units of a tree's share of the vector */
    int tree;
    act act;
    int64_t segment, hop;
} turn;

typedef struct builder {
    const tutti_sched_shape *shape;
    tutti_sched_draft *draft;
    int trees;
    place *place; /* [trees] */
    turn *turn;   /* in the order in which this rank appends them */
    size_t turns;
    int64_t room, rooms, used; /* elements of a place in scratch; how many; arrivals so far */
} builder;

int tutti_tree_root(const int parent[])
{
    int root = 0;
    while (parent[root] >= 0) root++;
    return root;
}

void tutti_tree_turn(int parent[], int root)
{
    for (int rank = root, above = -1; rank >= 0;) {
        int next = parent[rank];
        parent[rank] = above;
        above = rank;
        rank = next;
    }
}

/* How deep the subtree under each rank is. */
static void find_depths(const int parent[], int P, int depth[])
{
    for (int r = 0; r < P; r++) depth[r] = 0;
    for (int r = 0; r < P; r++)
        for (int at = r, d = 0; parent[at] >= 0 && depth[parent[at]] < d + 1; at = parent[at])
            depth[parent[at]] = ++d;
}

static tutti_status find_place(const int parent[], int P, int rank, place *p)
{
    int *depth = malloc(((size_t)P + 1) * sizeof *depth);
    p->parent = parent[rank];
    for (int r = 0; r < P; r++) p->n += parent[r] == rank;
    p->child = malloc(((size_t)p->n + 1) * sizeof *p->child);
    if (!depth || !p->child) {
        free(depth);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
    }
    find_depths(parent, P, depth);
    int n = 0, root = rank;
    for (; parent[root] >= 0; root = parent[root]) p->depth++;
    p->height = depth[root];
    for (int r = 0; r < P; r++) {
        if (parent[r] != rank) continue;
        int i = n++;
        for (; i && depth[p->child[i - 1]] < depth[r]; i--) p->child[i] = p->child[i - 1];
        p->child[i] = r;
    }
    free(depth);
    return TUTTI_OK;
}

/* Divides the vector: each tree has its share of grains, rounded so that the sum so far is. */
static void divide_vector(const tutti_forest *f, int64_t count, place *p)
{
    double all = 0, sum = 0;
    int64_t grains = (count + GRAIN - 1) / GRAIN, from = 0;
    for (int t = 0; t < f->trees; t++) all += f->tree[t].weight;
    for (int t = 0; t < f->trees; t++) {
        sum += f->tree[t].weight;
        int64_t to = t + 1 < f->trees ? (int64_t)((double)grains * sum / all + 0.5) * GRAIN : count;
        if (to > count) to = count;
        p[t].from = from;
        p[t].length = to - from;
        from = to;
    }
}

static tutti_status place_in_trees(builder *b, const tutti_forest *f)
{
    const tutti_sched_shape *shape = b->shape;
    int *parent = malloc(((size_t)f->P + 1) * sizeof *parent);
    b->place = calloc((size_t)f->trees + 1, sizeof *b->place);
    tutti_status status =
        parent && b->place ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
    for (int t = 0; !status && t < f->trees; t++) {
        b->trees = t + 1;
        for (int r = 0; r < f->P; r++) parent[r] = f->tree[t].parent[r];
        if (tutti_coll_trait_of(shape->kind)->rooted) tutti_tree_turn(parent, shape->root);
        status = find_place(parent, f->P, shape->rank, &b->place[t]);
    }
    if (!status) divide_vector(f, shape->count, b->place);
    free(parent);
    return status;
}

/* Children of all trees take turns: at most two places for each of them. */
static void size_scratch(builder *b)
{
    int64_t children = 0;
    for (int t = 0; t < b->trees; t++) {
        int64_t ignored,
            n = tutti_sched_segment(b->place[t].length, b->shape->segment, 0, &ignored);
        children += b->place[t].n;
        if (n > b->room) b->room = n;
    }
    b->rooms = b->room ? CACHED / b->room : 0;
    if (b->rooms > 2 * children) b->rooms = 2 * children;
    if (b->rooms < LEAST_PLACES) b->rooms = LEAST_PLACES;
}

/* ---- steps ---- */

static int is_before(const turn *a, const turn *b)
{
    if (a->at != b->at) return a->at < b->at;
    if (a->tree != b->tree) return a->tree < b->tree;
    return a->segment != b->segment ? a->segment < b->segment : a->hop < b->hop;
}

static int compare_turns(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

static void append_act(builder *b, const turn *t)
{
    const place *p = &b->place[t->tree];
    int64_t at, n = tutti_sched_segment(p->length, b->shape->segment, t->segment, &at);
    at += p->from;
    if (t->act == ACT_GATHER || (t->act == ACT_SEND_SUM && !p->n))
        tutti_sched_take(b->draft, at, n);
    for (int i = p->n - 1; t->act == ACT_GATHER && i >= 0; i--) {
        tutti_spot arrived = tutti_scratch(b->used++ % b->rooms * b->room);
        tutti_sched_recv(b->draft, p->child[i], arrived, n);
        tutti_sched_reduce(b->draft, tutti_out(at), arrived, n, 0);
    }
    if (t->act == ACT_SEND_SUM) tutti_sched_send(b->draft, p->parent, tutti_out(at), n);
    if (t->act == ACT_RECV_RESULT) tutti_sched_recv(b->draft, p->parent, tutti_out(at), n);
    for (int i = 0; t->act == ACT_SEND_RESULT && i < p->n; i++)
        tutti_sched_send(b->draft, p->child[i], tutti_out(at), n);
}

/* The turns of segment g of a tree. Sums take height hops up to the root, and results go down from there. */
static size_t add_turns(const builder *b, int tree, int64_t g, int64_t of, int64_t most, turn *t)
{
    const place *p = &b->place[tree];
    tutti_coll_kind kind = b->shape->kind;
    int64_t up = kind == TUTTI_BROADCAST ? 0 : p->height;
    size_t n = 0;
    if (kind != TUTTI_BROADCAST && (p->n || p->parent < 0))
        t[n++] = (turn){.act = ACT_GATHER, .hop = up - p->depth - 1};
    if (kind != TUTTI_BROADCAST && p->parent >= 0)
        t[n++] = (turn){.act = ACT_SEND_SUM, .hop = up - p->depth};
    if (kind != TUTTI_REDUCE && p->parent >= 0)
        t[n++] = (turn){.act = ACT_RECV_RESULT, .hop = up + p->depth - 1};
    if (kind != TUTTI_REDUCE && p->n) t[n++] = (turn){.act = ACT_SEND_RESULT, .hop = up + p->depth};
    for (size_t i = 0; i < n; i++) {
        t[i].tree = tree;
        t[i].segment = g;
        t[i].at = (double)g / (double)of + (double)t[i].hop / (double)most;
    }
    return n;
}

/* Messages between two ranks have one order on both, and none stands behind one that begins later: they are in the
 * order in which they travel if every tree passes on its segments at an even pace. */
static tutti_status order_turns(builder *b)
{
    int64_t segment = b->shape->segment, most = 0, all = 0;
    for (int t = 0; t < b->trees; t++) {
        int64_t of = tutti_sched_segments(b->place[t].length, segment);
        if (of > most) most = of;
        all += of;
    }
    b->turn = malloc(((size_t)all * ACTS + 1) * sizeof *b->turn);
    if (!b->turn) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
    for (int t = 0; t < b->trees; t++) {
        int64_t of = tutti_sched_segments(b->place[t].length, segment);
        for (int64_t g = 0; g < of; g++)
            b->turns += add_turns(b, t, g, of, most, b->turn + b->turns);
    }
    qsort(b->turn, b->turns, sizeof *b->turn, compare_turns);
    return TUTTI_OK;
}

tutti_status tutti_sched_along(
    const tutti_sched_shape *shape, const tutti_forest *forest, tutti_sched **sched)
{
    builder b = {.shape = shape};
    tutti_status status = place_in_trees(&b, forest);
    if (!status) status = order_turns(&b);
    if (!status) status = tutti_sched_begin(shape, &b.draft);
    if (!status) {
        size_scratch(&b);
        for (size_t i = 0; i < b.turns; i++) append_act(&b, &b.turn[i]);
        status = tutti_sched_end(b.draft, sched);
    }
    free(b.turn);
    for (int t = 0; t < b.trees; t++) free(b.place[t].child);
    free(b.place);
    return status;
}

tutti_status tutti_sched_forest(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return tutti_sched_along(shape, shape->forest, sched);
}

static tutti_status build_tree(const tutti_sched_shape *shape,
    void (*make)(int P, int root, int k, int parent[]), int least_k, tutti_sched **sched)
{
    tutti_forest *forest;
    int root = tutti_coll_trait_of(shape->kind)->rooted ? shape->root : 0;
    int k = shape->radix > least_k ? shape->radix : least_k;
    tutti_status status = tutti_forest_new(shape->P, 1, &forest);
    if (status) return status;
    make(shape->P, root, k < shape->P || k == least_k ? k : shape->P, forest->tree[0].parent);
    status = tutti_sched_along(shape, forest, sched);
    tutti_forest_free(forest);
    return status;
}

tutti_status tutti_sched_chain(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, tutti_tree_chain, 1, sched);
}

tutti_status tutti_sched_nomial(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, tutti_tree_nomial, 2, sched);
}

tutti_status tutti_sched_chain_binomial(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, tutti_tree_chain_binomial, 1, sched);
}

tutti_status tutti_sched_chain_chain(const tutti_sched_shape *shape, tutti_sched **sched)
{
    return build_tree(shape, tutti_tree_chain_chain, 1, sched);
}
