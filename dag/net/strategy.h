/* A strategy: what a gradient that is complete on a rank turns into, who updates which parameters, and
 * what follows. A strategy is a file in dag/strategies/, its line in step.h, and its row in
 * dag/strategies/strategies.c. Threads: [M]. */
#ifndef TUTTI_STRATEGY_H
#define TUTTI_STRATEGY_H

#include "dag/net/step.h"

struct tutti_builder;

struct tutti_strategy {
    const char *name, *summary; /* "sync" */
    int deals; /* a rank has only a part of what the update rule keeps (tutti_graph_cut) */
    /* INVAL (logged): a rule or options that the strategy cannot take. */
    tutti_status (*check)(const tutti_update_rule *rule, const tutti_step_options *options);
    /* Appends the mark of the gradient of parameter p of layer l, which the section train has completed. */
    tutti_status (*sum)(struct tutti_builder *b, int l, int p);
    /* Appends what follows all marks: the updates of this rank's layers, averages, copies and running
     * statistics. */
    tutti_status (*update)(struct tutti_builder *b);
    /* As tutti_step_settle. */
    tutti_status (*settle)(tutti_step *step);
};

#endif
