/* Run by tests/install/install.sh: the functions and fragments of the manual's examples, which it has taken out of the
 * page, in the program that the page describes. Ends with 0 if no call has failed. */
#include <tutti/starpu.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions.h"

enum { MOST = 64 };

static tutti_handle made[MOST];
static int vectors;

static tutti_handle vector(int64_t n)
{
    double *x = calloc((size_t)n, sizeof *x);
    if (!x || vectors == MOST) abort();
    starpu_vector_data_register(
        &made[vectors], STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)n, sizeof *x);
    return made[vectors++];
}

static void run(tutti_session *s)
{
    double seconds = 1 + tutti_rank(s);
#include "fragments.h"
}

int main(int argc, char **argv)
{
    int level;
    tutti_session *s;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (starpu_init(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &s)) return 1;
    run(s);
    tutti_status status = tutti_wait(s, 60);
    for (int i = 0; i < vectors; i++) starpu_data_unregister(made[i]);
    if (!status) status = tutti_detach(s);
    if (*tutti_last_error()) printf("failed: %s\n", tutti_last_error());
    starpu_shutdown();
    MPI_Finalize();
    return status || *tutti_last_error();
}
