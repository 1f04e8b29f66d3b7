/* Lets one process of a user on this machine work at a time, where two must not. [A]
 *
 * StarPU's first start on a machine measures it, every GPU of it too, and writes files under STARPU_HOME;
 * a rank that starts meanwhile reads them half written, fails an assertion of StarPU's and is ended by
 * signal 6. So runners start StarPU in turn, and none goes ahead because its turn is late. */
#ifndef TUTTI_PROCESS_LOCK_H
#define TUTTI_PROCESS_LOCK_H

#include "dag/base/status.h"

/* Waits for the lock `name`, which is for `what` ("StarPU's start"); shared: with processes that share it, and with
 * no other. TIMEOUT (logged): other processes have had it for at_most_s. Where no lock can be had at all, goes
 * ahead without it, with a warning. *lock is for release; -1 when there is none. */
tutti_status tutti_process_lock_take(
    const char *name, const char *what, int shared, double at_most_s, int *lock);
void tutti_process_lock_release(int lock);

#endif
