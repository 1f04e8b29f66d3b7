/* A simulation: training steps of all ranks in one thread and in virtual time. The exchange, the design, the driver,
 * the engine and the schedules of every rank are the real ones; links are those of a topology
 * (collectives/transport/virtual.h), and kernels take the time that the caller says.
 *
 * A rank has workers. A worker takes, of the kernels that may run, the one of highest priority, and of these the
 * earliest in program order. What starts a collective takes no time. A rank submits a step when all but the last of
 * those before have ended on it, as a training does.
 *
 * Payload is not there. A run is a function of its options alone: the same options, the same times. Threads: one at a
 * time; meanwhile the calling thread's clock (dag/base/clock.h) is the simulation's. */
#ifndef TUTTI_SIM_H
#define TUTTI_SIM_H

#include "collectives/links/topology.h"
#include "dag/graph/graph.h"
#include "designs/exchange/exchange.h"

/* What a simulation asks its caller. */
typedef struct tutti_sim_program {
    void *ctx;
    /* A rank's graph, with marks, which the exchange then places; it may make groups in that before. Borrowed until the
     * simulation ends. */
    tutti_status (*build)(void *ctx, int rank, tutti_exchange *exchange, tutti_graph **graph);
    /* It has been placed. NULL: nothing is left to do. */
    tutti_status (*finalize)(void *ctx, int rank);
    /* Seconds that a kernel node of it takes. The graph has been placed since. */
    double (*node_s)(void *ctx, int rank, const tutti_graph *graph, int node);
} tutti_sim_program;

typedef struct tutti_sim_options {
    const tutti_topology *topology; /* finished; borrowed */
    int ranks;                      /* the topology's first */
    int workers;                    /* of each rank; 0: 1 */
    int section;                    /* of the graphs, which is a step */
    int steps;                      /* that all ranks do; at least 1 */
    int warm;                       /* of these, the first do not count in the result */
    /* A kernel takes exp(noise x) times its time, x drawn from a normal distribution by seed, rank, step and node: the
     * same for all designs. 0: none */
    double noise;
    uint64_t seed;
    tutti_exchange_options exchange; /* `manual`, `watch` and `trace` are the simulation's */
    /* [ranks] of rank r: what its workers and lanes do, recorded where it is on (dag/run/trace.h), for as many workers;
     * or NULL. Names in it are those of graphs. Borrowed */
    tutti_trace **trace;
    int whole_passes; /* ranks do no less in a pass than real ones: slower, and the same run. For tests */
} tutti_sim_options;

typedef struct tutti_sim_result {
    double step_s; /* the median step: from the end of the one before, on the rank that ends last */
    double
        compute_s; /* of a step and rank, in the mean: what its kernels take, divided by workers */
    double total_s;
    int busiest; /* the capacity of the topology that was used most; -1: none */
    double share;
    /* In all steps. messages: that have begun to travel; sent_bytes: of these */
    int64_t messages, events;
    double sent_bytes;
} tutti_sim_result;

/* Runs it. step_s: [steps] when each step ended on the last rank, or NULL. USAGE, INVAL: options; TIMEOUT: nothing
 * will ever happen any more, though not all has ended (logged: what each rank waits for, of up to four ranks); what
 * ranks fail with. */
tutti_status tutti_sim_run(const tutti_sim_options *options, const tutti_sim_program *program,
    double *step_s, tutti_sim_result *result);

#endif
