/* Shared by the programs of right and wrong MPI calls: a list of named cases, one run per process.
 *
 *   PROGRAM --list      prints "name ranks verdict words" for each case: verdict ok or nok, and the
 *                       words that the report of a wrong one must contain
 *   PROGRAM NAME        runs one case; wrong ones may hang without the checker */
#ifndef TUTTI_TESTS_MPICHECK_CASES_H
#define TUTTI_TESTS_MPICHECK_CASES_H

#include <mpi.h>

typedef struct check_case {
    const char *name;
    int ranks;
    const char *words; /* NULL: a right case; "": any report will do */
    void (*run)(void);
} check_case;

/* Rank and size in MPI_COMM_WORLD, set while a case runs. */
extern int check_rank, check_size;

/* The main function of a program of cases. */
int check_main(int argc, char **argv, const check_case *cases, int count);

#endif
