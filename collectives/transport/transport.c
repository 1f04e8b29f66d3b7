#include "collectives/transport/transport.h"

const tutti_transport_about tutti_transports[] = {
    {"mpi", "MPI nonblocking send and recv on a communicator a lane"},
    {"loop", "ranks as threads of one process, for tests"},
    {NULL, NULL},
};
