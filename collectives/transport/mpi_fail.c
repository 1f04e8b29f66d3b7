/* Logs MPI's description of a failure. */
#include "collectives/transport/mpi.h"

#include "dag/base/log.h"

tutti_status tutti_mpi_fail(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    return tutti_fail(TUTTI_ERR_COMM, "%s failed: MPI error %d: %.*s", what, code, length, text);
}
