/* An update rule (optimizer): what follows the sum of a parameter's gradient over all ranks. A rule
 * is a file update_<name>.c, its line in step.h, and its row in update_rules.c. Threads: [M]. */
#ifndef TUTTI_UPDATE_RULE_H
#define TUTTI_UPDATE_RULE_H

#include "dag/step/step.h"

enum { TUTTI_UPDATE_STATES = 2, TUTTI_NEIGHBOURS = 2 };

/* A parameter's tensors, which all micro-batches share, and how it is updated. The gradient has the
 * type in which it was summed over ranks (tutti_step_options.wire) if the rule takes it and nothing
 * clips it, the others have the parameter's. */
typedef struct tutti_trained {
    int index; /* among the step's parameters */
    int weight, gradient;
    int mark;                       /* of the gradient, in the section train */
    int gathered;                   /* the sum of the gradients of earlier batches, if any */
    int state[TUTTI_UPDATE_STATES]; /* as the rule lists them */
    int average;                    /* over steps; -1: there is none */
    int kept;                       /* what the strategy keeps of it, if anything */
    int residual, code,
        factor; /* of a codec, if the gradient travels as a code: what was not sent; what
                                       is sent; what else is kept */
    int start;  /* what it was when a round began, if the strategy needs that */
    int sent;   /* what it was when a mixing step began, if the strategy needs that */
    int near[TUTTI_NEIGHBOURS]; /* what other replicas have of it, if the strategy needs that */
    int64_t count;
    float rate_factor;  /* of the learning rate */
    float weight_decay; /* of this parameter: its factor is in it */
    int exempt;         /* from LARS's local rate (tutti_step_options.weights_only) */
} tutti_trained;

struct tutti_update_rule {
    const char *name, *summary; /* "sgd" */
    /* The learning rate to start from, whatever the model; 0: the model's own. */
    double rate;
    /* What it keeps for each parameter from step to step, in tensors of its shape and type
     * that begin as zeros: prefixes of the parameter's name ("m."), NULL after the last. */
    const char *prefix[TUTTI_UPDATE_STATES + 1];
    /* INVAL (logged): options that the rule cannot take. */
    tutti_status (*check)(const tutti_step_options *options);
    /* Appends the nodes that update one parameter; nodes are named "<name>.<op>". They have the
     * lowest priority, and fill the time in which a worker would otherwise wait for the last sums
     * over ranks. */
    tutti_status (*append)(tutti_graph *graph, const char *name, const tutti_trained *trained,
        const tutti_step *step, const tutti_step_options *options);
    int stored; /* the servers of a store of keys have it, under this name (tutti/kv.h) */
    /* Whether its op takes gradients of bf16; if not, they are widened for it. */
    int takes_bf16;
    /* Makes the node that append has added update only these elements, and leaves of what it keeps
     * only these (tutti_graph_cut). NULL: it needs whole gradients. */
    tutti_status (*cut)(tutti_graph *graph, int node, int64_t first, int64_t count);
};

#endif
