#include "collectives/transport/transport.h"

#include <string.h>

static const char *lacks_nothing(void)
{
    return NULL;
}

const tutti_transport_about tutti_transports[] = {
    {.name = "mpi",
        .summary = "nonblocking MPI send and receive, on one communicator per lane",
        .lacks = lacks_nothing},
    {.name = "nccl",
        .summary = "NCCL's collectives between GPUs; messages over mpi",
        .give = tutti_transport_nccl,
        .lacks = tutti_transport_nccl_lacks,
        .on_gpus = 1,
        .most_lanes = TUTTI_NCCL_MOST_LANES},
    {.name = "loop", .summary = "ranks as threads of one process, for tests"},
    {0},
};

const tutti_transport_about *tutti_transport_find(const char *name)
{
    const tutti_transport_about *about = tutti_transports;
    while (about->name && strcmp(about->name, name) != 0) about++;
    return about->name ? about : NULL;
}
