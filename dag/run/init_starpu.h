/* Starts StarPU where it can write what it measures (home.h), and while no other process of this user measures the
 * machine (process_lock.h). */
#ifndef TUTTI_RUN_INIT_STARPU_H
#define TUTTI_RUN_INIT_STARPU_H

#include "dag/base/status.h"

struct starpu_conf;

/* As starpu_init; conf may be NULL. TIMEOUT (logged): other processes have been starting StarPU for five minutes. IO
 * (logged): home.h. UNSUPPORTED (logged): StarPU does not start. [M] */
tutti_status tutti_run_init_starpu(struct starpu_conf *conf);

#endif
