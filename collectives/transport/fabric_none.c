#include "collectives/transport/fabric.h"
#include "dag/base/log.h"

const char *tutti_fabric_lacks(void)
{
    return "this build has no libfabric: install libfabric-dev and configure again, or use mesh";
}

tutti_status tutti_fabric_open(const tutti_fabric_options *options, tutti_interconnect **network)
{
    (void)options, (void)network;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s", tutti_fabric_lacks());
}

size_t tutti_fabric_registered(tutti_interconnect *network)
{
    (void)network;
    return 0;
}
