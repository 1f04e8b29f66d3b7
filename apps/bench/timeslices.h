/* Work that shares cores: steps of computation on StarPU's workers, each with a small allreduce
 * that the next step waits for. Threads: [M]. */
#ifndef TUTTI_BENCH_TIMESLICES_H
#define TUTTI_BENCH_TIMESLICES_H

#include "designs/exchange/exchange.h"

typedef struct tutti_timeslices {
    tutti_graph *graph;
    const tutti_runner *runner;
    tutti_run *run;
    int alone, together; /* sections: a step without and with the allreduce */
} tutti_timeslices;

/* A step computes `products` products of 128x128 matrices. Opens the runner over the exchange with
 * `workers` workers, which are idle until steps run. Errors as of the calls it makes. */
tutti_status tutti_timeslices_open(
    tutti_exchange *exchange, int products, int workers, tutti_timeslices *timeslices);
/* Runs `steps` steps of a section, one after another; *seconds: from the first submission to the
 * last end. */
tutti_status tutti_timeslices_run(
    tutti_timeslices *timeslices, int section, int64_t steps, double timeout_s, double *seconds);
/* Accepts one that is not open. */
void tutti_timeslices_close(tutti_timeslices *timeslices);

#endif
