/* A net cut into the stages of a pipeline: which values travel from one stage to another.
 *
 * Stage q has the layers from the end of stage q - 1 to its own. A value that several stages read goes
 * from the stage that makes it to each of them, directly. Its gradient comes back through them in
 * turn: the highest reader begins the sum, each lower one adds what its own layers contribute, and
 * the stage that made the value adds its own last. So contributions are added from the last layer to
 * the first, as on one rank, and the sum has the same bits.
 *
 *   value of stage 0, read in 1 and 3:     values 0 -> 1, 0 -> 3      gradients 3 -> 1, 1 -> 0
 *
 * Each crossing has an edge for values and one for gradients (dag/graph/graph.h), so that no message
 * waits for one of another value. Threads: [P], but that errors are logged. */
#ifndef TUTTI_CROSSINGS_H
#define TUTTI_CROSSINGS_H

#include "dag/base/status.h"
#include "dag/net/layer.h"
#include "dag/net/placement.h"

/* One value on its way to one reader. */
typedef struct tutti_crossing {
    tutti_value value;
    int from, to; /* stages: who makes it, who reads it */
    int above;    /* the next higher stage that reads it, or -1 */
    int below;    /* where its gradient goes: the next lower stage that reads it, or `from` */
    int lowest;   /* the first layer of `to` that reads it */
} tutti_crossing;

/* The stage that has this layer. */
int tutti_stage_of(const tutti_placement *p, int layer);
/* The layers of a stage, or, of that behind the last one, of all: first .. the result - 1. */
int tutti_stage_layers(const tutti_placement *p, int stage, int *first);

/* INVAL (logged) unless the stages have all layers among them, and each a parameter. */
tutti_status tutti_stages_check(const tutti_placement *p, const tutti_net *net);

/* Lists the crossings, by value, then by reader. The caller frees *crossing. NOMEM. */
tutti_status tutti_crossings_find(
    const tutti_placement *p, const tutti_net *net, tutti_crossing **crossing, int *count);

/* The numbers of a crossing's edges, from its index in the list; and those behind them. */
static inline int tutti_crossing_value_edge(int index)
{
    return 2 * index;
}

static inline int tutti_crossing_gradient_edge(int index)
{
    return 2 * index + 1;
}

#endif
