/* What the code of designs/kv stands on, in one thread: data and tasks as StarPU has them, a
 * client's collectives, messages and active messages between ranks. Its functions have the names of
 * dag/run/datum.h, designs/attach and designs/kv/connections.h, and are linked before libcore's. So the
 * ledgers, servers and clients of a world (tests/deadlock/kv_world.h) are the real ones.
 *
 * Nothing happens by itself: what has been submitted is an *op*, and whoever explores chooses which
 * op runs next.
 *
 *   - A task runs when no op before it on its data is left, unless both only read.
 *   - The k-th send on an edge meets the k-th receive, when both may run. In one mpirun data of fewer than
 *     GROUND_EAGER elements may leave before that, as MPI lets small messages: then the send has ended.
 *   - Collectives of a group start in the order of their calls, on each rank one at a time: one runs
 *     when it may on all ranks of the group, and none before it in the group is left on any.
 *   - Active messages from one rank to another arrive in their order.
 *
 * Between jobs a message may go once both ends have begun it: when its data are here, in the order of
 * designs/kv/message_order.h, which is the real code's. What a rank that is dead should send or take fails on the
 * other side; what one that has crashed should, once that side has noticed. */
#ifndef TUTTI_DEADLOCK_KV_GROUND_H
#define TUTTI_DEADLOCK_KV_GROUND_H

#include "designs/kv/kv_parts.h"

enum { GROUND_RANKS = 16, GROUND_EAGER = 4 };

typedef enum ground_kind {
    GROUND_TASK,
    GROUND_WHEN, /* tells the rank that what was submitted on the data has ended */
    GROUND_SEND,
    GROUND_RECV,
    GROUND_SUM, /* a collective */
    GROUND_SPREAD
} ground_kind;

typedef struct ground ground;
typedef struct ground_op ground_op;

/* A rank's end of a group, whose ranks are neighbours; on all of them it has the same number. */
typedef struct ground_group {
    tutti_session session; /* first: what designs/kv has of it */
    int number, size, first;
} ground_group;

/* jobs: ranks are connected as jobs are, not by one mpirun. */
tutti_status ground_open(int ranks, int jobs, ground **opened);
void ground_close(ground *g); /* accepts NULL */
/* From here on calls are of this rank, on this ground. */
void ground_enter(ground *g, int rank);
/* How ranks write, send and receive. */
extern const tutti_kv_transport ground_transport;

/* The rank is gone: what it had submitted will not run, what it has written arrives. */
void ground_kill(ground *g, int rank);
void ground_revive(ground *g, int rank);
/* The same, but what is on its way from it arrives, or does not: until the other side breaks with it, where receives
 * with a spare are put back, and other messages fail. Then it parts from it: what was put back turns to the spare. */
void ground_crash(ground *g, int rank);
int ground_may_lose(const ground *g, int rank, int peer); /* it has not parted from it */
int ground_may_break(const ground *g, int rank, int peer);
void ground_break(ground *g, int rank, int peer);
int ground_may_part(const ground *g, int rank, int peer);
void ground_part(ground *g, int rank, int peer);

/* The ops that may run now, in no order that means anything, at most `most`. A send is listed with
 * its receive, as the receive; a collective once. */
int ground_ready(ground *g, ground_op *op[], int most);
ground_kind ground_kind_of(const ground_op *op);
int ground_rank_of(const ground_op *op);
int ground_peer_of(const ground_op *op); /* of a receive or send */
void ground_run(ground *g, ground_op *op);
/* How many ops of a rank are left, but for sends whose data have left. */
int ground_left(const ground *g, int rank);

/* Whether an active message waits between two ranks, the second of which listens. */
int ground_has_message(const ground *g, int from, int to);
void ground_deliver(ground *g, int from, int to);

/* Where the elements of float32 data are. */
float *ground_memory(tutti_handle data);
/* Whether they were made from what has failed to come, or have yet to be made. */
int ground_is_lost(tutti_handle data);
/* Says how many edges there may be. */
tutti_exchange *ground_exchange(const ground *g);

/* What is on its way, and what it holds: ops that are left, and active messages. */
uint64_t ground_state(const ground *g);
uint64_t ground_hash(uint64_t state, const void *bytes, size_t size);
uint64_t ground_hash_data(uint64_t state, tutti_handle data);
/* "": ranks agree so far; else a sentence: two that meet have different lengths or roots. */
const char *ground_mismatch(const ground *g);

#endif
