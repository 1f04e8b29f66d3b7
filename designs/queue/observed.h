/* What the driver sees of the steps of a section: when each of its collective nodes became ready, and
 * how long a byte took on the link. Times count from the first node that is ready in a step: from
 * there on a backward pass waits for nobody, so that they do not depend on the order in which
 * collectives go. The first step is not counted: kernels and memory are new in it.
 *
 * Not locked: the driver's queue lock covers it. */
#ifndef TUTTI_OBSERVED_H
#define TUTTI_OBSERVED_H

#include "dag/base/status.h"

#include <stdint.h>

enum { TUTTI_OBSERVED_STEPS = 15 };

typedef struct tutti_observed {
    int pieces, slots;       /* nodes of a step, and collectives, chunks counted */
    int steps;               /* seen whole, the first left out */
    double *ready_s;         /* [TUTTI_OBSERVED_STEPS][pieces] the last of these steps */
    double seconds_per_byte; /* the least in any of these steps */
    /* The step being seen. */
    int64_t base; /* its first sequence number; -1: none yet */
    int whole;    /* whole steps so far */
    double first_s, *at_s;
    double busy_s, busy_since_s;
    int flying, ended;
    int64_t bytes;
} tutti_observed;

tutti_status tutti_observed_open(tutti_observed *observed, int pieces, int slots); /* NOMEM */
void tutti_observed_close(tutti_observed *observed);

/* Of the step whose first sequence number is `base`: a node is ready; one of its collectives starts,
 * ends. */
void tutti_observed_ready(tutti_observed *observed, int64_t base, int64_t index, double now_s);
void tutti_observed_start(tutti_observed *observed, int64_t base, double now_s);
void tutti_observed_end(tutti_observed *observed, int64_t base, int64_t bytes, double now_s);

/* When this node is ready, seconds after the first: the median of the steps; 0 before the first. */
double tutti_observed_ready_s(const tutti_observed *observed, int piece);

#endif
