/* One StarPU codelet per op, device and element type, so that StarPU's schedulers, performance models (as
 * "tutti_conv_f32") and traces (as "conv") tell ops apart. Runs of one process share them, because
 * StarPU keeps their models until its last user has shut it down. [A] */
#ifndef TUTTI_CODELETS_H
#define TUTTI_CODELETS_H

#include "dag/run/binding.h"

struct starpu_codelet;

typedef struct tutti_codelets tutti_codelets;
typedef void tutti_codelet_run(void *buffers[], void *arg);

/* `compute` is the function of codelets for the CPU, `launch` of those for CUDA: it leaves its work on the
 * worker's stream. The binding is borrowed only by this call. NOMEM. */
tutti_status tutti_codelets_open(const tutti_binding *binding, tutti_codelet_run *compute,
    tutti_codelet_run *launch, tutti_codelets **codelets);
/* After this run's starpu_shutdown, which saves the models if it is the last. Accepts NULL. */
void tutti_codelets_close(tutti_codelets *codelets);

/* The codelet of a kernel node. */
struct starpu_codelet *tutti_codelets_get(tutti_codelets *codelets, int node);

#endif
