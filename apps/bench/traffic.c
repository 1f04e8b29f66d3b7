#include "apps/bench/traffic.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdlib.h>
#include <string.h>

static tutti_status add_node(tutti_step_traffic *t, const tutti_node *node)
{
    tutti_coll_args args;
    memcpy(&args, node->desc, sizeof args);
    size_t bytes = (size_t)args.count * tutti_dtype_bytes(args.dtype);
    args.recv = tutti_mem_aligned(bytes);
    args.out_of_place = 0; /* in place, and of one vector: what travels is the same */
    args.extras = 0;
    if (!args.recv)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a buffer of %zu bytes", bytes);
    memset(args.recv, 0, bytes);
    t->args[t->collectives++] = args;
    t->bytes += (int64_t)bytes;
    return TUTTI_OK;
}

tutti_status tutti_step_traffic_plan(
    const tutti_graph *graph, int section, tutti_step_traffic *traffic)
{
    int nodes = tutti_graph_nodes(graph);
    *traffic = (tutti_step_traffic){.args = calloc((size_t)nodes + 1, sizeof *traffic->args)};
    if (!traffic->args) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d collectives", nodes);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < nodes && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section == section && node->kind == TUTTI_NODE_COLLECTIVE)
            status = add_node(traffic, node);
    }
    if (status) tutti_step_traffic_close(traffic);
    return status;
}

int64_t tutti_step_traffic_least(const tutti_step_traffic *t, int ranks)
{
    int64_t bytes = 0;
    for (int i = 0; i < t->collectives; i++)
        bytes += (t->args[i].kind == TUTTI_ALLREDUCE ? 2 : 1) * t->args[i].count *
                 (int64_t)tutti_dtype_bytes(t->args[i].dtype);
    return bytes * (ranks - 1) / ranks;
}

tutti_status tutti_step_traffic_open(
    tutti_world *world, const char *algorithm, tutti_step_traffic *traffic)
{
    tutti_transport *transport;
    tutti_status status = tutti_transport_mpi(world->boot.comm, 1, &transport);
    if (!status) status = tutti_transport_counting(transport, &traffic->sent, &transport);
    if (!status)
        status = tutti_comm_new(transport,
            &(tutti_comm_options){
                .algorithm = algorithm, .rules = world->rules, .topology = world->topology},
            &traffic->comm);
    return status;
}

static tutti_status run_step(tutti_step_traffic *t, tutti_coll_request *request[], double timeout_s)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < t->collectives && !status; i++)
        status = tutti_coll_post(t->comm, 0, &t->args[i], &request[i]);
    for (int i = 0; i < t->collectives && !status; i++)
        status = tutti_world_spin(t->comm, request[i], timeout_s);
    for (int i = 0; i < t->collectives; i++) {
        tutti_coll_free(request[i]);
        request[i] = NULL;
    }
    return status;
}

tutti_status tutti_step_traffic_run(tutti_step_traffic *t, int64_t steps, double timeout_s)
{
    tutti_coll_request **request = calloc((size_t)t->collectives + 1, sizeof *request);
    if (!request) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for requests");
    tutti_status status = TUTTI_OK;
    for (int64_t i = 0; i < steps && !status; i++) status = run_step(t, request, timeout_s);
    free(request);
    return status;
}

void tutti_step_traffic_close(tutti_step_traffic *t)
{
    for (int i = 0; i < t->collectives; i++) free(t->args[i].recv);
    free(t->args);
    tutti_comm_free(t->comm);
    *t = (tutti_step_traffic){0};
}
