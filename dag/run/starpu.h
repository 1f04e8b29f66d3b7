/* The runner on StarPU's workers (see run.h). One open run per process; open starts StarPU, and
 * close stops it. */
#ifndef TUTTI_RUN_STARPU_H
#define TUTTI_RUN_STARPU_H

#include "dag/run/run.h"

extern const tutti_runner tutti_runner_starpu;

#endif
