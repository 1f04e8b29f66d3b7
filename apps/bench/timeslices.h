/* Work that shares cores: steps of computation on StarPU's workers, each with a small allreduce
 * that the next step waits for. Threads: [M]. */
#ifndef TUTTI_BENCH_TIMESLICES_H
#define TUTTI_BENCH_TIMESLICES_H

#include "apps/session/session.h"

typedef struct tutti_timeslices {
    int alone, together; /* sections: a step without and with the allreduce */
} tutti_timeslices;

/* A step computes `products` products of 128x128 matrices. Starts them in an open session, whose
 * workers are idle until steps run; tutti_training_session_clear ends them. Errors as of the calls
 * it makes. */
tutti_status tutti_timeslices_start(
    tutti_training_session *session, int products, tutti_timeslices *timeslices);
/* Runs `steps` steps of a section, one after another; *seconds: from the first submission to the
 * last end. */
tutti_status tutti_timeslices_run(
    tutti_training_session *session, int section, int64_t steps, double timeout_s, double *seconds);

#endif
