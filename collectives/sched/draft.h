/* The inside of a draft: shared by sched.c (which appends) and link.c (which finds what waits for
 * what). */
#ifndef TUTTI_SCHED_DRAFT_H
#define TUTTI_SCHED_DRAFT_H

#include "collectives/sched/sched.h"

struct tutti_sched_draft {
    tutti_sched *sched;
    int room; /* steps allocated */
    tutti_status status;
};

/* Fills waits, next, first, after, channel and of from the steps. NOMEM. */
tutti_status tutti_sched_link(tutti_sched *sched);

#endif
