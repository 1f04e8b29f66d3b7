/* What a rank's threads do, as spans of time: kernels by worker, collectives, and what the main
 * thread waits for.
 *
 *   open -> { switch on; { step; submit }*; switch off } -> read -> close
 *
 * Each track is a block of spans with one writer at a time, so recording takes no lock and no
 * memory: a span costs two looks at the clock and a copy, together about 70 ns. A track
 * that is full drops what comes later and counts it. A recorder that is off, or NULL, costs a branch.
 *
 * Threads: [A], one writer a track. A reader sees every span that was complete before it looked. */
#ifndef TUTTI_TRACE_H
#define TUTTI_TRACE_H

#include "dag/base/status.h"
#include "dag/graph/graph.h"

#include <stdint.h>

/* X(kind, name). The first four are kernels; what they are follows from the node's op. */
#define TUTTI_SPAN_LIST(X)                                                                         \
    X(FORWARD, "forward")                                                                          \
    X(BACKWARD, "backward")                                                                        \
    X(SUM, "sum") /* of micro-batches, statistics, or values */                                    \
    X(UPDATE, "update")                                                                            \
    X(COPY, "copy")             /* a feed or a fetch */                                            \
    X(START, "start")           /* a worker hands a collective to its design */                    \
    X(COLLECTIVE, "collective") /* from its start to its end */                                    \
    X(WAIT, "wait")             /* the main thread waits */                                        \
    X(SUBMIT, "submit")         /* the main thread submits */

typedef enum tutti_span_kind {
#define TUTTI_SPAN_ENUM(kind, name) TUTTI_SPAN_##kind,
    TUTTI_SPAN_LIST(TUTTI_SPAN_ENUM)
#undef TUTTI_SPAN_ENUM
        TUTTI_SPAN_KINDS
} tutti_span_kind;

typedef struct tutti_span {
    const char *name; /* borrowed until the trace is closed */
    tutti_span_kind kind;
    int64_t step;          /* in which it was submitted; 0: in none */
    double begin_s, end_s; /* of tutti_clock_s */
    /* Of a collective. */
    int lane;
    const char *what; /* "allreduce" */
    int64_t sequence, bytes;
    double reserved_s, ready_s; /* submitted; its buffers were ready */
} tutti_span;

/* Who writes to a track: the main thread; whoever may call the communicator; a worker (and those
 * after it the others). */
enum { TUTTI_TRACK_MAIN, TUTTI_TRACK_COLLECTIVES, TUTTI_TRACK_WORKER };

typedef struct tutti_trace tutti_trace;

/* Room for so many spans a track; memory is touched as it fills. Starts off. NOMEM. */
tutti_status tutti_trace_open(int workers, int64_t room, tutti_trace **trace);
void tutti_trace_close(tutti_trace *trace); /* nobody records any more; accepts NULL */

/* Whether spans that begin now are recorded. [M] */
void tutti_trace_switch(tutti_trace *trace, int on);
/* The step that what is submitted from now on belongs to, from 1; 0: none. NULL is fine. [M] */
void tutti_trace_set_step(tutti_trace *trace, int64_t step);
int64_t tutti_trace_step(const tutti_trace *trace); /* 0 for NULL */

/* Whether spans are recorded now; 0 for NULL. */
int tutti_trace_on(const tutti_trace *trace);
/* The time, for a span that begins now; 0 where the recorder is NULL or off: then nothing need be
 * added. */
double tutti_trace_begin(const tutti_trace *trace);
/* Adds a span to a track, if it has a begin; drops it where the track is full. */
void tutti_trace_add(tutti_trace *trace, int track, const tutti_span *span);
/* A span that ends now: of a worker, of the main thread. Nothing where begin_s is 0. */
void tutti_trace_task(tutti_trace *trace, int worker, tutti_span_kind kind, const char *name,
    int64_t step, double begin_s);
void tutti_trace_main(tutti_trace *trace, tutti_span_kind kind, const char *name, double begin_s);

/* What kind of span a node makes, and its name: "backward". [P] */
tutti_span_kind tutti_span_kind_of(const tutti_node *node);
const char *tutti_span_kind_name(int kind); /* NULL: no such kind */

int tutti_trace_workers(const tutti_trace *trace);
int64_t tutti_trace_count(const tutti_trace *trace, int track);
const tutti_span *tutti_trace_get(const tutti_trace *trace, int track, int64_t i);
/* How many spans were dropped, and the first step that lost one (0: none). */
int64_t tutti_trace_dropped(const tutti_trace *trace, int64_t *first_step);

#endif
