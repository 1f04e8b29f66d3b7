#include "apps/bench/world.h"

#include "collectives/links/run.h"
#include "collectives/links/topology_text.h"
#include "collectives/rules_text.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <sched.h>
#include <stdio.h>

tutti_status tutti_world_open(double timeout_s, tutti_world *world)
{
    tutti_transport *transport;
    *world = (tutti_world){.timeout_s = timeout_s};
    tutti_status status = tutti_boot_init(TUTTI_THREAD_SERIALIZED, NULL, &world->boot);
    if (status) return status;
    status = tutti_transport_mpi(world->boot.comm, 1, &transport);
    if (!status) status = tutti_comm_new(transport, NULL, &world->comm);
    if (status) tutti_world_close(world, status);
    return status;
}

static tutti_status compare_links(const tutti_world *world)
{
    char text[128];
    uint64_t links = 0, rules = 0;
    tutti_status status = world->topology ? tutti_topology_hash(world->topology, &links) : TUTTI_OK;
    if (!status && world->rules) status = tutti_rules_hash(world->rules, &rules);
    snprintf(text, sizeof text, "the topology's hash=%016llx\nthe rules' hash=%016llx\n",
        (unsigned long long)links, (unsigned long long)rules);
    return status ? status : tutti_boot_compare(&world->boot, text);
}

tutti_status tutti_world_links(
    tutti_world *world, const char *topology, tutti_conf_real link_mbit, const char *algorithm)
{
    tutti_status status = tutti_topology_of_run(
        topology, tutti_conf_real_or(link_mbit, 0), world->boot.size, &world->topology);
    if (!status)
        status = tutti_rules_of_run(algorithm, world->topology, world->boot.size, &world->rules);
    status = tutti_world_agree(world, status);
    if (!status) status = compare_links(world);
    if (!status)
        status =
            tutti_topology_ring_rate(world->topology, world->boot.size, &world->link_bytes_per_s);
    if (status) tutti_world_close(world, TUTTI_OK); /* on all ranks alike */
    return status;
}

void tutti_world_close(tutti_world *world, tutti_status status)
{
    if (status && world->boot.size > 1 && !world->together) tutti_boot_abort(1);
    tutti_comm_free(world->comm);
    tutti_topology_free(world->topology);
    tutti_rules_free(world->rules);
    if (world->boot.comm) tutti_boot_finalize(&world->boot);
    *world = (tutti_world){0};
}

static tutti_status call(tutti_world *world, const tutti_coll_args *args)
{
    tutti_coll_request *request = NULL;
    tutti_status status = tutti_coll_post(world->comm, 0, args, &request);
    if (!status) status = tutti_coll_wait(world->comm, request, world->timeout_s);
    tutti_coll_free(request);
    return status;
}

static tutti_status worst_of_all(tutti_world *world, int32_t *worst)
{
    return call(world, &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                           .dtype = TUTTI_I32,
                           .op = TUTTI_MAX,
                           .count = 1,
                           .recv = worst});
}

tutti_status tutti_world_agree(tutti_world *world, tutti_status mine)
{
    int32_t worst = (int32_t)mine;
    tutti_status status = worst_of_all(world, &worst);
    return status ? status : (tutti_status)worst;
}

tutti_status tutti_world_give_up(tutti_world *world, tutti_status mine)
{
    int32_t worst = (int32_t)mine;
    tutti_status status = worst_of_all(world, &worst);
    world->together = !status;
    return status ? status : (tutti_status)worst;
}

tutti_status tutti_world_max(tutti_world *world, int count, double values[])
{
    return call(world, &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                           .dtype = TUTTI_F64,
                           .op = TUTTI_MAX,
                           .count = count,
                           .recv = values});
}

tutti_status tutti_world_sum(tutti_world *world, int count, double values[])
{
    return call(world, &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                           .dtype = TUTTI_F64,
                           .op = TUTTI_SUM,
                           .count = count,
                           .recv = values});
}

tutti_status tutti_world_mean(tutti_world *world, double *value)
{
    tutti_status status = tutti_world_sum(world, 1, value);
    *value /= world->boot.size;
    return status;
}

tutti_status tutti_world_share(tutti_world *world, void *data, int64_t bytes)
{
    return call(world, &(tutti_coll_args){.kind = TUTTI_BROADCAST,
                           .dtype = TUTTI_U8,
                           .op = TUTTI_MAX,
                           .count = bytes,
                           .recv = data});
}

tutti_status tutti_world_barrier(tutti_world *world)
{
    return call(world, &(tutti_coll_args){.kind = TUTTI_BARRIER});
}

tutti_status tutti_world_spin(tutti_comm *comm, tutti_coll_request *request, double timeout_s)
{
    enum { POLLS_BEFORE_YIELD = 16 }; /* a yield takes as long as a short message */
    double end = tutti_clock_s() + timeout_s;
    int polls = 0;
    while (!tutti_coll_done(request)) {
        int moved = 0;
        tutti_status status = tutti_coll_progress(comm, &moved);
        if (status) return status;
        polls = moved ? 0 : polls + 1;
        if (polls < POLLS_BEFORE_YIELD) continue;
        if (tutti_clock_s() > end)
            return tutti_fail(
                TUTTI_ERR_TIMEOUT, "a collective has not ended after %g s", timeout_s);
        sched_yield();
    }
    return TUTTI_OK;
}
