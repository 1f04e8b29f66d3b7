#include "apps/tools/gpu_library.h"

#include <cudnn.h>
#include <stdio.h>

void tutti_cudnn_version(char text[64])
{
    const size_t loaded = cudnnGetVersion();
    int used = snprintf(text, 64, "%zu.%zu.%zu", loaded / 10000, loaded / 100 % 100, loaded % 100);
    if (loaded != CUDNN_VERSION)
        snprintf(text + used, (size_t)(64 - used), ", compiled with %d.%d.%d", CUDNN_MAJOR,
            CUDNN_MINOR, CUDNN_PATCHLEVEL);
}
