/* The driver's measurements of the steps of a section: when each collective node became ready, and
 * how long a byte took on the link. Times count from the first ready node of a step: from there on
 * a backward pass waits for no collective, so the times do not depend on the order of collectives.
 * The first step is ignored, because kernels and memory are cold.
 *
 * Not locked: the driver's queue lock protects it. */
#ifndef TUTTI_OBSERVED_H
#define TUTTI_OBSERVED_H

#include "dag/base/status.h"

#include <stdint.h>

enum { TUTTI_OBSERVED_STEPS = 15 };

typedef struct tutti_observed {
    int pieces, slots;       /* nodes of a step, and collectives (each chunk counts) */
    int steps;               /* observed completely, without the first */
    double *ready_s;         /* [TUTTI_OBSERVED_STEPS][pieces] the last of these steps */
    double seconds_per_byte; /* the minimum over these steps */
    /* The step being observed. */
    int64_t base; /* its first sequence number; -1: none yet */
    int whole;    /* complete steps so far */
    double first_s, *at_s;
    double busy_s, busy_since_s;
    int in_flight, ended;
    int64_t bytes;
} tutti_observed;

tutti_status tutti_observed_open(tutti_observed *observed, int pieces, int slots); /* NOMEM */
void tutti_observed_close(tutti_observed *observed);

/* In the step whose first sequence number is `base`, a node becomes ready, or one of its
 * collectives starts or ends. */
void tutti_observed_ready(tutti_observed *observed, int64_t base, int64_t index, double now_s);
void tutti_observed_start(tutti_observed *observed, int64_t base, double now_s);
void tutti_observed_end(tutti_observed *observed, int64_t base, int64_t bytes, double now_s);

/* When this node is ready, in seconds after the first: the median over the steps; 0 without a
 * step. */
double tutti_observed_ready_s(const tutti_observed *observed, int piece);

#endif
