/* The value that is judged: lists of collectives, from placed graphs. */
#include "designs/check/parts.h"

#include "dag/base/log.h"
#include "dag/graph/edges.h"
#include "designs/passes/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sorted sequence numbers: the nearest collectives that end before a node can start. */
typedef struct numbers {
    int *number, count, room;
} numbers;

/* What a rank has submitted: for each node so far, which collectives come before it. */
struct tutti_check_tracker {
    const tutti_graph *graph;
    tutti_edges *edges;
    numbers *near; /* one a submitted node */
    int *sequence; /* of a submitted node that is a collective, its first slice's; -1 */
    int *slices;   /* of it */
    int64_t submitted, room;
    int failed; /* memory ran out while edges were told */
};

typedef struct tutti_check_tracker tracker;

tutti_status tutti_check_new(int ranks, tutti_check **check)
{
    tutti_check *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    c->ranks = ranks;
    c->rank = calloc((size_t)ranks, sizeof *c->rank);
    int all[ranks + 1], group;
    for (int r = 0; r < ranks; r++) all[r] = r;
    tutti_status status = c->rank ? tutti_check_add_group(c, "all", ranks, all, &group)
                                  : tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    if (status)
        tutti_check_free(c);
    else
        *check = c;
    return status;
}

static void tracker_free(tracker *t)
{
    if (!t) return;
    for (int64_t i = 0; i < t->submitted; i++) free(t->near[i].number);
    tutti_edges_free(t->edges);
    free(t->near);
    free(t->sequence);
    free(t->slices);
    free(t);
}

void tutti_check_free(tutti_check *check)
{
    if (!check) return;
    for (int r = 0; check->rank && r < check->ranks; r++) {
        tutti_check_rank *rank = &check->rank[r];
        for (int n = 0; n < rank->colls; n++) {
            free(rank->coll[n].name);
            free(rank->coll[n].before);
        }
        free(rank->coll);
        tracker_free(rank->tracker);
    }
    for (int g = 0; g < check->groups; g++) {
        free(check->group[g].name);
        free(check->group[g].rank);
    }
    free(check->group);
    free(check->rank);
    free(check);
}

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

tutti_status tutti_check_add_group(
    tutti_check *check, const char *name, int size, const int rank[], int *group)
{
    tutti_check_group *grown =
        realloc(check->group, ((size_t)check->groups + 1) * sizeof *check->group);
    if (grown) check->group = grown;
    tutti_check_group fresh = {
        .name = strdup(name), .size = size, .rank = copy_of(rank, (size_t)size * sizeof *rank)};
    if (!grown || !fresh.name || !fresh.rank) {
        free(fresh.name);
        free(fresh.rank);
        return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for group '%s'", name);
    }
    check->group[check->groups] = fresh;
    *group = check->groups++;
    return TUTTI_OK;
}

static int64_t number_on_lane(const tutti_check_rank *rank, const tutti_check_coll *coll)
{
    for (int n = rank->colls - 1; n >= 0; n--)
        if (rank->coll[n].group == coll->group && rank->coll[n].lane == coll->lane)
            return rank->coll[n].number + 1;
    return 0;
}

tutti_status tutti_check_append(tutti_check *check, int rank, const tutti_check_coll *coll)
{
    tutti_check_rank *r = &check->rank[rank];
    if (r->colls == r->room) {
        int room = r->room ? 2 * r->room : 64;
        tutti_check_coll *grown = realloc(r->coll, (size_t)room * sizeof *grown);
        if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
        r->coll = grown;
        r->room = room;
    }
    tutti_check_coll fresh = *coll;
    fresh.number = number_on_lane(r, coll);
    fresh.name = strdup(coll->name);
    fresh.before = copy_of(coll->before, (size_t)coll->befores * sizeof *coll->before);
    if (!fresh.name || !fresh.before) {
        free(fresh.name);
        free(fresh.before);
        return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    }
    r->coll[r->colls++] = fresh;
    return TUTTI_OK;
}

/* ---- from graphs ---- */

/* Puts a number where it belongs, once. Returns 0 when memory ran out. */
static int insert(numbers *list, int number)
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

