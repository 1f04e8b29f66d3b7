#undef STARPU_DONT_INCLUDE_CUDA_HEADERS /* only this file needs what StarPU has for CUDA */
#include "dag/run/stream.h"

#include <starpu.h>

void *tutti_run_stream(void)
{
    return starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CUDA_WORKER
               ? starpu_cuda_get_local_stream()
               : NULL;
}
