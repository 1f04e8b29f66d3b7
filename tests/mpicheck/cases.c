#include "tests/mpicheck/cases.h"

#include <stdio.h>
#include <string.h>

int check_rank, check_size;

static int run(int argc, char **argv, const check_case *one)
{
    int provided;
    /* Names of cases with threads begin with "threads_"; where one thread alone calls MPI, with "funneled_". */
    if (strncmp(one->name, "threads_", 8) == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else if (strncmp(one->name, "funneled_", 9) == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    one->run();
    MPI_Finalize();
    return 0;
}

int check_main(int argc, char **argv, const check_case *cases, int count)
{
    for (int i = 0; i < count && argc > 1; i++) {
        if (strcmp(argv[1], "--list") == 0)
            printf("%s %d %s %s\n", cases[i].name, cases[i].ranks, cases[i].words ? "nok" : "ok",
                cases[i].words ? cases[i].words : "");
        else if (strcmp(argv[1], cases[i].name) == 0)
            return run(argc, argv, &cases[i]);
    }
    return argc > 1 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
