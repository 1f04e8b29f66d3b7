/* The folder in which StarPU keeps what it measures. StarPU ends the process where it cannot write there, so
 * this looks before it starts. [M] */
#ifndef TUTTI_RUN_HOME_H
#define TUTTI_RUN_HOME_H

#include "dag/base/status.h"

/* Before starpu_init in a program of ours: leaves StarPU's variables as they are where it can write in the
 * folder that they name. Otherwise sets them to another of these folders, or to a private one in TMPDIR,
 * which later runs use again, and warns on rank 0. IO (logged): StarPU can write in none. */
tutti_status tutti_run_home_prepare(void);

/* Of the folder, once it is prepared: 0 to 15. Processes with different numbers have different folders, and need not
 * wait for each other. */
int tutti_run_home_number(void);

/* Whether StarPU has started here since this machine was booted, after which it may have other processors and is
 * measured anew. Set after such a start; what cannot be written is not set. */
int tutti_run_home_is_measured(void);
void tutti_run_home_set_measured(void);

#endif
