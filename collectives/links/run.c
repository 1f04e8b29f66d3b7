#include "collectives/links/run.h"

#include "collectives/links/flows.h"
#include "collectives/links/topology_text.h"
#include "dag/base/log.h"

/* From host to host; no measurement: --link-mbit says how much links carry, and this is what a message costs on
 * Ethernet. */
static const int64_t star_latency_ps = 20000000;

static tutti_status check_ranks(const char *spec, const tutti_topology *t, int ranks)
{
    if (t->ranks == ranks) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--topology %s has %d rank%s, but the run has %d: give a topology with as many", spec,
        t->ranks, t->ranks == 1 ? "" : "s", ranks);
}

tutti_status tutti_topology_of_run(
    const char *spec, double link_mbit, int ranks, tutti_topology **t)
{
    static const tutti_point_kind node = {.name = "node"};
    tutti_topology *named = NULL;
    *t = NULL;
    if (spec && link_mbit > 0)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--topology %s and --link-mbit %g both say what links there are: give one of them",
            spec, link_mbit);
    if (!spec && link_mbit <= 0) return TUTTI_OK;
    tutti_status status = spec ? tutti_topology_open(spec, &named)
                               : tutti_topology_star(ranks, tutti_link_goodput(link_mbit),
                                     star_latency_ps, &node, &named);
    if (!status && spec) status = check_ranks(spec, named, ranks);
    if (status)
        tutti_topology_free(named);
    else
        *t = named;
    return status == TUTTI_ERR_FORMAT ? TUTTI_ERR_USAGE : status;
}

/* Flows that never end, once all have arrived: those that no link limits end at once. */
static tutti_status send_to_next(tutti_flows *flows, int ranks)
{
    const double endless = 1e30, arrived_s = 1e6; /* a latency is 1 s at most */
    int flow = 0;
    tutti_status status = TUTTI_OK;
    for (int r = 0; !status && r < ranks; r++)
        status = tutti_flows_start(flows, 0, r, (r + 1) % ranks, endless, &flow);
    while (!status && flow >= 0) status = tutti_flows_end(flows, arrived_s, &flow);
    return status ? status : tutti_flows_next(flows, &(double){0});
}

tutti_status tutti_topology_ring_rate(const tutti_topology *t, int ranks, double *bytes_per_s)
{
    tutti_flows *flows = NULL;
    double least = 0;
    *bytes_per_s = 0;
    if (!t || ranks < 2) return TUTTI_OK;
    tutti_status status = tutti_flows_open(t, &flows);
    if (!status) status = send_to_next(flows, ranks);
    for (int r = 0; !status && r < ranks; r++) {
        double rate = tutti_flows_rate(flows, r);
        if (rate > 0 && (least <= 0 || rate < least)) least = rate;
    }
    tutti_flows_close(flows);
    if (!status) *bytes_per_s = least;
    return status;
}
