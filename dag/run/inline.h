/* The runner without StarPU (see run.h). Nodes run inside wait, on its thread; seed 0 means program
 * order. */
#ifndef TUTTI_INLINE_H
#define TUTTI_INLINE_H

#include "dag/run/run.h"

extern const tutti_runner tutti_runner_inline;

/* For schedule explorers, instead of wait: the ids of the instances that may run now (an id counts
 * submissions), ascending, at most `most`; returns how many. None while collectives hold every
 * worker. [M] */
int tutti_inline_ready(tutti_run *run, int64_t ids[], int most);
/* Runs one of them on the calling thread. The next wait returns its failure. [M] */
void tutti_inline_run(tutti_run *run, int64_t id);
/* The node of one that may run now; -1: it is a feed, a fetch or a region, or may not run. [M] */
int tutti_inline_node(tutti_run *run, int64_t id);
/* How often an instance has ended or become ready: while it is the same, the calls above find the same. [M] */
int64_t tutti_inline_changes(const tutti_run *run);
/* Whether all that was submitted up to a point has ended; *failure: the first of it. [M] */
int tutti_inline_reached(tutti_run *run, int64_t point, tutti_status *failure);

#endif
