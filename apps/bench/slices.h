/* Work that shares cores: steps of computation on StarPU's workers, each with a small allreduce that
 * the next one waits for. Threads: [M]. */
#ifndef TUTTI_BENCH_SLICES_H
#define TUTTI_BENCH_SLICES_H

#include "designs/exchange/exchange.h"

typedef struct tutti_slices {
    tutti_graph *graph;
    const tutti_runner *runner;
    tutti_run *run;
    int alone, together; /* sections: a step without and with its allreduce */
} tutti_slices;

/* A step computes `products` products of 128x128 matrices. Opens the runner over the exchange, with
 * so many workers, which are idle until steps are run. Errors as of the calls it makes. */
tutti_status tutti_slices_open(
    tutti_exchange *exchange, int products, int workers, tutti_slices *slices);
/* Runs so many steps of a section, each after the one before; *seconds: from the first submission to
 * the last end. */
tutti_status tutti_slices_run(
    tutti_slices *slices, int section, int64_t steps, double timeout_s, double *seconds);
void tutti_slices_close(tutti_slices *slices); /* accepts one that is not open */

#endif
