/* The core of the communication thread.
 *
 *   "none"  the system chooses where the thread runs
 *   "auto"  an otherwise unused core, if the ranks of this host can spare one each. If mpirun has given each rank
 *           separate cores, each rank needs one more than its workers; if ranks share the same cores, there must be
 *           one for every thread of all of them. The last cores are taken. Else "none"
 *   "3"     processor 3, which the rank must be allowed to use
 *
 * Only the communication thread is bound. If a worker runs on its core, the system moves that
 * worker when the thread wakes, because another core is free. */
#ifndef TUTTI_COMM_CORE_H
#define TUTTI_COMM_CORE_H

#include "collectives/boot.h"
#include "dag/base/cpus.h"

/* Checks the setting for this rank; NULL means "none". USAGE (logged, with the setting's name, such as "comm_core"):
 * an unknown word, or a processor that this thread may not use. [A] */
tutti_status tutti_comm_core_check(const char *name, const char *core);
/* The choice of "auto" for rank `rank` of the `ranks` on a host, which may use cpus[0 ... ranks)
 * and have `workers` workers each: a processor, or -1. [P] */
int tutti_comm_core_spare(const tutti_cpus cpus[], int ranks, int rank, int workers);
/* Binds the calling thread, after check; a failure to bind is only a warning. All ranks of boot
 * call it, whatever their settings. *cpu: the processor, or -1. COMM, NOMEM (logged). */
tutti_status tutti_comm_core_bind(const char *core, const tutti_boot *boot, int workers, int *cpu);

#endif
