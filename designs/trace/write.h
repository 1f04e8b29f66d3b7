/* Writes the spans that the ranks recorded to one file for Perfetto (ui.perfetto.dev) and Chrome
 * (chrome://tracing): their "Trace Event Format", with one event per line.
 *
 *   {"displayTimeUnit":"ms","otherData":{"format":1,...},"traceEvents":[
 *   {"ph":"M",...},
 *   {"ph":"X","pid":0,"tid":1,"cat":"backward","name":"...","ts":12.5,"dur":3.1,"args":{"step":4}},
 *   ...
 *   ]}
 *
 *   pid   the rank
 *   tid   0: main thread; 1 ... 899: workers; 900 ... 999: threads that read ahead;
 *         1000 * (lane + 1) + k: the k-th of the collectives in flight together on a lane
 *   cat   a kind of span (dag/run/trace.h), or "queued": a collective from ready to started
 *   ts    microseconds of rank 0's clock since recording began
 *   args  step; for a collective also sequence, lane, bytes, what, and ready and reserved (as ts)
 *
 * Threads: [M]. */
#ifndef TUTTI_TRACE_WRITE_H
#define TUTTI_TRACE_WRITE_H

#include "dag/base/file.h"
#include "dag/run/trace.h"
#include "designs/exchange/exchange.h"

#include <stdio.h>

enum { TUTTI_TRACE_FORMAT = 1, TUTTI_TRACE_READER_TID = 900, TUTTI_TRACE_LANE_TID = 1000 };

/* How to convert a rank's times. */
typedef struct tutti_trace_rank {
    int rank;
    const char *host;
    tutti_clock_sample before, after; /* of the rank's clock */
    double base_s;                    /* time 0 of the trace, on rank 0's clock */
    int64_t dropped;                  /* spans of all ranks that did not fit */
} tutti_trace_rank;

/* What the file records about the run. */
typedef struct tutti_trace_about {
    const char *design, *model, *algorithm;
    int lanes;
    int stages, micro_batches;     /* of a pipeline, where rank r has stage r mod stages; else 0 */
    int servers;                   /* of keys: the last ranks, which have no stage */
    /* Of a step's kernels: the images of a micro-batch, the largest; over how many ranks layers are divided; the size
     * of the net's images, and its classes. Zeroes: not known */
    int64_t images;
    int blocks, height, width, channels, classes;
    int shards; /* a strategy divides updates among ranks: they are of parts of their weights */
    int64_t first_step, last_step; /* recorded completely */
    /* of a step of rank 0 (tutti_run_counts, dag/run/run.h); zeroes: not known */
    int kernels, tasks, launches, graphs;
    int64_t graph_bytes;
} tutti_trace_about;

/* A rank's events, each as ",\n{...}". NOMEM. */
tutti_status tutti_trace_print(const tutti_trace *trace, const tutti_trace_rank *rank, FILE *out);

/* Gathers all ranks' spans on rank 0, which writes them to `place`. All ranks call it after
 * recording has stopped, and return the same. Fills in rank->base_s, host and dropped. IO (logged,
 * with the file's name), NOMEM, and errors of the exchange. */
tutti_status tutti_trace_save(tutti_exchange *exchange, const tutti_trace *trace,
    const tutti_trace_about *about, tutti_trace_rank *rank, const tutti_file_options *place);
/* Writes the spans of all ranks of a simulation, which have one clock that began at 0. IO, NOMEM. */
tutti_status tutti_trace_save_all(tutti_trace *const trace[], int ranks,
    const tutti_trace_about *about, const tutti_file_options *place);

#endif
