/* The MPI call that a thread of the program is in: its name and its call site. [A], per thread */
#ifndef TUTTI_MPICHECK_CALL_H
#define TUTTI_MPICHECK_CALL_H

#include <stdbool.h>

/* Enters a wrapper. False: MPI itself (or the tool) makes this call, or checking is off; the
 * wrapper then passes the call on and does not leave. `name` is a literal, `address` the return
 * address. */
bool mpicheck_call_enter(const char *name, const void *address);
void mpicheck_call_leave(void);
/* From now on, this thread runs `other` before a call whose name differs from the previous
 * one's. */
void mpicheck_call_on_other(void (*other)(void));

/* The name of this thread's outermost call; "" outside of MPI. */
const char *mpicheck_call_name(void);
/* The number of its call site. */
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
