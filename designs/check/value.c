/* The checker's input: lists of collectives, from placed graphs. */
#include "designs/check/parts.h"

#include "dag/base/log.h"
#include "designs/passes/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void tutti_check_free(tutti_check *check)
{
    if (!check) return;
    for (int r = 0; check->rank && r < check->ranks; r++) {
        tutti_check_rank *rank = &check->rank[r];
        for (int n = 0; n < rank->colls; n++) {
            free(rank->coll[n].name);
            free(rank->coll[n].before);
            free(rank->coll[n].length);
        }
        free(rank->coll);
        tutti_reach_free(rank->reach);
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
    fresh.length = copy_of(coll->length, (size_t)coll->lengths * sizeof *coll->length);
    if (!fresh.name || !fresh.before || !fresh.length) {
        free(fresh.name);
        free(fresh.before);
        free(fresh.length);
        return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    }
    r->coll[r->colls++] = fresh;
    return TUTTI_OK;
}

/* ---- from graphs ---- */

/* The nearest collectives before a node. */
typedef struct nearest {
    const int *before;
    int befores;
} nearest;

static tutti_status submit_chunk(
    tutti_check *check, int rank, const tutti_node *node, int chunk, int group, nearest near)
{
    int chunks = tutti_chunk_count(&node->place);
    int ranks = check->group[group].size;
    const tutti_coll_args whole = tutti_coll_desc_args(node->desc, node->desc_bytes, ranks);
    const tutti_coll_args args = tutti_chunk_args(&whole, chunks, chunk);
    char name[256];
    const char *called = check->group[group].edge ? check->group[group].name : node->name;
    snprintf(name, sizeof name, "%s (chunk %d of %d)", called, chunk + 1, chunks);
    const tutti_check_coll coll = {.name = chunks > 1 ? name : (char *)called,
        .kind = args.kind,
        .dtype = args.dtype,
        .op = args.op,
        .root = args.root,
        .count = args.count,
        .counts = tutti_coll_counts_hash(&args, ranks),
        .own = tutti_coll_operator_hash(&args),
        .group = group,
        .lane = tutti_chunk_lane(&node->place, chunk),
        .index = node->place.index,
        .priority = node->place.priority,
        .chunk = chunk,
        .holds = node->place.holds,
        .before = (int *)near.before, /* copied */
        .befores = near.befores,
        .length = (int64_t *)args.counts, /* copied */
        .lengths = args.kind == TUTTI_ALLTOALL ? tutti_coll_counts(&args, ranks) : 0};
    return tutti_check_append(check, rank, &coll);
}

static tutti_status submit_node(tutti_check *check, int rank, const tutti_node *node, int group)
{
    tutti_check_rank *r = &check->rank[rank];
    int collective = node->kind == TUTTI_NODE_COLLECTIVE;
    int chunks = collective ? tutti_chunk_count(&node->place) : 0;
    nearest near = {0};
    tutti_status status =
        tutti_reach_add(r->reach, node, r->colls, chunks, &near.before, &near.befores);
    if (status || !collective) return status;
    for (int i = 0; i < chunks && !status; i++)
        status = submit_chunk(check, rank, node, i, group, near);
    return status;
}

tutti_status tutti_check_submit(tutti_check *check, int rank, const tutti_graph *graph, int section,
    int (*group_of)(void *ctx, const tutti_node *node), void *ctx)
{
    tutti_check_rank *r = &check->rank[rank];
    tutti_status status =
        r->reach ? TUTTI_OK : tutti_reach_new(tutti_graph_tensors(graph), &r->reach);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section != section || node->kind == TUTTI_NODE_MARK) continue;
        int grouped = group_of && node->kind == TUTTI_NODE_COLLECTIVE;
        status = submit_node(check, rank, node, grouped ? group_of(ctx, node) : 0);
    }
    return status;
}
