/* What the parts of the step's construction share: declare.c makes the tensors, step.c the forward
 * and backward nodes, update.c what follows a complete gradient. Threads: [M]. */
#ifndef TUTTI_BUILDER_H
#define TUTTI_BUILDER_H

#include "dag/net/site.h"
#include "dag/net/step.h"

/* A parameter's tensors, which all slices share. */
typedef struct tutti_trained {
    int weight, gradient, momentum;
    int64_t count;
} tutti_trained;

typedef struct tutti_builder {
    const tutti_net *net;
    const tutti_step_options *options;
    tutti_step *step;
    tutti_graph *graph;
    tutti_gradients **gradients; /* of each slice */
    tutti_site *site;            /* of layer l and slice s at l * slices + s */
    tutti_trained *trained;      /* of parameter p of layer l at l * TUTTI_LAYER_PARAMETERS + p */
    int *statistics;             /* of layer l: the sum over slices, where it has statistics */
    int *wanted;                 /* of each value: whether its gradient leads to a parameter */
    tutti_access *access;        /* scratch: slices + 1 */
} tutti_builder;

static inline tutti_site *tutti_builder_site(const tutti_builder *b, int layer, int slice)
{
    return &b->site[layer * b->options->slices + slice];
}

/* Cuts the batch into step->slice: sizes differ by at most one, larger ones first. */
void tutti_builder_cut(tutti_step *step, const tutti_step_options *options);
/* Declares inputs, parameters and state, and sets up every site. Values follow with their nodes. */
tutti_status tutti_builder_declare(tutti_builder *b);
/* A float32 tensor "<prefix><layer>.<suffix>", with "@<slice>" behind it when slice >= 0. */
tutti_status tutti_builder_tensor(tutti_builder *b, const char *prefix, const char *layer,
    const char *suffix, int slice, tutti_role role, tutti_shape shape, int *tensor);

/* [sum over slices] -> mark, for parameter p of layer l; and what follows it: sgd. */
tutti_status tutti_builder_mark_gradient(tutti_builder *b, int l, int p, const char *suffix);
tutti_status tutti_builder_update_parameter(tutti_builder *b, int l, int p, const char *suffix);
/* sum over slices -> mark, for the statistics of layer l; and what follows it: running statistics.
 */
tutti_status tutti_builder_mark_statistics(tutti_builder *b, int l);
tutti_status tutti_builder_update_running(tutti_builder *b, int l);

/* The nodes of the forward pass of all slices, into the section that was begun last. */
tutti_status tutti_builder_forward(tutti_builder *b, int evaluation);
/* The sections `eval` and `eval_again` (step.h). */
tutti_status tutti_builder_evaluate(tutti_builder *b);

#endif
