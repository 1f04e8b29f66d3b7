/* What a rank's threads do, as spans of time: kernels by worker, collectives, the main thread's
 * waits, and what reads ahead.
 *
 *   open -> { switch on; { step; submit }*; switch off } -> read -> close
 *
 * Each track is a block of spans with one writer at a time, so recording takes no lock and
 * allocates nothing: a span costs two clock reads and a copy, together about 70 ns. A full track
 * drops later spans and counts them. A recorder that is off, or NULL, costs a branch.
 *
 * Threads: [A], one writer per track. A reader sees every span that was complete before it
 * looked. */
#ifndef TUTTI_TRACE_H
#define TUTTI_TRACE_H

#include "dag/base/status.h"
#include "dag/graph/graph.h"

#include <stdint.h>

/* X(kind, name). The first four are kernels: the parts of a step (dag/kernels/kernel.h).
 * Those up to TASK compute. */
#define TUTTI_SPAN_LIST(X)                                                                         \
    X(FORWARD, "forward")                                                                          \
    X(BACKWARD, "backward")                                                                        \
    X(SUM, "sum") /* of micro-batches, statistics, or values */                                    \
    X(UPDATE, "update")                                                                            \
    X(TASK, "task")             /* of a program that attaches */                                   \
    X(COPY, "copy")             /* a feed or a fetch */                                            \
    X(START, "start")           /* a worker hands a collective to its design */                    \
    X(COLLECTIVE, "collective") /* from its start to its end */                                    \
    X(WAIT, "wait")             /* the main thread waits */                                        \
    X(SUBMIT, "submit")         /* the main thread submits */                                      \
    X(READ, "read")             /* a thread makes images of a batch */

typedef enum tutti_span_kind {
#define TUTTI_SPAN_ENUM(kind, name) TUTTI_SPAN_##kind,
    TUTTI_SPAN_LIST(TUTTI_SPAN_ENUM)
#undef TUTTI_SPAN_ENUM
        TUTTI_SPAN_KINDS
} tutti_span_kind;

typedef struct tutti_span {
    const char *name; /* borrowed until the trace is closed */
    tutti_span_kind kind;
    int64_t step;          /* in which it was submitted; 0: outside any step */
    double begin_s, end_s; /* of tutti_clock_s */
    /* For collectives only. */
    int lane;
    const char *what; /* "allreduce" */
    int64_t sequence, bytes;
    double reserved_s, ready_s; /* when it was submitted; when its buffers were ready */
} tutti_span;

/* Who writes to a track: the main thread; the thread that may call the communicator; the first worker. The
 * others follow it, and then the readers. */
enum { TUTTI_TRACK_MAIN, TUTTI_TRACK_COLLECTIVES, TUTTI_TRACK_WORKER };

typedef struct tutti_trace tutti_trace;

/* Room for this many spans per track; memory is touched as it fills. readers: threads that read
 * data ahead. Starts off. NOMEM. */
tutti_status tutti_trace_open(int workers, int readers, int64_t room, tutti_trace **trace);
void tutti_trace_close(tutti_trace *trace); /* no thread may still record; accepts NULL */

/* Starts or stops recording of the spans that begin from now on. [M] */
void tutti_trace_switch(tutti_trace *trace, int on);
/* Sets the step of what is submitted from now on, from 1; 0: no step. Accepts NULL. [M] */
void tutti_trace_set_step(tutti_trace *trace, int64_t step);
int64_t tutti_trace_step(const tutti_trace *trace); /* 0 for NULL */

/* Whether spans are recorded now; 0 for NULL. */
int tutti_trace_on(const tutti_trace *trace);
/* The time, for a span that begins now; 0 when the recorder is NULL or off: then nothing need be
 * added. */
double tutti_trace_now(const tutti_trace *trace);
/* Adds a span to a track if its begin_s is not 0; a full track drops it. */
void tutti_trace_add(tutti_trace *trace, int track, const tutti_span *span);
/* Add a span that ends now, of a worker or of the main thread; nothing if begin_s is 0. */
void tutti_trace_task(tutti_trace *trace, int worker, tutti_span_kind kind, const char *name,
    int64_t step, double begin_s);
void tutti_trace_main(tutti_trace *trace, tutti_span_kind kind, const char *name, double begin_s);

/* Adds a span of a reader, for a step from 1 on. */
void tutti_trace_read(
    tutti_trace *trace, int reader, const char *name, int64_t step, double begin_s, double end_s);

/* The kind of span that a kernel or collective node makes, and a kind's name: "backward". [P] */
tutti_span_kind tutti_span_kind_of(const tutti_node *node);
const char *tutti_span_kind_name(int kind); /* NULL: no such kind */

int tutti_trace_workers(const tutti_trace *trace);
int tutti_trace_readers(const tutti_trace *trace);
int64_t tutti_trace_count(const tutti_trace *trace, int track);
const tutti_span *tutti_trace_get(const tutti_trace *trace, int track, int64_t i);
/* How many spans were dropped, and the first step that lost one (0: none). */
int64_t tutti_trace_dropped(const tutti_trace *trace, int64_t *first_step);

#endif
