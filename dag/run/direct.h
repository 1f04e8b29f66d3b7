/* Kernels that write a tensor directly into the memory of the rank that receives it (dag/graph/sent.h: which ones
 * may), so that nothing is copied when it is sent. They do so where the other rank has posted its receive by then
 * (hooks.claim). No kernel waits for that: if it has not, the kernels write to the tensor's own memory, and the
 * message is copied.
 *
 *   submit a section -> (numbered: its messages) -> begin -> kernel -> end, for each of these kernels
 *
 * All calls accept NULL. */
#ifndef TUTTI_RUN_DIRECT_H
#define TUTTI_RUN_DIRECT_H

#include "dag/run/binding.h"
#include "dag/run/run.h"

typedef struct tutti_direct tutti_direct;

/* Finds these kernels; both arguments are borrowed. *direct NULL: there are none, or nothing can be claimed. NOMEM. */
tutti_status tutti_direct_open(
    const tutti_binding *binding, const tutti_run_hooks *hooks, tutti_direct **direct);
void tutti_direct_close(tutti_direct *direct);

/* The turn of a section that is submitted now. [M] */
int64_t tutti_direct_submit(tutti_direct *direct, int section);
/* A collective node has been submitted with this turn, under this sequence number. [M] */
void tutti_direct_numbered(tutti_direct *direct, int node, int64_t turn, int64_t sequence);
/* Before and after a kernel node runs, also if it fails. begin may change one of its buffers. [A] */
void tutti_direct_begin(tutti_direct *direct, int node, int64_t turn, void *buf[]);
void tutti_direct_end(tutti_direct *direct, int node, int64_t turn);

#endif
