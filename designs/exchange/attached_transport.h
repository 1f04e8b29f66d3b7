/* TUTTI_TRANSPORT: what carries the messages of an attached program. */
#ifndef TUTTI_ATTACHED_TRANSPORT_H
#define TUTTI_ATTACHED_TRANSPORT_H

#include "dag/base/status.h"

struct tutti_transport;

/* The words of the variable, which programs with GPUs read, too: auto and nccl mean mpi here. [P] */
const char *tutti_attached_transport_choice(int i);

/* USAGE (logged): this word does not go with the algorithm. [P] */
tutti_status tutti_attached_transport_check(const char *word, const char *algorithm);

/* USAGE (logged): this algorithm or this topology (NULL: none) does not go with tutti_membership_run(), whose ranks do
 * without MPI, and whose number changes. [P] */
tutti_status tutti_attached_ranks_check(const char *algorithm, const char *topology);

/* tutti_exchange_options.choose_transport; ctx: such a word, the same on all ranks. USAGE (logged by rank 0), on all
 * ranks: shm, and the ranks are on several hosts. Errors of the transport. */
tutti_status tutti_attached_transport_open(
    void *ctx, struct tutti_transport **transport, int lanes, double timeout_s);

#endif
