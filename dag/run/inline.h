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

#endif
