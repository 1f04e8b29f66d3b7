/* The launcher of an MPI, and the settings that it needs, from launch.sh, which tests and tutti-box use, too. [M] */
#ifndef TUTTI_LAUNCH_MPIRUN_H
#define TUTTI_LAUNCH_MPIRUN_H

#include "apps/launch/options.h"

typedef struct tutti_launch_mpirun {
    char kind
        [16]; /* "openmpi4", "openmpi5", "hydra", "unknown"; "": ranks are not started by mpirun */
    char **word; /* [words]: what stands before the program */
    int words;
} tutti_launch_mpirun;

/* Finds the launcher of these ranks, and sets the variables that it and they need, but for those that the user has set.
 * -1: well; else the status to end with (reported). */
int tutti_launch_mpirun_find(const tutti_launch_options *options, tutti_launch_mpirun *mpirun);
/* The variable that says where this launcher keeps its files; NULL: none does. */
const char *tutti_launch_mpirun_scratch(const tutti_launch_mpirun *mpirun);

#endif
