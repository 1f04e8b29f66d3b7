/* The topology of a run, and how fast its ranks send. [P] */
#ifndef TUTTI_LINKS_RUN_H
#define TUTTI_LINKS_RUN_H

#include "collectives/links/topology.h"

/* TCP payload in bytes per second over a link of link_mbit Mbit/s, as tc counts: 1448 of the 1514
 * bytes of a full Ethernet frame are payload (IPv4, timestamps). */
static inline double tutti_link_goodput(double link_mbit)
{
    return link_mbit * 1e6 / 8 * 1448 / 1514;
}

/* The topology that `spec` names (tutti_topology_open), or without one a star with a host for each rank, whose links
 * carry the payload of link_mbit Mbit/s. *t is NULL if link_mbit is 0, too. USAGE (logged): both are given, the
 * topology has another number of ranks, or a mistake. IO, NOMEM. */
tutti_status tutti_topology_of_run(
    const char *spec, double link_mbit, int ranks, tutti_topology **t);

/* Bytes a second of the slowest of the topology's first `ranks` ranks while each of them sends to the next one: what
 * the busiest link leaves to each of the messages that share it. 0: no link has a limit, there is one rank, or t is
 * NULL. NOMEM. */
tutti_status tutti_topology_ring_rate(const tutti_topology *t, int ranks, double *bytes_per_s);

#endif
