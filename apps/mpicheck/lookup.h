/* Calls that pass by the preloaded functions. [M] */
#ifndef TUTTI_MPICHECK_LOOKUP_H
#define TUTTI_MPICHECK_LOOKUP_H

#include <stdbool.h>

/* Programs that load MPI themselves (dlopen and dlsym, or RTLD_DEEPBIND) look its functions up in
 * MPI's own symbol table. From now on that table, in this process, leads to this library's
 * functions. Where the system forbids that, nothing changes. */
void mpicheck_lookup_redirect(void);
/* Whether the executable contains MPI's functions (a static MPI, or its own wrappers), which come
 * before this library's. Not known of an executable without a symbol table. */
bool mpicheck_lookup_is_inside(void);

#endif
