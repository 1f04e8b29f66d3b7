/* One process of a user on this machine at a time, for work that two processes must not do at once. [A]
 *
 * StarPU's first start on a machine measures it and writes files under STARPU_HOME; another rank
 * that starts meanwhile reads them half written and ends with an assertion. So runners start StarPU
 * in turns. */
#ifndef TUTTI_PROCESS_LOCK_H
#define TUTTI_PROCESS_LOCK_H

/* Waits for the lock `name`, at most this long; then goes ahead without it, as it does where no
 * lock can be had (a warning says so). Returns what to hand to release. */
int tutti_process_lock_take(const char *name, double at_most_s);
void tutti_process_lock_release(int lock);

#endif
