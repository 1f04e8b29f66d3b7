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

#include "dag/step/costs.h"

/* end[q]: the layer behind the last one of stage q. work_per_byte: of tutti_work_per_byte_sent; 0: the
 * link is not known, then TUTTI_WORK_PER_BYTE_SENT counts for what crosses cuts, and sums do not count.
 * INVAL (logged): more stages than layers with parameters. NOMEM. */
tutti_status tutti_partition(
    int layers, const tutti_layer_cost cost[], double work_per_byte, int stages, int end[]);

#endif
