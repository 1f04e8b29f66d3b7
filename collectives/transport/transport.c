#include "collectives/transport/transport.h"

const tutti_transport_about tutti_transports[] = {
    {"mpi", "nonblocking MPI send and receive, on one communicator per lane"},
    {"loop", "ranks as threads of one process, for tests"},
    {NULL, NULL},
};