/* What comes before `from` comes before `to`; a collective stands for all that is before it.
 * A link of a chain counts as if it waited for the end of the one before it: a collective ends only when
 * every rank has started it, and with it all before it on the chain, so that whatever waits for the end
 * of a link waits for the ends of those, too. */
static void inherit(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    tracker *t = ctx;
    (void)edge;
    numbers *near = &t->near[to];
    if (t->sequence[from] >= 0) {
        for (int i = 0; i < t->slices[from]; i++) t->failed |= !insert(near, t->sequence[from] + i);
        return;
    }
    for (int i = 0; i < t->near[from].count; i++)
        t->failed |= !insert(near, t->near[from].number[i]);
}

static tutti_status tracker_new(const tutti_graph *graph, tracker **made)
{
    tracker *t = calloc(1, sizeof *t);
    if (!t) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    t->graph = graph;
    tutti_status status = tutti_edges_new(tutti_graph_tensors(graph), &t->edges);
    if (status)
        free(t);
    else
        *made = t;
    return status;
}

/* Adds one submission of a node; *near: what comes before it. */
static tutti_status track(tracker *t, const tutti_node *node, int sequence, numbers **near)
{
    if (t->submitted == t->room) {
        int64_t room = t->room ? 2 * t->room : 256;
        numbers *lists = realloc(t->near, (size_t)room * sizeof *lists);
        if (lists) t->near = lists;
        int *sequences = realloc(t->sequence, (size_t)room * sizeof *sequences);
        if (sequences) t->sequence = sequences;
        int *slices = realloc(t->slices, (size_t)room * sizeof *slices);
        if (slices) t->slices = slices;
        if (!lists || !sequences || !slices) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
        t->room = room;
    }
    int64_t id = t->submitted++;
    t->near[id] = (numbers){0};
    t->sequence[id] = sequence;
    t->slices[id] = tutti_slice_count(&node->place);
    tutti_status status = tutti_edges_add(t->edges, id, node->accesses, node->access, inherit, t);
    if (!status && t->failed) status = tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    *near = &t->near[id];
    return status;
}

static tutti_status submit_slice(
    tutti_check *check, int rank, const tutti_node *node, int slice, int group, const numbers *near)
{
    int slices = tutti_slice_count(&node->place);
    const tutti_coll_args args = tutti_slice_args(node->desc, slices, slice);
    char name[256];
    snprintf(name, sizeof name, "%s (slice %d of %d)", node->name, slice + 1, slices);
    const tutti_check_coll coll = {.name = slices > 1 ? name : (char *)node->name,
        .kind = args.kind,
        .dtype = args.dtype,
        .op = args.op,
        .root = args.root,
        .count = args.count,
        .group = group,
        .lane = tutti_slice_lane(&node->place, slice),
        .index = node->place.index,
        .slice = slice,
        .holds = node->place.holds,
        .before = near->number,
        .befores = near->count};
    return tutti_check_append(check, rank, &coll);
}

static tutti_status submit_node(
    tutti_check *check, int rank, const tutti_node *node, int (*group_of)(const tutti_node *node))
{
    tutti_check_rank *r = &check->rank[rank];
    int collective = node->kind == TUTTI_NODE_COLLECTIVE;
    numbers *near = NULL;
    tutti_status status = track(r->tracker, node, collective ? r->colls : -1, &near);
    if (status || !collective) return status;
    int group = group_of ? group_of(node) : 0, slices = tutti_slice_count(&node->place);
    for (int i = 0; i < slices && !status; i++)
        status = submit_slice(check, rank, node, i, group, near);
    return status;
}

tutti_status tutti_check_submit(tutti_check *check, int rank, const tutti_graph *graph, int section,
    int (*group_of)(const tutti_node *node))
{
    tutti_check_rank *r = &check->rank[rank];
    tutti_status status = r->tracker ? TUTTI_OK : tracker_new(graph, &r->tracker);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section != section || node->kind == TUTTI_NODE_MARK) continue;
        status = submit_node(check, rank, node, group_of);
    }
    return status;
}
