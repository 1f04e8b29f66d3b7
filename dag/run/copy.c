#include "dag/run/run.h"

#include <string.h>

tutti_status tutti_run_read(
    const tutti_runner *runner, tutti_run *run, int tensor, void *data, size_t bytes)
{
    void *memory;
    tutti_status status = runner->acquire(run, tensor, TUTTI_READ, bytes, &memory);
    if (status) return status;
    memcpy(data, memory, bytes);
    runner->release(run, tensor);
    return TUTTI_OK;
}

tutti_status tutti_run_write(
    const tutti_runner *runner, tutti_run *run, int tensor, const void *data, size_t bytes)
{
    void *memory;
    tutti_status status = runner->acquire(run, tensor, TUTTI_WRITE, bytes, &memory);
    if (status) return status;
    memcpy(memory, data, bytes);
    runner->release(run, tensor);
    return TUTTI_OK;
}
