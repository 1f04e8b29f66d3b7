/* A plan as text and as JSON. Threads: [M]. */
#ifndef TUTTI_PLAN_REPORT_H
#define TUTTI_PLAN_REPORT_H

#include "apps/plan/candidates.h"

typedef struct tutti_plan {
    const char *model, *topology;
    int ranks;
    int64_t batch;
    tutti_plan_layers layers;
    tutti_plan_layouts layouts;
    const tutti_plan_layout *best, *second; /* of those simulated; second NULL: there is one */
} tutti_plan;

void tutti_plan_print(const tutti_plan *plan);
tutti_status tutti_plan_print_json(const tutti_plan *plan); /* NOMEM */

#endif
