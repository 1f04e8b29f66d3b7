#include "apps/tools/gpu_library.h"

#include <nccl.h>
#include <stdio.h>

void tutti_nccl_version(char text[64])
{
    int loaded = 0;
    if (ncclGetVersion(&loaded) != ncclSuccess) loaded = 0;
    int used = snprintf(text, 64, "%d.%d.%d", loaded / 10000, loaded / 100 % 100, loaded % 100);
    if (loaded != NCCL_VERSION_CODE)
        snprintf(text + used, (size_t)(64 - used), ", compiled with %d.%d.%d", NCCL_MAJOR,
            NCCL_MINOR, NCCL_PATCH);
}
