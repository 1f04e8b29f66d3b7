#include "apps/tools/gpu_library.h"

#include <stdio.h>

void tutti_nccl_version(char text[64])
{
    snprintf(text, 64, "not in this build (configure --with-nccl)");
}
