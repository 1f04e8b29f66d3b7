/* What the layers of a net cost in training, counted or timed, for the cut into stages (partition.h). */
#ifndef TUTTI_COSTS_H
#define TUTTI_COSTS_H

#include "dag/base/status.h"
#include "dag/net/net.h"
#include "dag/step/step.h"

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
#define TUTTI_WORK_PER_SECOND 100e9 /* of a core */

/* The same for a link of this rate, and this many cores. [P] */
static inline double tutti_work_per_byte_sent(double bytes_per_s, int workers)
{
    return TUTTI_WORK_PER_SECOND * workers / bytes_per_s;
}

/* The costs of a net's layers, one for each, in a step of these options, of which only those that say
 * what is summed count: images, replicas, division, wire, codec, strategy. Gradients that travel as
 * codes, and those of replicas that train alone, are not counted. Errors of tutti_step_build. */
tutti_status tutti_net_costs(
    const tutti_net *net, const tutti_step_options *options, tutti_layer_cost cost[]);

/* The layer of a node "<layer>.<op>@<micro-batch>" (dag/net/site.h), or -1; it is looked for from `guess` on. [P] */
int tutti_net_layer_of(const tutti_net *net, const char *node, int guess);

/* Seconds that the kernels of each layer take for an image, forward and backward, in micro-batches of `images` images,
 * on one core: timed on this thread, each kind of work once (times.h). Work for a cost is these times
 * TUTTI_WORK_PER_SECOND. Errors of tutti_step_build and tutti_graph_times. */
tutti_status tutti_net_times(
    const tutti_net *net, tutti_dtype precision, int64_t images, double seconds[]);

#endif
