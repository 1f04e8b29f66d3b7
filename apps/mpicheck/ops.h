/* Operators: predefined ones by name, user-defined ones by their function. [A] */
#ifndef TUTTI_MPICHECK_OPS_H
#define TUTTI_MPICHECK_OPS_H

#include <mpi.h>
#include <stddef.h>

/* The name of an operator, the same on all ranks. A user-defined one is named by its function. */
void mpicheck_collective_op(char *text, size_t size, MPI_Op op);
/* Remembers and forgets operators that the program creates. */
void mpicheck_op_made(MPI_Op op, MPI_User_function *function, int commutes);
void mpicheck_op_gone(MPI_Op op);
void mpicheck_op_leaks(char severity);

#endif
