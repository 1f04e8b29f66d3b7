#include "dag/kernels/space.h"

#include <stdint.h>

static _Thread_local size_t asked, limit = SIZE_MAX;

void tutti_space_begin(size_t most)
{
    asked = 0;
    limit = most;
}

size_t tutti_space_end(void)
{
    limit = SIZE_MAX;
    return asked;
}

int tutti_space_grant(size_t bytes)
{
    asked += bytes;
    return asked <= limit;
}
