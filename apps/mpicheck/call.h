/* The MPI call that the program is in: its name and where it was made from. [A], a thread each */
#ifndef TUTTI_MPICHECK_CALL_H
#define TUTTI_MPICHECK_CALL_H

#include <stdbool.h>

/* Enters a wrapper. False: MPI itself (or the tool) makes this call, or nothing is checked now; the
 * wrapper then passes the call on and does not leave. `name` is a literal, `address` the return address. */
bool mpicheck_call_enter(const char *name, const void *address);
void mpicheck_call_leave(void);
/* Has every call of this thread with another name than the one before it begin with `other`. */
void mpicheck_call_on_other(void (*other)(void));

/* The name of the outermost call of this thread; "" outside. */
const char *mpicheck_call_name(void);
/* Its site's number. */
int mpicheck_call_site(void);

/* A wrapper's first statement. */
#define MPICHECK_WRAP(name, arguments)                                                             \
    if (!mpicheck_call_enter("MPI_" #name, __builtin_return_address(0)))                           \
    return PMPI_##name arguments

/* Leaves and returns. */
#define MPICHECK_RETURN(value)                                                                     \
    do {                                                                                           \
        int mpicheck_result = (value);                                                             \
        mpicheck_call_leave();                                                                     \
        return mpicheck_result;                                                                    \
    } while (0)

#endif
