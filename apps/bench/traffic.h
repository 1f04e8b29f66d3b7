/* The collectives of a training step without its computation. Threads: [M]. */
#ifndef TUTTI_BENCH_TRAFFIC_H
#define TUTTI_BENCH_TRAFFIC_H

#include "apps/bench/counting.h"
#include "apps/bench/world.h"
#include "dag/graph/graph.h"

#include <stdint.h>

typedef struct tutti_step_traffic {
    int collectives;
    tutti_coll_args *args; /* in program order, each with its own buffers */
    int64_t bytes;         /* of all buffers */
    tutti_traffic sent;    /* by this rank, in all steps so far */
    tutti_comm *comm;
} tutti_step_traffic;

/* Takes the collective nodes of a section of an applied graph, which need not live on. Calls no
 * MPI. NOMEM. */
tutti_status tutti_step_traffic_plan(
    const tutti_graph *graph, int section, tutti_step_traffic *traffic);
/* Opens what is planned. All ranks call it. Errors of tutti_transport_mpi and tutti_comm_new. */
tutti_status tutti_step_traffic_open(
    tutti_world *world, const char *algorithm, tutti_step_traffic *traffic);
/* What a rank must send in a step, on average over the ranks, whichever algorithms sum: 2 (P - 1) / P of the bytes of
 * an allreduce, (P - 1) / P of those of others. [P] */
int64_t tutti_step_traffic_least(const tutti_step_traffic *traffic, int ranks);
/* Starts all collectives in order and waits for all, `steps` times. */
tutti_status tutti_step_traffic_run(tutti_step_traffic *traffic, int64_t steps, double timeout_s);
/* Accepts a zeroed one. */
void tutti_step_traffic_close(tutti_step_traffic *traffic);

#endif
