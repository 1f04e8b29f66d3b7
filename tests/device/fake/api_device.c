/* CUDA's calls about devices, and errors. */
#include "tests/device/fake/graph.h"
#include "tests/device/fake/memory.h"
#include "tests/device/fake/order.h"

#include <stdio.h>
#include <string.h>

enum { DOMAIN = 0x7a, PROCESSORS = 4, THREADS = 2048 };

static int peer[MOST_DEVICES][MOST_DEVICES]; /* may the first access the memory of the second? */

static int exists(int device)
{
    return device >= 0 && device < fake_get_settings()->devices;
}

/* Enters, on a device that there is. */
static void enter(const char *call)
{
    fake_enter(call);
    if (!exists(fake_device)) fake_fail("%s: there is no device %d", call, fake_device);
}

/* ---- Errors ---- */

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {{cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
        "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
        "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
        "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
        "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
        "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
        "pointer does not correspond to a registered memory region"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
        "operation failed due to a previous error during capture"}};

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) return errors[i].text;
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) return errors[i].name;
    return "unrecognized error code";
}

cudaError_t cudaPeekAtLastError(void)
{
    return fake_error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = fake_error;
    fake_error = cudaSuccess;
    return error;
}

/* ---- Which devices there are ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    fake_enter("cudaGetDeviceCount");
    if (!fake_serves()) return fake_return(cudaErrorInsufficientDriver); /* *count stays */
    *count = fake_get_settings()->devices;
    return fake_return(*count ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    fake_enter("cudaSetDevice");
    if (!exists(device)) return fake_return(cudaErrorInvalidDevice);
    fake_device = device;
    return fake_return(cudaSuccess);
}

cudaError_t cudaGetDevice(int *device)
{
    fake_enter("cudaGetDevice");
    *device = fake_device;
    return fake_return(exists(fake_device) ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags; /* how the host waits */
    enter("cudaSetDeviceFlags");
    return fake_return(cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    fake_enter("cudaGetDeviceProperties");
    if (!exists(device)) return fake_return(cudaErrorInvalidDevice);
    const int capability = fake_get_settings()->capability[device];
    struct cudaDeviceProp p = {.totalGlobalMem = fake_get_settings()->memory,
        .sharedMemPerBlock = 48 << 10,
        .regsPerBlock = 1 << 16,
        .warpSize = 32,
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {0x7fffffff, 0xffff, 0xffff},
        .totalConstMem = 1 << 16,
        .major = capability / 10,
        .minor = capability % 10,
        .multiProcessorCount = PROCESSORS,
        .canMapHostMemory = 1,
        .concurrentKernels = 1,
        .pciDomainID = DOMAIN,
        .pciBusID = fake_get_settings()->bus[device] + 1,
        .asyncEngineCount = 2,
        .unifiedAddressing = 1,
        .streamPrioritiesSupported = 1,
        .maxThreadsPerMultiProcessor = THREADS};
    snprintf(p.name, sizeof p.name, "fake device");
    snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "fake %d", p.pciBusID);
    *properties = p;
    return fake_return(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    static const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } values[] = {{cudaDevAttrComputeMode, cudaComputeModeDefault},
        {cudaDevAttrMultiProcessorCount, PROCESSORS}, {cudaDevAttrMaxThreadsPerBlock, 1024},
        {cudaDevAttrWarpSize, 32}, {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrUnifiedAddressing, 1}, {cudaDevAttrAsyncEngineCount, 2},
        {cudaDevAttrPciDomainId, DOMAIN}};
    fake_enter("cudaDeviceGetAttribute");
    if (!exists(device)) return fake_return(cudaErrorInvalidDevice);
    const int capability = fake_get_settings()->capability[device];
    if (attribute == cudaDevAttrComputeCapabilityMajor ||
        attribute == cudaDevAttrComputeCapabilityMinor) {
        *value = attribute == cudaDevAttrComputeCapabilityMajor ? capability / 10 : capability % 10;
        return fake_return(cudaSuccess);
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute) {
            *value = values[i].value;
            return fake_return(cudaSuccess);
        }
    fake_fail("cudaDeviceGetAttribute: the fake has no attribute %d", (int)attribute);
}

cudaError_t cudaDeviceGetPCIBusId(char *bus, int room, int device)
{
    fake_enter("cudaDeviceGetPCIBusId");
    if (!exists(device)) return fake_return(cudaErrorInvalidDevice);
    snprintf(bus, (size_t)room, "%08x:%02x:00.0", DOMAIN, fake_get_settings()->bus[device] + 1);
    return fake_return(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    fake_enter("cudaDriverGetVersion");
    *version = fake_get_settings()->driver;
    return fake_return(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *all)
{
    enter("cudaMemGetInfo");
    *all = fake_get_settings()->memory;
    *unused = *all - memory_used(fake_device);
    return fake_return(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    enter("cudaDeviceGetStreamPriorityRange");
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return fake_return(cudaSuccess);
}

/* ---- The whole device ---- */

cudaError_t cudaDeviceSynchronize(void)
{
    enter("cudaDeviceSynchronize");
    graph_forbid("cudaDeviceSynchronize");
    graph_forbid_device("cudaDeviceSynchronize", fake_device);
    count_add(FAKE_SYNCHRONISATIONS, "cudaDeviceSynchronize", 1);
    order_wait_device(fake_device);
    return fake_return(cudaSuccess);
}

cudaError_t cudaDeviceReset(void)
{
    enter("cudaDeviceReset");
    graph_forbid("cudaDeviceReset");
    graph_forbid_device("cudaDeviceReset", fake_device);
    order_wait_device(fake_device);
    memory_reset("cudaDeviceReset", fake_device);
    memset(peer[fake_device], 0, sizeof peer[fake_device]);
    for (int i = MOST_DEVICES; i < queue_count(); i++)
        if (queue_at(i)->device == fake_device) queue_at(i)->live = 0;
    return fake_return(cudaSuccess);
}

/* ---- Devices that see each other's memory ---- */

int device_reaches(int device, int other)
{
    return device == other || peer[device][other];
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int other)
{
    fake_enter("cudaDeviceCanAccessPeer");
    if (!exists(device) || !exists(other)) return fake_return(cudaErrorInvalidDevice);
    *can = device != other && fake_get_settings()->peers;
    return fake_return(cudaSuccess);
}

cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned flags)
{
    (void)flags;
    enter("cudaDeviceEnablePeerAccess");
    if (!exists(other) || other == fake_device) return fake_return(cudaErrorInvalidDevice);
    if (!fake_get_settings()->peers) return fake_return(cudaErrorPeerAccessUnsupported);
    if (peer[fake_device][other]) return fake_return(cudaErrorPeerAccessAlreadyEnabled);
    peer[fake_device][other] = 1;
    return fake_return(cudaSuccess);
}

cudaError_t cudaDeviceDisablePeerAccess(int other)
{
    enter("cudaDeviceDisablePeerAccess");
    if (!exists(other) || !peer[fake_device][other])
        return fake_return(cudaErrorPeerAccessNotEnabled);
    peer[fake_device][other] = 0;
    return fake_return(cudaSuccess);
}
