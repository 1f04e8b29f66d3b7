/* A tensor's access mode as StarPU's. [P] */
#ifndef TUTTI_STARPU_MODE_H
#define TUTTI_STARPU_MODE_H

#include "dag/graph/graph.h"

#include <starpu.h>

static inline enum starpu_data_access_mode tutti_starpu_mode(tutti_mode mode)
{
    /* a link of a chain writes: the task that has it starts the collective */
    return mode == TUTTI_READ ? STARPU_R : mode == TUTTI_WRITE ? STARPU_W : STARPU_RW;
}

#endif
