/* What a rank of a layout trains, as options of its step and of its exchange: for training sessions, and for who
 * simulates them. */
#ifndef TUTTI_RANK_STEP_H
#define TUTTI_RANK_STEP_H

#include "apps/session/layout.h"
#include "dag/step/step.h"

/* Completes the options of a rank's step, which do not say yet what part of the net it has: the cut into stages (also
 * into *placement, which is complete), the order of passes and their slots, and what the strategy becomes with servers.
 * workers: of a rank. USAGE (logged): no layer that `split` can divide; fewer keys than servers; a strategy without a
 * part for servers, or that needs some; errors of tutti_layout_cut. */
tutti_status tutti_rank_step_complete(const tutti_layout *layout, const char *model,
    const tutti_net *net, int workers, tutti_placement *placement, tutti_step_options *recipe);

/* The algorithm of sums, where the user's is this one. divides: a layout or a strategy was given; then "auto" is one
 * whose sums do not depend on what else is in a bucket. [P] */
const char *tutti_rank_step_algorithm(int divides, const char *algorithm);
/* Whether the exchange needs a lane for edges and groups (tutti_exchange_options.messages); of a placement that is
 * not complete, too. strategy: may be NULL. [P] */
int tutti_rank_step_messages(const tutti_placement *placement, const tutti_strategy *strategy);

#endif
