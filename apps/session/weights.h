/* The tensors that training changes: the model's parameters in net order, then its state (running
 * statistics, momentum). Hashes and checkpoints have them in this order. In a pipeline each rank
 * holds those of its own stage, of a divided layer its block, with a strategy that shards them a
 * part of what the update rule keeps, and with a codec what it has not sent itself; a server has its
 * keys' parameters, as workers do, and alone what the update rule keeps for them. The list is that of the
 * whole model, on every rank. Threads: [M]. */
#ifndef TUTTI_WEIGHTS_H
#define TUTTI_WEIGHTS_H

#include "apps/session/session.h"

/* How many there are, of a session that is BUILT of a model; how many of these are parameters. [P] */
int tutti_weights_count(const tutti_training_session *session);
int tutti_weights_parameters(const tutti_training_session *session);
/* The i-th; the graph's number of it, or -1 if this rank has not all of it; the stage that has it. [P] */
const tutti_tensor *tutti_weights_get(const tutti_training_session *session, int i);
int tutti_weights_tensor(const tutti_training_session *session, int i);
int tutti_weights_stage(const tutti_training_session *session, int i);
/* Whether it is of a layer of which each rank has a block; the graph's number of this rank's block, or
 * -1 if it has not all of that, either. [P] */
int tutti_weights_is_divided(const tutti_training_session *session, int i);
int tutti_weights_block(const tutti_training_session *session, int i);

/* What to do with one of them; data is its memory, with its value. A failure ends the walk. */
typedef tutti_status (*tutti_weights_visit)(void *ctx, const tutti_tensor *tensor, void *data);

/* Visits those of the first `count` that this rank has whole, in order, one at a time, with nothing
 * submitted. mode: READ, or READWRITE where the visit writes. Errors: the visit's, and those of
 * tutti_runner.acquire. */
tutti_status tutti_weights_walk(const tutti_training_session *session, int count, tutti_mode mode,
    tutti_weights_visit visit, void *ctx);

/* Visits the first `count` on rank 0, in order, wherever they are; what other ranks have comes as a
 * copy. All ranks call it, with nothing submitted. A visit that fails does not keep the others from
 * what follows; there is one more of each tensor than the largest in memory. NOMEM, those of the
 * walk, and of tutti_exchange_call. */
tutti_status tutti_weights_collect(
    const tutti_training_session *session, int count, tutti_weights_visit visit, void *ctx);

/* Visits the first `count` tensors on every rank, in order. A tensor of which ranks have parts is put together first,
 * so if session->whole is not NULL, all ranks call it. Not with stages, divided layers or servers; nothing may be
 * submitted. Errors as above. */
tutti_status tutti_weights_gather(
    const tutti_training_session *session, int count, tutti_weights_visit visit, void *ctx);

/* The other way: on rank 0 `fill` writes each tensor, or leaves it (*filled: 0) as all have it already;
 * those that have the tensor get the value. All ranks call it; `fill` is used on rank 0. A fill that
 * fails ends it on all ranks, with the same status. */
typedef tutti_status (*tutti_weights_fill)(
    void *ctx, const tutti_tensor *tensor, void *data, int *filled);
tutti_status tutti_weights_spread(
    const tutti_training_session *session, tutti_weights_fill fill, void *ctx);

#endif
