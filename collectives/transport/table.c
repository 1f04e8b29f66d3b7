#include "collectives/transport/fabric.h"
#include "collectives/transport/mesh.h"
#include "collectives/transport/transport.h"

#include <string.h>

static const char *lacks_nothing(void)
{
    return NULL;
}

static tutti_status open_fabric(tutti_interconnect **network)
{
    return tutti_fabric_open(NULL, network);
}

static tutti_status replace_by_fabric(
    tutti_transport **transport, const tutti_transport_options *options)
{
    return tutti_transport_mesh_with(transport, options, open_fabric);
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
    {.name = "shm",
        .summary = "memory that all ranks share, on one host",
        .replace = tutti_transport_mesh_over,
        .lacks = lacks_nothing,
        .on_one_host = 1},
    {.name = "mesh",
        .summary = "shared memory between ranks of a host, TCP between hosts",
        .replace = tutti_transport_mesh_over,
        .lacks = lacks_nothing},
    {.name = "fabric",
        .summary = "shared memory between ranks of a host, libfabric between hosts",
        .replace = replace_by_fabric,
        .lacks = tutti_fabric_lacks},
    {.name = "loop", .summary = "ranks as threads of one process, for tests"},
    {0},
};

const tutti_transport_about *tutti_transport_find(const char *name)
{
    const tutti_transport_about *about = tutti_transports;
    while (about->name && strcmp(about->name, name) != 0) about++;
    return about->name ? about : NULL;
}
