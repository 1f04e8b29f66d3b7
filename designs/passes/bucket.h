/* Buckets: small gradients are summed together, because a collective has a cost of its own.
 *
 * Marks are fused in program order, which is the order in which the backward pass completes their
 * tensors: the same on every rank, so that buckets need no agreement. The gradients of a bucket lie
 * in one block of memory, where kernels write them and the collective sums them: nothing is copied.
 * A bucket is closed when the next gradient would make it larger than asked for, or when a node
 * uses one of its sums; a larger gradient is alone. Towards the end of a section buckets get smaller:
 * none holds more than half of what is left, unless that is less than 16 KiB. What comes last is on its
 * way alone, with nothing left to compute that hides it, and the next step waits for it first. Source
 * of the idea of buckets: Li et al. 2020, "PyTorch Distributed", arXiv:2006.15704, section 3.2.3. */
#ifndef TUTTI_BUCKET_H
#define TUTTI_BUCKET_H

#include "dag/graph/graph.h"

/* What a bucket holds when nobody says: a part of all that is summed in the graph, so that a bucket
 * can be on its way while the next is computed, between two bounds. [P] */
int64_t tutti_bucket_default_bytes(const tutti_graph *graph);

/* Fuses the marks of every section into buckets of at most this many bytes; 0 leaves every mark
 * alone. NOMEM. [M] */
tutti_status tutti_bucket_fuse(tutti_graph *graph, int64_t bytes);

#endif
