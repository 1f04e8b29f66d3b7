/* Prints a collective as a table: ranks across, steps down.
 *
 *   >1:0+3     sends 3 elements, from OUT[0] on, to rank 1
 *   <2:s4+3    receives 3 elements from rank 2 into SCRATCH[4...]
 *   0+3+=s4    combines OUT[0...] with SCRATCH[4...]
 *   0+3=s4+    the same with the operands the other way round
 *   0+3=i0     copies IN[0...] to OUT[0...]
 *   0+3+=e0    combines OUT[0...] with EXTRA[0...]
 *   w0+3=i0    copies IN[0...] to WIDE[0...], where nothing is rounded
 *   w0+3+=s4   combines WIDE[0...] with SCRATCH[4...]
 *   0+3=w0     rounds WIDE[0...] into OUT[0...]
 *
 * A line holds the messages that can pass at the same time, and the local steps on them. */
#ifndef TUTTI_SCHED_PRINT_H
#define TUTTI_SCHED_PRINT_H

#include "collectives/sched/sched.h"

#include <stdio.h>

/* Errors as in walk.h; INVAL: P < 1; IO when the stream fails. [A] */
tutti_status tutti_sched_print(const tutti_sched *const ranks[], int P, FILE *out);

#endif
