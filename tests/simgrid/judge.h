/* What SMPI lacks or charges for, in the files of the tree that call MPI: included first there. */
#ifndef TUTTI_TEST_JUDGE_H
#define TUTTI_TEST_JUDGE_H

#include <mpi.h>

/* It has no MPI_Comm_idup; MPI_Test of MPI_REQUEST_NULL leaves its flag as it was. */
int judge_comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request);
int judge_test(MPI_Request *request, int *flag, MPI_Status *status);
/* Waits for a request where nothing else can be done, and finds none elsewhere: tests take simulated time. */
int judge_testsome(int count, MPI_Request request[], int *ended, int which[], MPI_Status status[]);

#ifndef JUDGE_ITSELF
#define MPI_Comm_idup judge_comm_idup
#define MPI_Test judge_test
#define MPI_Testsome judge_testsome
#endif

#endif
