/* Processes of this host, as /proc shows them (proc(5)). [A] */
#ifndef TUTTI_PROCESS_H
#define TUTTI_PROCESS_H

#include <stdint.h>

enum { TUTTI_PROCESS_BOOT = 64 };

/* A text that changes each time the host boots and that no other host has; "" where it is
 * unknown. */
void tutti_process_boot(char boot[TUTTI_PROCESS_BOOT]);
/* A process's state (a letter) and its start time in ticks since boot. Returns 0, and sets nothing,
 * when there is no such process. Either may be NULL. */
int tutti_process_look(int64_t pid, char *state, int64_t *began);
/* A process's parent; 0 when there is no such process, or this one cannot see its parent. */
int64_t tutti_process_parent(int64_t pid);
/* In the same way its session (setsid(2)), and the processor time that it has used, in ticks. */
int64_t tutti_process_session(int64_t pid);
int64_t tutti_process_used(int64_t pid);
/* Whether all threads of a process wait for an event: none computes, none waits for a core or for a
 * disk. */
int tutti_process_sleeps(int64_t pid);
/* Calls see for each process of this host that this one can see. */
void tutti_process_each(void (*see)(void *ctx, int64_t pid), void *ctx);

#endif
