/* Two ranks start two more, and both groups exchange a number. The settings of a launcher must leave that possible. */
#include <mpi.h>
#include <stdio.h>

static int of_the_first(MPI_Comm others)
{
    int rank, sum = 0, number = 20;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int root = rank ? MPI_PROC_NULL : MPI_ROOT;
    MPI_Bcast(&number, 1, MPI_INT, root, others);
    MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, root, others);
    if (rank == 0) printf("spawned: %d\n", sum);
    return rank == 0 && sum != 41;
}

static int of_the_spawned(MPI_Comm others)
{
    int rank, number;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&number, 1, MPI_INT, 0, others);
    number += rank;
    MPI_Reduce(&number, NULL, 1, MPI_INT, MPI_SUM, 0, others);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm others;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&others);
    const int spawned = others != MPI_COMM_NULL;
    if (!spawned)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    const int wrong = spawned ? of_the_spawned(others) : of_the_first(others);
    MPI_Comm_disconnect(&others);
    MPI_Finalize();
    return wrong;
}
