/* Checks that the ranks are replicas: the same parameters, running statistics and momentum, bit for
 * bit. In a pipeline those of the ranks that have the same stage.
 *
 * Every rank hashes its tensors; one number per rank is exchanged. Only if these differ, the ranks
 * also exchange the hashes of all tensors, to find the first that differs.
 *
 * Cost: one pass over the tensors and an allgather of 8 bytes per rank; on a difference, another of
 * 8 bytes per tensor. Threads: [M], on every rank at the same point, with nothing submitted. */
#ifndef TUTTI_TRAIN_REPLICA_H
#define TUTTI_TRAIN_REPLICA_H

#include "apps/train/trainer.h"

/* MISMATCH on every rank if the ranks differ after `step` steps; rank 0 logs the ranks, the first
 * tensor and the hashes. NOMEM; TIMEOUT, COMM if the ranks could not be compared. */
tutti_status tutti_replica_check(const tutti_trainer *trainer, int64_t step);

/* Ranks first, first + every, ... below end. */
typedef struct tutti_replica_ranks {
    int first, end, every;
} tutti_replica_ranks;

/* Writes which of these ranks have which hash ("ranks 0, 2 and 3 have 0011223344556677, rank 1 has
 * 8899aabbccddeeff") into text; returns text. Names the first three hashes, and eight ranks of
 * each. [P] */
char *tutti_replica_describe(
    const tutti_replica_ranks *of, const uint64_t hash[], char *text, size_t size);

#endif
