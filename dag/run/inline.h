/* The runner that needs nothing: see run.h. Nodes run inside wait, on its thread; seed 0 is program
 * order. */
#ifndef TUTTI_INLINE_H
#define TUTTI_INLINE_H

#include "dag/run/run.h"

extern const tutti_runner tutti_runner_inline;

/* For explorers of schedules, instead of wait: the ids of the instances that may run now, ascending
 * (an id counts submissions), at most `most` of them; returns how many. None while every worker is
 * held by a collective. [M] */
int tutti_inline_ready(tutti_run *run, int64_t ids[], int most);
/* Runs one of them, on the calling thread. Its failure is what the next wait returns. [M] */
void tutti_inline_run(tutti_run *run, int64_t id);

#endif
