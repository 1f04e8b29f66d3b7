/* The runner on StarPU's CPU workers: see run.h. One open run a process; StarPU is started by open
 * and stopped by close. */
#ifndef TUTTI_RUN_STARPU_H
#define TUTTI_RUN_STARPU_H

#include "dag/run/run.h"

extern const tutti_runner tutti_runner_starpu;

#endif
