/* Gradients of one micro-batch's values during the backward pass; of those micro-batches that have
 * one slot, one after the other (dag/step/units.h).
 *
 * A value with several consumers gets one contribution from each; once all have been added, the
 * gradient is their sum, in the order in which they were added. A contribution may be shared (an
 * add passes the same tensor to both inputs), so buffers are reference-counted. A buffer without
 * a holder is reused for the next gradient of the same type and size; the one released last is
 * preferred, as it is most likely to be in the cache. Reuse adds an edge from the buffer's last
 * reader to its next writer; each slot has a separate pool, so the edge joins only micro-batches that
 * wait for each other anyway. Sizes are in elements per image. Threads: [M]. */
#ifndef TUTTI_GRADIENTS_H
#define TUTTI_GRADIENTS_H

#include "dag/graph/graph.h"

typedef struct tutti_gradients tutti_gradients;

/* room: images of the slot's largest micro-batch. */
tutti_status tutti_gradients_new(
    tutti_graph *graph, int slot, int64_t room, tutti_gradients **gradients);
void tutti_gradients_free(tutti_gradients *gradients);

/* Begins the passes of a micro-batch of this many images: forgets all contributions. No buffer is
 * held. */
void tutti_gradients_begin(tutti_gradients *gradients, int64_t images);
/* A buffer of `each` elements per image, held by the caller. */
tutti_status tutti_gradients_take(
    tutti_gradients *gradients, tutti_dtype dtype, int64_t each, int *tensor);
/* Adds a contribution to a value's gradient, which holds the buffer, too. */
tutti_status tutti_gradients_add(tutti_gradients *gradients, int value, int tensor);
/* The gradient of a value whose contributions have all been added: the contribution itself if there
 * is only one, else the result of SUM nodes named `name`, which are appended with this priority.
 * Held by the caller; -1 when there is no contribution. */
tutti_status tutti_gradients_total(
    tutti_gradients *gradients, int value, const char *name, int priority, int *tensor);
/* Replaces *tensor, which the caller holds, by a copy of it that has no other holder: a SUM node of
 * this name and priority. */
tutti_status tutti_gradients_copy(
    tutti_gradients *gradients, const char *name, int priority, int *tensor);
/* Ends one hold on a buffer. */
void tutti_gradients_drop(tutti_gradients *gradients, int tensor);

#endif
