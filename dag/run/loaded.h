/* Whether the StarPU that was loaded is the build of it that Tutti was compiled with.
 *
 * StarPU's limits (STARPU_MAXCPUS, STARPU_NMAXBUFS, ...) are lengths of arrays in its public
 * structs. Builds with other limits, such as one with CUDA beside the system's, have the same
 * soname, so the loader takes either. The library then writes past the end of the structs of its
 * caller: the stack is overwritten, and what follows makes no sense. */
#ifndef TUTTI_LOADED_H
#define TUTTI_LOADED_H

#include "dag/base/status.h"

/* UNSUPPORTED, logged with the library's file, when a struct has another size there; NOMEM. Before
 * StarPU is started, or while it runs. [A] */
tutti_status tutti_run_check_loaded(void);

#endif
