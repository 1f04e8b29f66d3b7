/* Dealing the layers of a net to the stages of a pipeline.
 *
 * A stage costs what its layers compute or what crosses its cuts, whichever takes longer, since the
 * two overlap; and besides what its replicas exchange to sum their gradients, since nearly all of that
 * begins when the last micro-batch has come back. Of all ways to cut the net into consecutive stages
 * that each have a parameter, tutti_partition finds one whose costliest stage costs least; among those,
 * one that sends least.
 * By dynamic programming, twice: O(stages * layers^2). Threads: [P], but that errors are logged. */
#ifndef TUTTI_PARTITION_H
#define TUTTI_PARTITION_H

#include "dag/base/status.h"
#include "dag/net/net.h"
#include "dag/net/step.h"

/* What is known of each layer, for one image. */
typedef struct tutti_layer_cost {
    double work;  /* of training: operations, with what they move through memory */
    double sends; /* bytes of values that cross a cut behind this layer, one way */
    double sums; /* an image's part of the bytes that a rank sends to sum the gradients of a step */
    int parameters; /* whether it has any */
} tutti_layer_cost;

/* Operations that take as long as moving a byte through memory, and as sending one to another rank:
 * those of a core of 100 Gflop/s with 25 GB/s, as micro-batches mostly fit into its caches, and a link of
 * 1 Gbit/s. Of the first only the ratio counts: kernels of preact-resnet110 ran at 228 Gflop/s and 59 GB/s on
 * a core of a Zen 5. The second only has to be right to within a factor of 2 or 3: it keeps cuts away from
 * large values. */
enum { TUTTI_WORK_PER_BYTE_MOVED = 4, TUTTI_WORK_PER_BYTE_SENT = 800 };

/* The same for a link of so many bytes per second, and so many cores. [P] */
static inline double tutti_work_per_byte_sent(double bytes_per_s, int workers)
{
    static const double core = 100e9;
    return core * workers / bytes_per_s;
}

/* The costs of a net's layers, one for each, in a step of these options, of which only those that say
 * what is summed count: images, replicas, division, wire, codec, strategy. Gradients that travel as
 * codes, and those of replicas that train alone, are not counted. Errors of tutti_step_build. */
tutti_status tutti_net_costs(
    const tutti_net *net, const tutti_step_options *options, tutti_layer_cost cost[]);

/* end[q]: the layer behind the last one of stage q. work_per_byte: of tutti_work_per_byte_sent; 0: the
 * link is not known, then TUTTI_WORK_PER_BYTE_SENT counts for what crosses cuts, and sums do not count.
 * INVAL (logged): more stages than layers with parameters. NOMEM. */
tutti_status tutti_partition(
    int layers, const tutti_layer_cost cost[], double work_per_byte, int stages, int end[]);

#endif
