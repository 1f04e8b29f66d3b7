/* What kernels took in a run, from its trace (apps/trace/read.h): by name, whatever the micro-batch, the median. */
#ifndef TUTTI_SIM_TRACE_TIMES_H
#define TUTTI_SIM_TRACE_TIMES_H

#include "apps/models/model.h"

#include <stdint.h>

typedef struct tutti_kernel_time {
    uint64_t key; /* tutti_trace_times_key of its name, or tutti_graph_kernel_hash */
    double time_s;
} tutti_kernel_time;

typedef struct tutti_trace_times {
    char model[64];
    int64_t images; /* of a micro-batch */
    tutti_model_input input;
    int on_gpu, shards; /* shards: updates are of parts of their weights (tutti_strategy.shards) */
    int blocks;     /* over how many ranks layers were divided; 1: none was */
    int kernels;
    tutti_kernel_time *time; /* [kernels] by key; the caller's to free */
} tutti_trace_times;

/* FORMAT (logged): not a trace, or one that does not say of how many images its kernels are, or without kernels. IO,
 * NOMEM. */
tutti_status tutti_trace_times_read(const char *path, tutti_trace_times *times);
/* Of a kernel's name, without its micro-batch. [P] */
uint64_t tutti_trace_times_key(const char *name);

#endif
