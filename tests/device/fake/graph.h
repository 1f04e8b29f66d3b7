/* CUDA graphs: captures, the operations that they record, and launches. All under the fake's lock.
 *
 * While a stream is captured, what is put on it is recorded, with a copy of its parameters, and does not run. A
 * launch puts a copy of each operation on its stream, in order: they are ordered with other streams, and compared
 * with what touches the same bytes, like operations that were put there one by one.
 *
 * What CUDA forbids during a capture is a misuse here, and so is what Tutti does not do: a second capture by a
 * thread, events, host functions and other graphs in a capture, and a launch that no stream, event or wait of the
 * host orders behind the launch before it. */
#ifndef TUTTI_DEVICE_GRAPH_H
#define TUTTI_DEVICE_GRAPH_H

#include "tests/device/fake/queue.h"

/* A misuse where the calling thread captures a stream: CUDA does not let it call this. */
void graph_forbid(const char *call);
/* The same where any thread captures a stream of the device. */
void graph_forbid_device(const char *call, int device);
/* A misuse where this stream is captured. */
void graph_forbid_stream(const char *call, const fake_stream *s);

/* What a launch does beside running the operation. */
typedef struct graph_effect {
    fake_count
        count; /* that it increases by 1, and that of bytes behind it by `bytes`; FAKE_COUNTS: none */
    uint64_t bytes;
    void (*before)(void *arg); /* called when it is put on its stream; NULL: nothing */
} graph_effect;
/* Takes the work, which has `bytes`; the stream is captured. effect: NULL, or copied. An
 * error, where the capture is invalid. */
cudaError_t graph_record(fake_stream *s, const fake_work *work, const graph_effect *effect);

/* A stream whose capture has not ended; NULL. */
const fake_stream *graph_unended(void);

#endif
