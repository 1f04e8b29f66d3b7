/* A build without devices. */
#include "dag/device/device.h"

#include "dag/base/log.h"

static int nothing(void)
{
    return 0;
}

static tutti_status none_info(int index, tutti_device_info *info)
{
    (void)info;
    return tutti_fail(TUTTI_ERR_INVAL, "device %d: this build has no devices", index);
}

static const char *none_lacks(void)
{
    return "this build is for processors alone: ./quickstart cuda makes one with CUDA";
}

const tutti_device_kind tutti_device_kind_built = {.name = "none",
    .count = nothing,
    .info = none_info,
    .compiled = nothing,
    .runtime = nothing,
    .driver = nothing,
    .lacks = none_lacks};
