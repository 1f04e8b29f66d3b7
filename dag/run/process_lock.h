/* Lets one process of a user on this machine work at a time, where two must not. [A]
 *
 * StarPU's first start on a machine measures it and writes files under STARPU_HOME; a rank that
 * starts meanwhile reads them half written and fails an assertion. So runners start StarPU in
 * turn. */
#ifndef TUTTI_PROCESS_LOCK_H
#define TUTTI_PROCESS_LOCK_H

/* Waits at most this long for the lock `name`, then goes ahead without it (with a warning), as it
 * does when the lock cannot be created. Returns the value to pass to release. */
int tutti_process_lock_take(const char *name, double at_most_s);
void tutti_process_lock_release(int lock);

#endif
