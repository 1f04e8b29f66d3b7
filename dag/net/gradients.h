/* Gradients of one micro-batch's values during the backward pass.
 *
 * A value with several consumers gets one contribution from each; once all are in, the gradient is
 * their sum, in the order in which they came. A contribution may be shared (an add hands the same
 * tensor to both of its inputs), so buffers are counted, and a buffer that nobody holds any more is
 * taken again for the next gradient of the same size: the one released last, which is the likeliest
 * to be in the cache. That adds an edge from its last reader to its next writer; micro-batches have a pool
 * of their own, so the edge never joins two micro-batches. Threads: [M]. */
#ifndef TUTTI_GRADIENTS_H
#define TUTTI_GRADIENTS_H

#include "dag/graph/graph.h"

typedef struct tutti_gradients tutti_gradients;

tutti_status tutti_gradients_new(tutti_graph *graph, int micro_batch, tutti_gradients **gradients);
void tutti_gradients_free(tutti_gradients *gradients);

/* A buffer of `count` float32, held by the caller. */
tutti_status tutti_gradients_take(tutti_gradients *gradients, int64_t count, int *tensor);
/* Adds a contribution to a value's gradient; holds the buffer, too. */
tutti_status tutti_gradients_add(tutti_gradients *gradients, int value, int tensor);
/* The gradient of a value all of whose contributions are in: theirs when there is one, else a SUM
 * node named `name` is appended with this priority. Held by the caller; -1 when there is no
 * contribution. */
tutti_status tutti_gradients_total(
    tutti_gradients *gradients, int value, const char *name, int priority, int *tensor);
/* Ends one hold on a buffer. */
void tutti_gradients_drop(tutti_gradients *gradients, int tensor);

#endif
