/* All ranks of a bench while no exchange is open: MPI, and small collectives for the bench itself.
 *
 * The thread that opens a world also makes all other calls. Without mpirun there is one rank. Every
 * wait has the deadline given to open. Threads: [M]. */
#ifndef TUTTI_BENCH_WORLD_H
#define TUTTI_BENCH_WORLD_H

#include "collectives/boot.h"
#include "collectives/coll.h"
#include "collectives/links/topology.h"
#include "dag/base/conf.h"

typedef struct tutti_world {
    tutti_boot boot;
    tutti_comm *comm;
    double timeout_s;
    int together; /* the ranks have failed alike (tutti_world_give_up) */
    tutti_topology *topology; /* of tutti_world_links; NULL: not known */
    tutti_rules *rules;       /* that the algorithm names, or NULL */
    double link_bytes_per_s;  /* of a rank (tutti_topology_ring_rate); 0: not known */
} tutti_world;

/* Called by all ranks. Errors as of tutti_boot_init and tutti_comm_new. */
tutti_status tutti_world_open(double timeout_s, tutti_world *world);
/* What --topology, --link-mbit and --algorithm (may be NULL) say. All ranks call it; on a failure of one the world is
 * closed on all. Errors of tutti_topology_of_run and tutti_rules_of_run. */
tutti_status tutti_world_links(
    tutti_world *world, const char *topology, tutti_conf_real link_mbit, const char *algorithm);
/* The worst of the ranks' statuses, on all ranks. */
tutti_status tutti_world_agree(tutti_world *world, tutti_status mine);
/* The maximum over ranks of each element, in place. */
tutti_status tutti_world_max(tutti_world *world, int count, double values[]);
/* The sum over ranks of each element, in place. */
tutti_status tutti_world_sum(tutti_world *world, int count, double values[]);
/* The mean over ranks, in place. */
tutti_status tutti_world_mean(tutti_world *world, double *value);
/* Copies rank 0's bytes to all ranks. */
tutti_status tutti_world_share(tutti_world *world, void *data, int64_t bytes);
tutti_status tutti_world_barrier(tutti_world *world);
/* All ranks call it with a failure, once none has anything under way: then they leave together. Returns the
 * worst status. */
tutti_status tutti_world_give_up(tutti_world *world, tutti_status mine);
/* status: the outcome of the bench. After another failure the ranks (if several) can no longer leave
 * together: ends them all and does not return. Accepts a world that is not open. */
void tutti_world_close(tutti_world *world, tutti_status status);

/* Waits for a request by polling without sleep, yielding the core when nothing moved: for
 * measurements. TIMEOUT (logged). */
tutti_status tutti_world_spin(tutti_comm *comm, tutti_coll_request *request, double timeout_s);

#endif
