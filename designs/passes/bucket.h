/* Buckets: small gradients are summed together, because every collective has a fixed cost.
 *
 * Marks are fused in program order, the order in which the backward pass completes their tensors. It is the same on
 * every rank, so buckets need no agreement. Fused are sums of the same verb, group and priority: ALLREDUCE, and a
 * REDUCE_SCATTER that an ALLGATHER follows (tutti_mark.follows); the gathers that follow the sums of a bucket are
 * fused, too. An ALLGATHER of rows (tutti_mark.rows) is fused into a tensor with all columns, whose writers follow
 * each other. A verb over a group has one open bucket per element type. The gradients of a bucket lie in one block of
 * memory, where kernels write them and the collective sums them: nothing is copied.
 *
 * A bucket is closed when the next gradient would exceed the given size, or when a node uses one of its sums; a
 * larger gradient has its own bucket. Buckets get smaller towards the end of a section: each holds at most half of
 * what is left, or 16 KiB. No computation is left to hide the last transfer, and the next step needs it first. Source
 * of the idea of buckets: Li et al. 2020, "PyTorch Distributed", arXiv:2006.15704, section 3.2.3. */
#ifndef TUTTI_BUCKET_H
#define TUTTI_BUCKET_H

#include "dag/graph/graph.h"

/* The default size of a bucket: a fraction of all that the graph sums, so that one bucket can be
 * transferred while the next is computed, between two bounds. [P] */
int64_t tutti_bucket_default_bytes(const tutti_graph *graph);

/* Fuses the marks of every section into buckets of at most this many bytes; 0: one mark per bucket.
 * NOMEM. [M] */
tutti_status tutti_bucket_fuse(tutti_graph *graph, int64_t bytes);

#endif
