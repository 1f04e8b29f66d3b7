/* What the programs of right and wrong MPI calls share: a list of named cases, one run a process.
 *
 *   PROGRAM --list      prints "name ranks verdict words" for each case: verdict ok or nok, and what the report
 *                       of a wrong one has to say
 *   PROGRAM NAME        runs one case; wrong ones need not end without the checker */
#ifndef TUTTI_TESTS_MPICHECK_CASES_H
#define TUTTI_TESTS_MPICHECK_CASES_H

#include <mpi.h>

typedef struct check_case {
    const char *name;
    int ranks;
    const char *words; /* NULL: right; "": any report will do */
    void (*run)(void);
} check_case;

/* Rank and size in MPI_COMM_WORLD while a case runs. */
extern int check_rank, check_size;

/* The main function of a program of rows. */
int check_main(int argc, char **argv, const check_case *cases, int count);

#endif
