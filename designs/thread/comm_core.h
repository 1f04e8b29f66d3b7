/* The core of the communication thread.
 *
 *   "none"  the thread runs where the system puts it
 *   "auto"  a core that is nobody else's, if the ranks of this host can spare one each: where mpirun
 *           has given a rank cores of its own, one beyond its workers; where ranks share the same
 *           cores, one for every thread of them all. The last ones are taken. Else as "none"
 *   "3"     processor 3, one of those that the rank may use
 *
 * Only the communication thread is bound; a worker that happens to be there is moved by the system
 * when the thread wakes, as there is a core free. */
#ifndef TUTTI_COMM_CORE_H
#define TUTTI_COMM_CORE_H

#include "collectives/boot.h"
#include "dag/base/cpus.h"

/* Whether this rank may have it; NULL means none. USAGE (logged): no such word, or a processor that
 * this thread may not use. [A] */
tutti_status tutti_comm_core_check(const char *core);
/* What auto takes for rank `rank` of the `ranks` on a host, which may use cpus[0 ... ranks) and have so
 * many workers each: a processor, or -1. [P] */
int tutti_comm_core_spare(const tutti_cpus cpus[], int ranks, int rank, int workers);
/* Binds the calling thread, after check; a failure is a warning. All ranks of boot call it, whatever
 * each of them was given. *cpu: the processor, or -1. COMM, NOMEM (logged). */
tutti_status tutti_comm_core_bind(const char *core, const tutti_boot *boot, int workers, int *cpu);

#endif
