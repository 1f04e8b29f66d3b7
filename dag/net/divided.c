#include "dag/net/divided.h"

#include "dag/kernels/arith.h"

static tutti_status mark(tutti_site *site, tutti_verb verb, int tensor)
{
    const tutti_mark mark = {
        .verb = verb, .tensor = tensor, .group = site->divided->own.group[TUTTI_GROUP_BLOCKS]};
    int node;
    tutti_status status = tutti_graph_mark(site->graph, &mark, &node);
    if (status == TUTTI_OK) tutti_graph_set_priority(site->graph, node, site->urgent);
    return status;
}

/* In both passes with the priority of what others wait for. */
tutti_status tutti_divided_gather(tutti_site *site, int from, int64_t count, int all)
{
    const tutti_placement *d = site->divided;
    const tutti_put_desc desc = {
        .count = count, .first = d->own.block * count, .total = d->blocks * count};
    const tutti_access access[] = {tutti_reads(from), tutti_updates(all)};
    tutti_status status = tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_put, &desc, sizeof desc, 2, access);
    return status == TUTTI_OK ? mark(site, TUTTI_MARK_ALLGATHER, all) : status;
}

static tutti_status take_part(
    tutti_site *site, tutti_phase phase, const tutti_take_desc *desc, int from, int into)
{
    const tutti_access access[] = {tutti_reads(from), tutti_writes(into)};
    return tutti_site_kernel(site, phase, &tutti_op_take, desc, sizeof *desc, 2, access);
}

tutti_status tutti_divided_scatter(tutti_site *site, int sum, int64_t count, int into)
{
    const tutti_placement *d = site->divided;
    const tutti_take_desc own = {.rows = 1,
        .parts = 1,
        .each = count,
        .first = d->own.block * count,
        .total = d->blocks * count};
    tutti_status status = mark(site, TUTTI_MARK_REDUCE_SCATTER, sum);
    return status == TUTTI_OK ? take_part(site, TUTTI_PHASE_BACKWARD_DATA, &own, sum, into)
                              : status;
}

tutti_status tutti_divided_join(tutti_site *site, int blocks, int y)
{
    const tutti_placement *d = site->divided;
    const int64_t K = site->layer->out[0].C, each = K / d->blocks;
    const tutti_take_desc own = {.rows = site->N,
        .parts = d->blocks,
        .each = each,
        .first = d->own.block * site->N * each,
        .row = each,
        .part = d->blocks * site->N * each,
        .total = d->blocks * site->N * K};
    return take_part(site, TUTTI_PHASE_FORWARD, &own, blocks, y);
}

tutti_status tutti_divided_columns(tutti_site *site, int dy, int columns)
{
    const tutti_placement *d = site->divided;
    const int64_t K = site->layer->out[0].C, each = K / d->blocks;
    const tutti_take_desc own = {.rows = d->blocks * site->N,
        .parts = 1,
        .each = each,
        .first = d->own.block * each,
        .row = K,
        .total = d->blocks * site->N * K};
    return take_part(site, TUTTI_PHASE_BACKWARD_DATA, &own, dy, columns);
}
