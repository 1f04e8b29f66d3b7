#include "designs/exchange/lanes.h"

#include "collectives/choose.h"
#include "collectives/transport/transport.h"
#include "dag/base/log.h"

#include <stdlib.h>

typedef struct opened {
    struct opened *next;
    tutti_comm *comm;
    tutti_control *control;
} opened;

struct tutti_lanes {
    tutti_transport *transport;
    tutti_control *control;
    int shared, each;
    tutti_comm_options options;
    int channels;      /* that groups of two have taken */
    int lane, channel; /* of the group that was prepared last */
    opened *all;
};

tutti_status tutti_lanes_open(tutti_transport *transport, tutti_control *control, int shared,
    int each, const tutti_comm_options *options, tutti_lanes **lanes)
{
    tutti_lanes *l = calloc(1, sizeof *l);
    if (!l) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the lanes of groups");
    *l = (tutti_lanes){.transport = transport,
        .control = control,
        .shared = shared,
        .each = each,
        .options = {.rules = options->rules,
            .topology = options->topology,
            .depth = options->depth,
            .credit = options->credit}};
    int of_all =
        tutti_algorithm_is_library(options->algorithm) || tutti_algorithm_file(options->algorithm);
    if (!of_all) l->options.algorithm = options->algorithm;
    *lanes = l;
    return TUTTI_OK;
}

void tutti_lanes_stop(tutti_lanes *lanes, int orderly)
{
    for (opened *o = lanes ? lanes->all : NULL; o; o = o->next) {
        if (!orderly) tutti_comm_abandon(o->comm);
        tutti_control_stop(o->control);
        tutti_comm_free(o->comm);
    }
}

void tutti_lanes_free(tutti_lanes *lanes)
{
    if (!lanes) return;
    for (opened *o = lanes->all, *next; o; o = next) {
        next = o->next;
        tutti_control_free(o->control);
        free(o);
    }
    free(lanes);
}

void tutti_lanes_work(const tutti_lanes *lanes, tutti_coll_work *work)
{
    for (const opened *o = lanes ? lanes->all : NULL; o; o = o->next) {
        const tutti_coll_work one = tutti_comm_work(o->comm);
        work->copies += one.copies;
        work->copied_bytes += one.copied_bytes;
        work->reductions += one.reductions;
        work->reduced_bytes += one.reduced_bytes;
        work->allocations += one.allocations;
    }
}

int tutti_lanes_edges(const tutti_lanes *lanes)
{
    return tutti_transport_channels(lanes->transport) / 2;
}

tutti_status tutti_lanes_prepare(tutti_lanes *lanes, const tutti_members *members, int *done)
{
    tutti_lanes *l = lanes;
    tutti_transport *t = l->transport;
    if (members->size < 2 || (members->size == 2 && !tutti_transport_takes_device(t))) {
        int first = tutti_lanes_edges(l) + l->channels;
        *done = 1;
        l->channel = first;
        l->lane = l->shared;
        l->channels += l->each;
        if (first + l->each <= tutti_transport_channels(t)) return TUTTI_OK;
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "MPI has tags for %d groups of two ranks: use edges instead (tutti_send)",
            tutti_lanes_edges(l) / l->each);
    }
    l->channel = -1;
    tutti_status status = tutti_transport_grow(t, l->each, members, done);
    if (!status && *done) l->lane = t->lanes - l->each;
    return status;
}

tutti_status tutti_lanes_part(
    tutti_lanes *lanes, const tutti_members *members, tutti_comm **comm, tutti_control **control)
{
    tutti_lanes *l = lanes;
    int from, to, edge, is_edge = tutti_edge_find(members->key, &from, &to, &edge);
    const tutti_part part = {.members = members,
        .lane = is_edge ? l->shared : l->lane,
        .lanes = is_edge ? 1 : l->each,
        .channel = is_edge ? edge : l->channel};
    tutti_transport *transport;
    if (is_edge && edge >= tutti_lanes_edges(l))
        return tutti_fail(
            TUTTI_ERR_INVAL, "edge %d: must be from 0 to %d", edge, tutti_lanes_edges(l) - 1);
    opened *o = calloc(1, sizeof *o);
    if (!o) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the lanes of a group");
    tutti_status status = tutti_transport_part(l->transport, &part, &transport);
    tutti_comm_options with = l->options;
    with.of = members->of;
    if (!status) status = tutti_comm_new(transport, &with, &o->comm);
    if (!status && l->control) status = tutti_control_part(l->control, members, &o->control);
    if (status) {
        tutti_comm_free(o->comm);
        free(o);
        return status;
    }
    o->next = l->all;
    l->all = o;
    *comm = o->comm;
    *control = o->control;
    return TUTTI_OK;
}
