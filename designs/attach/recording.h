/* A session's trace while it is recorded: what all threads of this rank do, and the file that all
 * ranks' spans come into. [M] */
#ifndef TUTTI_RECORDING_H
#define TUTTI_RECORDING_H

#include "designs/exchange/exchange.h"

typedef struct tutti_recording tutti_recording;

/* Begins to record; rank 0 takes the lock of the file. All ranks call it, with nothing in flight,
 * and return the same: the errors of tutti_trace_begin (attach.h), logged. */
tutti_status tutti_recording_open(
    tutti_exchange *exchange, const char *file, tutti_recording **recording);
/* Where spans of the main thread go; NULL for NULL. */
tutti_trace *tutti_recording_spans(const tutti_recording *recording);
/* Stops, and frees everything. Writes the file, for which all ranks call it with nothing in flight,
 * and return the same; not after a failure of the session, as ranks cannot meet any more. Accepts
 * NULL. */
tutti_status tutti_recording_close(tutti_recording *recording, tutti_status failure);

#endif
