/* The cases of the program `programs`, one table per file: those in *_ok.c are right, those in
 * *_nok.c wrong in one way each; the case names show it, too. */
#ifndef TUTTI_TESTS_MPICHECK_PROGRAMS_H
#define TUTTI_TESTS_MPICHECK_PROGRAMS_H

#include "tests/mpicheck/cases.h"

/* MPICH's MPI_STATUSES_IGNORE is (MPI_Status *)1, which GCC takes for an array without elements. */
#if defined(MPICH_VERSION) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

typedef struct check_table {
    const check_case *cases;
    int count;
} check_table;

extern const check_table check_messages_ok, check_messages_nok, check_objects_ok, check_objects_nok,
    check_arguments_nok, check_overlap_ok, check_overlap_nok, check_requests, check_threads;

#define WORLD MPI_COMM_WORLD
#define NEXT ((check_rank + 1) % check_size)
#define BEFORE ((check_rank + check_size - 1) % check_size)
#define FIRST if (check_rank == 0)
#define SECOND if (check_rank == 1)

/* Sends one integer from x; receives one into y. */
#define SEND(to, tag) MPI_Send(x, 1, MPI_INT, to, tag, WORLD)
#define RECV(from, tag) MPI_Recv(y, 1, MPI_INT, from, tag, WORLD, MPI_STATUS_IGNORE)

#endif
