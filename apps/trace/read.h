/* Reads a trace back; designs/trace/write.h describes the file.
 *
 * The file is read line by line, so that only its spans take memory. Every line is checked; a file
 * that is not a complete trace of Tutti is refused with its name, the line and the reason. Threads:
 * [M]. */
#ifndef TUTTI_TRACE_READ_H
#define TUTTI_TRACE_READ_H

#include "dag/base/status.h"
#include "dag/run/trace.h"

#include <stdint.h>

/* Times in milliseconds of the trace. */
typedef struct tutti_event {
    const char *name;
    tutti_span_kind kind;
    int rank;
    int row; /* a worker or reader; for a collective, the row in its lane; 0 for the main thread */
    int lane;
    int64_t step; /* 0: none */
    double begin_ms, end_ms;
    double ready_ms; /* of a collective */
    int64_t sequence, bytes;
} tutti_event;

typedef struct tutti_timeline {
    const char *path; /* borrowed */
    const char *design, *model;
    int ranks, lanes;
    int stages, micro_batches; /* of a pipeline; 1 and 0: there is none */
    /* Of what kernels are: the images of a micro-batch, over how many ranks layers are divided, and the images and
     * classes of the net. Zeroes: not said */
    int64_t images;
    int blocks, height, width, channels, classes;
    int shards;                /* updates are of parts of their weights */
    int staged;                /* the first ranks, which have stages; behind them are servers */
    int *workers;              /* [ranks] */
    int64_t first_step, last_step;
    /* a step of rank 0: kernels, tasks, what was launched on a GPU, and graphs; zeroes: not said */
    int64_t kernels, tasks, launches, graphs, graph_bytes;
    int64_t dropped;
    int64_t events;
    tutti_event *event; /* by rank, then by begin */
    int64_t *of_rank;   /* [ranks + 1]: index of a rank's first event */
    void *names;        /* owns the text */
} tutti_timeline;

/* IO: cannot be read; FORMAT: not a trace, or an incomplete one; NOMEM. All logged. */
tutti_status tutti_timeline_read(const char *path, tutti_timeline *timeline);
void tutti_timeline_free(tutti_timeline *timeline);

/* Whether spans of this kind are tasks that compute on a worker. [P] */
static inline int tutti_span_computes(tutti_span_kind kind)
{
    return kind <= TUTTI_SPAN_TASK;
}

#endif
