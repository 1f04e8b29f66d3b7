/* The offset of a rank's clock from rank 0's, by ping-pong over the control lane.
 *
 *   this rank   asks (t0)                        receives T at t1
 *                     \                         /
 *   rank 0             answers with its time T
 *
 * The answer was sent between t0 and t1, so T - (t0 + t1) / 2 is the offset to within (t1 - t0) /
 * 2: the shortest of many round trips counts. Clock rates also differ, by about 1e-5: two samples,
 * before and after, define a line. Between samples that are close, its slope would be their errors:
 * it is at most 5e-4, the fastest that Linux lets a clock be adjusted (adjtimex(2)).
 * Source: Cristian 1989, "Probabilistic clock synchronization", Distributed Computing 3;
 * Hunold & Carpen-Amarie 2018, "Hierarchical clock synchronization in MPI", IEEE CLUSTER.
 *
 *   open -> { start -> pass* -> result } -> close
 *
 * Threads: start, busy and result are [A]; the rest belongs to the passing thread
 * (designs/drive/driver.h). */
#ifndef TUTTI_CLOCKS_H
#define TUTTI_CLOCKS_H

#include "dag/base/status.h"
#include "collectives/control.h"

typedef struct tutti_clocks tutti_clocks;

/* Rank 0's clock minus this rank's. */
typedef struct tutti_clock_sample {
    double at_s; /* on this rank's clock */
    double offset_s, error_s;
} tutti_clock_sample;

/* Borrows the control. NOMEM. */
tutti_status tutti_clocks_open(tutti_control *control, tutti_clocks **clocks);
void tutti_clocks_close(tutti_clocks *clocks); /* accepts NULL */

/* start requests a new sample (not on rank 0); busy: whether one is being taken (0 for NULL). */
void tutti_clocks_start(tutti_clocks *clocks);
int tutti_clocks_busy(tutti_clocks *clocks);
/* In every pass: sends pending requests. */
void tutti_clocks_pass(tutti_clocks *clocks);
/* Whether the sample is complete; *status: its first error so far. */
int tutti_clocks_result(tutti_clocks *clocks, tutti_clock_sample *sample, tutti_status *status);

/* Rank 0's time at this rank's time t_s, on the line through two samples, or, if that is too steep,
 * a less steep one through the more exact sample; a constant offset if they were taken at the same
 * time. [P] */
double tutti_clock_convert(
    const tutti_clock_sample *first, const tutti_clock_sample *last, double t_s);

#endif
