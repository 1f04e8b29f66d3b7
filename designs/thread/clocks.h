/* How far a rank's clock is from rank 0's, by ping-pong over the control lane.
 *
 *   this rank   asks (t0)                        hears T at t1
 *                     \                         /
 *   rank 0             answers with its time T
 *
 * The answer was given between t0 and t1, so that T - (t0 + t1) / 2 is the difference of the clocks
 * to within (t1 - t0) / 2: the shortest of many round trips counts. Clocks also run at different
 * rates, by some 1e-5 at most: two samples, before and after, give a line between them.
 * Source: Cristian 1989, "Probabilistic clock synchronization", Distributed Computing 3;
 * Hunold & Carpen-Amarie 2018, "Hierarchical clock synchronization in MPI", IEEE CLUSTER.
 *
 *   open -> { start -> pass* -> result } -> close
 *
 * Threads: start, busy and result are [A]; the rest is for whoever passes (designs/drive/driver.h). */
#ifndef TUTTI_CLOCKS_H
#define TUTTI_CLOCKS_H

#include "dag/base/status.h"
#include "collectives/control.h"

typedef struct tutti_clocks tutti_clocks;

/* Rank 0's clock minus this rank's. */
typedef struct tutti_clock_sample {
    double at_s; /* of this rank's clock */
    double offset_s, error_s;
} tutti_clock_sample;

/* Borrows the control. NOMEM. */
tutti_status tutti_clocks_open(tutti_control *control, tutti_clocks **clocks);
void tutti_clocks_close(tutti_clocks *clocks); /* accepts NULL */

/* Not on rank 0: asks for a new sample. Then whether one is being taken (0 for NULL). */
void tutti_clocks_start(tutti_clocks *clocks);
int tutti_clocks_busy(tutti_clocks *clocks);
/* In every pass: sends what is to be asked. */
void tutti_clocks_pass(tutti_clocks *clocks);
/* Whether the sample is complete; *status: what went wrong with it so far. */
int tutti_clocks_result(tutti_clocks *clocks, tutti_clock_sample *sample, tutti_status *status);

/* Rank 0's time at this rank's time t_s, on the line through two samples; a constant where they
 * were taken at the same time. [P] */
double tutti_clock_convert(
    const tutti_clock_sample *first, const tutti_clock_sample *last, double t_s);

#endif
