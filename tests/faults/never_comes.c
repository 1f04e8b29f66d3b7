/* Preloaded by deadlines.sh: rank NEVER_COMES_RANK stops forever in MPI_Init_thread or MPI_Finalize. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before MPI_Init_thread only the launcher knows the rank. */
static void stop_in(const char *call)
{
    static const char *const launchers[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    const char *where = getenv("NEVER_COMES_TO"), *who = getenv("NEVER_COMES_RANK"), *rank = NULL;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !rank; i++)
        rank = getenv(launchers[i]);
    if (!where || !who || !rank || strcmp(where, call) != 0 || strcmp(who, rank) != 0) return;
    for (;;) pause();
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    stop_in("MPI_Init_thread");
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    stop_in("MPI_Finalize");
    return PMPI_Finalize();
}
