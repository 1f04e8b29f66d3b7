/* The layouts in which a model can be trained on a number of ranks with a number of images a step, and what each is
 * expected to take, before any is simulated. Threads: [M]. */
#ifndef TUTTI_PLAN_CANDIDATES_H
#define TUTTI_PLAN_CANDIDATES_H

#include "apps/plan/layers.h"

typedef struct tutti_plan_layout {
    tutti_layout layout;            /* of zeroes: every rank is a replica, sums in any order */
    const tutti_strategy *strategy; /* NULL: as the default */
    int64_t batch;                  /* of a replica */
    /* Of the rank that has most: seconds of its kernels, and bytes that it sends in a step */
    double kernels_s, sends;
    double total;      /* bytes of all ranks */
    double expected_s; /* a step */
    /* Once it has been simulated */
    int simulated;
    double step_s, memory;
    double messages; /* that all ranks send in a step */
} tutti_plan_layout;

typedef struct tutti_plan_layouts {
    int count;
    tutti_plan_layout *layout; /* those that are expected to be fastest come first */
} tutti_plan_layouts;

/* What the search knows of a rank. */
typedef struct tutti_plan_rank {
    int workers;
    double rate;      /* bytes a second that it sends while all do; 0: no limit */
    double latency_s; /* of a message without bytes */
} tutti_plan_rank;

/* Each layout with sync is followed by the same with sharded, where there are replicas. USAGE (logged): no layout has
 * equal replicas, or kernels that a trace has. NOMEM; errors of tutti_layout_cut. */
tutti_status tutti_plan_layouts_list(const tutti_sim_model *m, const tutti_plan_layers *layers,
    int64_t batch, int ranks, const tutti_plan_rank *rank, tutti_plan_layouts *layouts);
void tutti_plan_layouts_free(tutti_plan_layouts *layouts);
/* The options of tutti-cifar that choose it, into text; returns text. */
enum { TUTTI_PLAN_OPTIONS = 192 };
char *tutti_plan_layout_print(const tutti_plan_layout *layout, char text[TUTTI_PLAN_OPTIONS]);

#endif
