#include "collectives/transport/transport.h"

#include "dag/base/log.h"

const char *tutti_transport_nccl_lacks(void)
{
    return "this build has no NCCL (configure --with-nccl)";
}

tutti_status tutti_transport_nccl(
    tutti_transport *transport, const tutti_transport_options *options)
{
    (void)transport;
    (void)options;
    return tutti_fail(
        TUTTI_ERR_UNSUPPORTED, "%s: use the transport mpi", tutti_transport_nccl_lacks());
}
