/* The folder in which StarPU keeps what it measures. StarPU ends the process where it cannot write there, so
 * this looks before it starts. [M] */
#ifndef TUTTI_RUN_HOME_H
#define TUTTI_RUN_HOME_H

#include "dag/base/status.h"

/* Before starpu_init in a program of ours: leaves StarPU's variables as they are where it can write in the
 * folder that they name. Otherwise sets them to another of these folders, or to a private one in TMPDIR,
 * which later runs use again, and warns on rank 0. IO (logged): StarPU can write in none. */
tutti_status tutti_run_home_prepare(void);

/* Whether StarPU has measured this machine, or is measuring it: a file of this host is in each of its folders. */
int tutti_run_home_is_measured(void);

#endif
