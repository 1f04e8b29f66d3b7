/* Dealing the layers of a net to the stages of a pipeline.
 *
 * A stage costs what its layers compute or what it sends and receives, whichever takes longer, since
 * the two overlap. Of all ways to cut the net into consecutive stages that each have a parameter,
 * tutti_partition finds one whose costliest stage costs least; among those, one that sends least.
 * By dynamic programming, twice: O(stages * layers^2). Threads: [P], but that errors are logged. */
#ifndef TUTTI_PARTITION_H
#define TUTTI_PARTITION_H

#include "dag/base/status.h"
#include "dag/net/net.h"

/* What is known of each layer, for one image. */
typedef struct tutti_layer_cost {
    double work;    /* of training: operations, with what they move through memory */
    double sends;   /* bytes of values that cross a cut behind this layer, one way */
    int parameters; /* whether it has any */
} tutti_layer_cost;

/* Operations that take as long as moving a byte through memory, and as sending one to another rank:
 * those of a core of 100 Gflop/s with 30 GB/s, as micro-batches mostly fit into its caches, and a link of
 * 1 Gbit/s. They only have to be right to within a factor of 2 or 3: the first is small for most layers
 * that matter, and the second keeps cuts away from large values. */
enum { TUTTI_WORK_PER_BYTE_MOVED = 3, TUTTI_WORK_PER_BYTE_SENT = 800 };

/* The costs of a net's layers, one for each. Errors of tutti_step_build. */
tutti_status tutti_net_costs(const tutti_net *net, tutti_layer_cost cost[]);

/* end[q]: the layer behind the last one of stage q. INVAL (logged): more stages than layers with
 * parameters. NOMEM. */
tutti_status tutti_partition(int layers, const tutti_layer_cost cost[], int stages, int end[]);

#endif
