#include "dag/base/rank.h"

#include <stdlib.h>

/* The first of these variables that is a number; 1: none is. SLURM_STEP_TASKS_PER_NODE may be "2(x3),1". */
static int first_number(const char *const names[])
{
    for (int i = 0; names[i]; i++) {
        const char *value = getenv(names[i]);
        const int number = value ? atoi(value) : 0;
        if (number > 0) return number;
    }
    return 1;
}

int tutti_rank_count(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    return first_number(names);
}

int tutti_rank_count_here(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
        "SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE", NULL};
    return first_number(names);
}
