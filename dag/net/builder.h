/* What the parts of the step's construction share: declare.c makes the tensors, step.c the forward
 * and backward nodes, update.c what follows a complete gradient. Threads: [M]. */
#ifndef TUTTI_BUILDER_H
#define TUTTI_BUILDER_H

#include "dag/net/site.h"
#include "dag/net/step.h"

/* A parameter's tensors, which all micro-batches share. */
typedef struct tutti_trained {
    int weight, gradient, momentum;
    int64_t count;
} tutti_trained;

typedef struct tutti_builder {
    const tutti_net *net;
    const tutti_step_options *options;
    tutti_step *step;
    tutti_graph *graph;
    tutti_gradients **gradients; /* of each micro-batch */
    tutti_site *site;            /* of layer l and micro-batch s at l * micro-batches + s */
    tutti_trained *trained;      /* of parameter p of layer l at l * TUTTI_LAYER_PARAMETERS + p */
    int *statistics;      /* of layer l: the sum over micro-batches, where it has statistics */
    int *wanted;          /* of each value: whether its gradient leads to a parameter */
    tutti_access *access; /* scratch: micro-batches + 1 */
} tutti_builder;

static inline tutti_site *tutti_builder_site(const tutti_builder *b, int layer, int micro_batch)
{
    return &b->site[layer * b->options->micro_batches + micro_batch];
}

/* Cuts the batch into step->micro_batch: sizes differ by at most one, larger ones first. */
void tutti_builder_cut(tutti_step *step, const tutti_step_options *options);
/* Declares inputs, parameters and state, and sets up every site. Values follow with their nodes. */
tutti_status tutti_builder_declare(tutti_builder *b);
/* A float32 tensor "<prefix><layer>.<suffix>", with "@<micro-batch>" behind it when micro-batch >= 0. */
tutti_status tutti_builder_tensor(tutti_builder *b, const char *prefix, const char *layer,
    const char *suffix, int micro_batch, tutti_role role, tutti_shape shape, int *tensor);

/* [sum over micro-batches] -> mark, for parameter p of layer l; and what follows it: sgd. */
tutti_status tutti_builder_mark_gradient(tutti_builder *b, int l, int p, const char *suffix);
tutti_status tutti_builder_update_parameter(tutti_builder *b, int l, int p, const char *suffix);
/* sum over micro-batches -> mark, for the statistics of layer l; and what follows it: running statistics.
 */
tutti_status tutti_builder_mark_statistics(tutti_builder *b, int l);
tutti_status tutti_builder_update_running(tutti_builder *b, int l);

/* The nodes of the forward pass of all micro-batches, into the section that was begun last. */
tutti_status tutti_builder_forward(tutti_builder *b, int evaluation);
/* The sections `eval` and `eval_again` (step.h). */
tutti_status tutti_builder_evaluate(tutti_builder *b);

#endif
