/* One StarPU codelet per op and element type, so that StarPU's schedulers, performance models (as
 * "tutti_conv_f32") and traces (as "conv") tell ops apart. Runs of one process share them, because
 * StarPU keeps their models until its last user has shut it down. [A] */
#ifndef TUTTI_CODELETS_H
#define TUTTI_CODELETS_H

#include "dag/run/binding.h"

struct starpu_codelet;

typedef struct tutti_codelets tutti_codelets;

/* The codelets' CPU function is `run`. The binding is borrowed only by this call. NOMEM. */
tutti_status tutti_codelets_open(const tutti_binding *binding,
    void (*run)(void *buffers[], void *arg), tutti_codelets **codelets);
/* After this run's starpu_shutdown, which saves the models if it is the last. Accepts NULL. */
void tutti_codelets_close(tutti_codelets *codelets);

/* The codelet of a kernel node. */
struct starpu_codelet *tutti_codelets_get(tutti_codelets *codelets, int node);

#endif
