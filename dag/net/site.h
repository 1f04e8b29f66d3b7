/* A site: one layer at one micro-batch, with the tensors that its nodes read and write. Layer kinds
 * work on sites.
 *
 * Names: values "<layer>@<slot>", or "<layer>:<output>@<slot>" where a layer has several; saved
 * tensors "<layer>.<what>@<slot>"; statistics "<layer>.stats@<micro-batch>", as they are read until
 * all micro-batches have theirs; nodes "<layer>.<op>@<micro-batch>".
 * Threads: [M]. */
#ifndef TUTTI_SITE_H
#define TUTTI_SITE_H

#include "dag/graph/graph.h"
#include "dag/kernels/kernel.h"
#include "dag/net/divide.h"
#include "dag/net/gradients.h"
#include "dag/net/layer.h"

enum { TUTTI_SITE_NAME = 2 * TUTTI_LAYER_NAME };

/* Statistics have this type whatever their layer's value and the gradients on the wire have: sums of
 * many numbers need its digits. */
#define TUTTI_STATISTICS_DTYPE TUTTI_F32

typedef struct tutti_site tutti_site;
struct tutti_site {
    tutti_graph *graph;
    const tutti_layer *layer;
    tutti_gradients *gradients;     /* of its slot */
    int index, micro_batch;         /* of the layer in the net; of the micro-batch in the batch */
    int slot;                       /* where its activations lie (dag/step/units.h) */
    int64_t N, room;                /* images of this micro-batch; of the largest one in its slot */
    int64_t first;                  /* its first image in the global batch */
    uint64_t seed;                  /* dropout's */
    int counter;                    /* tensor: step number */
    const tutti_placement *divided; /* NULL: the layer is whole on this rank */
    int urgent;                     /* the priority of a node for which other ranks wait */
    /* The layer's forward pass leaves max(y, 0); of the ReLU that reads it: it has been done. */
    int rectified;

    /* Tensors; -1: none. */
    int x[TUTTI_LAYER_INPUTS], y[TUTTI_LAYER_OUTPUTS];
    int parameter[TUTTI_LAYER_PARAMETERS], running;
    int stats, saved; /* by forward for backward: batch statistics; argmax, or all ranks' inputs */

    /* Backward: dy is complete; the kind sets dx where wanted, a tensor of tutti_site_gradient or
     * one of dy itself. */
    int dy[TUTTI_LAYER_OUTPUTS], dx[TUTTI_LAYER_INPUTS], wanted[TUTTI_LAYER_INPUTS];
    int dparameter[TUTTI_LAYER_PARAMETERS];
    int trains; /* something reads those; else a kind may leave out the node that would write them */

    /* Of an addition that computes the norm that it adds, too: that norm's site. Of the norm: added is 1 */
    tutti_site *norm;
    int added;
};

/* A node's part in the step, which determines its priority (see tutti_site_priority). */
typedef enum tutti_phase {
    TUTTI_PHASE_FORWARD,
    TUTTI_PHASE_BACKWARD_DATA,
    TUTTI_PHASE_BACKWARD_WEIGHTS,
} tutti_phase;

/* Among ready nodes, the backward pass runs layer by layer from the top, in each layer first the
 * data gradient, on which everything below waits, then the weight gradient. So a weight gradient
 * runs before the *next* layer's data gradient: its sum over ranks starts early, and the rest of
 * the pass hides it. Running all data gradients first would finish no sooner on a busy worker and
 * leave every exchange to the end. */
int tutti_site_priority(int layer, tutti_phase phase);

/* The layer's values: the first call makes them, and other sections reuse them. */
tutti_status tutti_site_output(tutti_site *site);
/* One of them. */
tutti_status tutti_site_value(tutti_site *site, int o);
/* What one site of a slot has made for its activations is the other's, too. */
void tutti_site_share(const tutti_site *from, tutti_site *to);
/* Scratch that forward saves for backward, `bytes` bytes with site->room images; *tensor is left
 * alone if it exists already. */
tutti_status tutti_site_saved(tutti_site *site, const char *what, size_t bytes, int *tensor);
/* The same with a type and a shape. */
tutti_status tutti_site_kept(
    tutti_site *site, const char *what, tutti_dtype dtype, tutti_shape shape, int *tensor);
/* Batch statistics, (2,C), in site->stats; left alone in the same way. */
tutti_status tutti_site_stats(tutti_site *site);
/* A buffer for the gradient of input i, in site->dx[i]. */
tutti_status tutti_site_gradient(tutti_site *site, int i);

tutti_status tutti_site_kernel(tutti_site *site, tutti_phase phase, const tutti_op *op,
    const void *desc, size_t desc_bytes, int accesses, const tutti_access access[]);

static inline tutti_access tutti_reads(int tensor)
{
    return (tutti_access){tensor, TUTTI_READ};
}

static inline tutti_access tutti_writes(int tensor)
{
    return (tutti_access){tensor, TUTTI_WRITE};
}

static inline tutti_access tutti_updates(int tensor)
{
    return (tutti_access){tensor, TUTTI_READWRITE};
}

#endif
