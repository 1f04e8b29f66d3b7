/* Whether the ranks are replicas: the same parameters, running statistics and momentum, bit for bit.
 *
 * Every rank hashes its tensors; one number a rank is exchanged. Only when those differ are the
 * hashes of all tensors exchanged, too, to find the first one that is not the same everywhere.
 *
 * Cost: one pass over the tensors and an allgather of 8 bytes a rank; where they differ another of
 * 8 bytes a tensor. Threads: [M], on every rank at the same point, with nothing submitted. */
#ifndef TUTTI_TRAIN_REPLICA_H
#define TUTTI_TRAIN_REPLICA_H

#include "apps/train/trainer.h"

/* MISMATCH on every rank when the ranks differ after `step` steps; rank 0 logs the ranks, the first
 * tensor and the hashes. NOMEM; TIMEOUT, COMM when the ranks could not be compared. */
tutti_status tutti_replica_check(const tutti_trainer *trainer, int64_t step);

/* "ranks 0, 2 and 3 have 0011223344556677, rank 1 has 8899aabbccddeeff": who has which hash, into
 * text; returns text. The first three hashes and eight ranks of each are named. [P] */
char *tutti_replica_describe(int ranks, const uint64_t hash[], char *text, size_t size);

#endif
