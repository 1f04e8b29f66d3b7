#include "collectives/transport/nccl.h"

#include "dag/base/log.h"

tutti_status tutti_transport_nccl(
    tutti_transport *whole, const tutti_nccl_options *options, tutti_transport **transport)
{
    (void)options;
    (void)transport;
    whole->ops->close(whole);
    return tutti_fail(
        TUTTI_ERR_UNSUPPORTED, "this build has no NCCL (configure --with-nccl): use the transport mpi");
}
