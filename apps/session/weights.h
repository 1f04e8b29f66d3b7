/* The tensors that training changes: the model's parameters in net order, then its state (running
 * statistics, momentum). Hashes and checkpoints have them in this order. Threads: [M]. */
#ifndef TUTTI_WEIGHTS_H
#define TUTTI_WEIGHTS_H

#include "apps/session/session.h"

/* How many there are, of a session that is BUILT of a model; the graph's number of the i-th. [P] */
int tutti_weights_count(const tutti_training_session *session);
int tutti_weights_tensor(const tutti_training_session *session, int i);

/* What to do with one of them; data is its memory, with its value. A failure ends the walk. */
typedef tutti_status (*tutti_weights_visit)(void *ctx, const tutti_tensor *tensor, void *data);

/* Visits the first `count` of them, in order, one at a time, with nothing submitted. mode: READ, or
 * READWRITE where the visit writes. Errors: the visit's, and those of tutti_runner.acquire. */
tutti_status tutti_weights_walk(const tutti_training_session *session, int count, tutti_mode mode,
    tutti_weights_visit visit, void *ctx);

#endif
