/* NVIDIA's GPUs, through CUDA's run-time library. */
#include "dag/device/device.h"

#include "dag/base/log.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

/* How many there are, or why that cannot be known; *count is set in both cases. */
static cudaError_t ask(int *count)
{
    *count = 0; /* which an error leaves as it is */
    const cudaError_t error = cudaGetDeviceCount(count);
    if (error) *count = 0;
    (void)cudaGetLastError(); /* it would be the next call's */
    return error;
}

static int cuda_count(void)
{
    int count;
    ask(&count);
    return count;
}

static tutti_status cuda_info(int index, tutti_device_info *info)
{
    struct cudaDeviceProp properties;
    const int count = cuda_count();
    if (index < 0 || index >= count)
        return tutti_fail(TUTTI_ERR_INVAL, "GPU %d: there are %d, from 0", index, count);
    tutti_device_info found = {0};
    cudaError_t error = cudaGetDeviceProperties(&properties, index);
    if (!error) error = cudaDeviceGetPCIBusId(found.bus, sizeof found.bus, index);
    if (error) return tutti_fail(TUTTI_ERR_KERNEL, "GPU %d: %s", index, cudaGetErrorString(error));
    snprintf(found.name, sizeof found.name, "%s", properties.name);
    found.bytes = properties.totalGlobalMem;
    found.major = properties.major;
    found.minor = properties.minor;
    *info = found;
    return TUTTI_OK;
}

static int cuda_compiled(void)
{
    return CUDART_VERSION;
}

static int cuda_runtime(void)
{
    int version = 0;
    return cudaRuntimeGetVersion(&version) ? 0 : version;
}

static int cuda_driver(void)
{
    int version = 0;
    return cudaDriverGetVersion(&version) ? 0 : version;
}

static const char *cuda_lacks(void)
{
    int count;
    const cudaError_t error = ask(&count);
    if (!cuda_driver())
        return "there is no driver for NVIDIA's GPUs (libcuda.so.1): install it, or start the "
               "container with the GPUs (docker run --gpus all)";
    if (error == cudaErrorInsufficientDriver)
        return "the driver is older than CUDA: install a newer one, or build with an older CUDA";
    if (error == cudaErrorNoDevice || (!error && !count))
        return "there is a driver, but no GPU that this program may use: see nvidia-smi, and "
               "CUDA_VISIBLE_DEVICES";
    return error ? cudaGetErrorString(error) : NULL;
}

const tutti_device_kind tutti_device_kind_built = {.name = "CUDA",
    .count = cuda_count,
    .info = cuda_info,
    .compiled = cuda_compiled,
    .runtime = cuda_runtime,
    .driver = cuda_driver,
    .lacks = cuda_lacks};
