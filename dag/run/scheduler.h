/* A StarPU scheduling policy for shared cores: a queue by priority for each kind of worker (CPU, GPU), and
 * idle workers that sleep.
 *
 * StarPU's own policies poll when idle, which takes the core from the communication thread when
 * there are as many ranks as cores. Here an idle worker waits on a condition variable that a push
 * signals, for at most a millisecond at a time (StarPU wants its workers back now and then). Among
 * ready tasks the highest priority goes first; among equals, the one pushed first. A worker takes the
 * first that it can run; a push may wake another worker, and then the task waits for up to that
 * millisecond. A GPU's worker sleeps less: not at all while something runs there. */
#ifndef TUTTI_SCHEDULER_H
#define TUTTI_SCHEDULER_H

struct starpu_sched_policy;

/* StarPU keeps a pointer to it; one StarPU per process, one policy. */
extern struct starpu_sched_policy tutti_scheduler;

#endif
