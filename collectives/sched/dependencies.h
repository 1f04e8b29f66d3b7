/* Derives the dependencies of steps from program order and ranges: the last pass over a draft. [P] */
#ifndef TUTTI_SCHED_DEPENDENCIES_H
#define TUTTI_SCHED_DEPENDENCIES_H

#include "collectives/sched/sched.h"

/* Fills waits, next, first, after, channel and of from the steps. NOMEM. */
tutti_status tutti_sched_find_dependencies(tutti_sched *sched);

#endif
