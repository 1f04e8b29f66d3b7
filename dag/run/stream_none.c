#include "dag/run/stream.h"

#include <stddef.h>

void *tutti_run_stream(void)
{
    return NULL;
}
