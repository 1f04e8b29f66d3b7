/* CUDA's calls about memory, and how operations reach it. */
#include "tests/device/fake/graph.h"
#include "tests/device/fake/memory.h"
#include "tests/device/fake/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- A device's ---- */

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    fake_enter("cudaMalloc");
    graph_forbid("cudaMalloc");
    count_add(FAKE_ALLOCATIONS, "cudaMalloc", 1);
    *address = NULL;
    const cudaError_t error = bytes ? memory_new(fake_device, bytes, address) : cudaSuccess;
    if (!error) count_add(FAKE_ALLOCATED_BYTES, "cudaMalloc", bytes);
    return fake_return(error);
}

cudaError_t cudaFree(void *address)
{
    fake_enter("cudaFree");
    graph_forbid("cudaFree");
    if (!address) return fake_return(cudaSuccess);
    count_add(FAKE_FREES, "cudaFree", 1);
    block *b = memory_find(address);
    if (!b || b->device < 0 || b->address != address)
        fake_fail("cudaFree: %p is not what cudaMalloc returned", address);
    if (!b->live) fake_fail("cudaFree: %p was freed already", address);
    count_add(FAKE_FREED_BYTES, "cudaFree", b->bytes);
    memory_release("cudaFree", b);
    return fake_return(cudaSuccess);
}

/* ---- Pinned ---- */

static cudaError_t pin_new(const char *call, void **address, size_t bytes)
{
    fake_enter(call);
    graph_forbid(call);
    count_add(FAKE_HOST_ALLOCATIONS, call, 1);
    return fake_return(memory_pin_new(bytes, address));
}

cudaError_t cudaMallocHost(void **address, size_t bytes)
{
    return pin_new("cudaMallocHost", address, bytes);
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
    (void)flags; /* portable and mapped: all of it is both */
    return pin_new("cudaHostAlloc", address, bytes);
}

cudaError_t cudaFreeHost(void *address)
{
    fake_enter("cudaFreeHost");
    graph_forbid("cudaFreeHost");
    if (!address) return fake_return(cudaSuccess);
    count_add(FAKE_HOST_FREES, "cudaFreeHost", 1);
    block *b = memory_find(address);
    if (!b || b->device >= 0 || b->address != address || b->registered)
        fake_fail("cudaFreeHost: %p is not what cudaMallocHost or cudaHostAlloc returned", address);
    if (!b->live) fake_fail("cudaFreeHost: %p was freed already", address);
    memory_release("cudaFreeHost", b);
    return fake_return(cudaSuccess);
}

cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    fake_enter("cudaHostRegister");
    graph_forbid("cudaHostRegister");
    if (!address || !bytes) return fake_return(cudaErrorInvalidValue);
    if (memory_is_device(address)) fake_fail("cudaHostRegister: %p is a device's address", address);
    if (memory_find(address) || memory_find((char *)address + bytes - 1))
        return fake_return(cudaErrorHostMemoryAlreadyRegistered);
    count_add(FAKE_HOST_ALLOCATIONS, "cudaHostRegister", 1);
    memory_register(address, bytes);
    return fake_return(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *address)
{
    fake_enter("cudaHostUnregister");
    graph_forbid("cudaHostUnregister");
    block *b = memory_find(address);
    if (!b || !b->registered || b->address != address)
        return fake_return(cudaErrorHostMemoryNotRegistered);
    count_add(FAKE_HOST_FREES, "cudaHostUnregister", 1);
    memory_release("cudaHostUnregister", b);
    return fake_return(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    fake_enter("cudaPointerGetAttributes");
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = -1};
    block *b = memory_find(address);
    if (b && b->live && b->device >= 0)
        *attributes = (struct cudaPointerAttributes){
            .type = cudaMemoryTypeDevice, .device = b->device, .devicePointer = (void *)address};
    else if (b && b->live)
        *attributes = (struct cudaPointerAttributes){
            .type = cudaMemoryTypeHost, .device = fake_device, .hostPointer = (void *)address};
    if (!b) attributes->hostPointer = (void *)address;
    return fake_return(cudaSuccess);
}

/* ---- For other libraries ---- */

void *fake_own(size_t bytes)
{
    void *memory = NULL;
    fake_enter("fake_own");
    graph_forbid("an allocation by a library");
    (void)memory_new(fake_device, bytes, &memory);
    fake_leave();
    return memory;
}

void fake_disown(void *memory)
{
    if (!memory) return;
    fake_enter("fake_disown");
    memory_release("fake_disown", memory_find(memory));
    fake_leave();
}

/* ---- For operations ---- */

static char *inside_of(const char *call, const void *address, size_t bytes, block **b)
{
    if (memory_place(call, address, bytes, b) != PLACE_DEVICE)
        fake_fail("%s: %p is the host's memory, not a device's", call, address);
    if (!device_reaches(fake_device, (*b)->device))
        fake_fail("%s: device %d has no access to %p, which is device %d's", call, fake_device,
            address, (*b)->device);
    return memory_inside(address);
}

void *fake_inside(const char *call, const void *address, size_t bytes)
{
    block *b;
    fake_enter(call);
    void *inside = inside_of(call, address, bytes, &b);
    fake_leave();
    return inside;
}

int fake_inside_all(const char *call, void *parameters, size_t bytes, fake_access *access)
{
    int found = 0;
    block *b;
    fake_enter(call);
    for (size_t at = 0; at + sizeof(void *) <= bytes; at += sizeof(void *)) {
        void *address;
        memcpy(&address, (char *)parameters + at, sizeof address);
        if (!memory_is_device(address)) continue;
        void *inside = inside_of(call, address, 1, &b);
        memcpy((char *)parameters + at, &inside, sizeof inside);
        access[found] = (fake_access){.address = address, .bytes = 1, .mode = FAKE_TOUCH};
        if (b->scratch)
            access[found] =
                (fake_access){.address = b->address, .bytes = b->bytes, .mode = FAKE_WRITE};
        found++;
    }
    fake_leave();
    return found;
}

void fake_scratch(const void *address)
{
    block *b;
    fake_enter("fake_scratch");
    inside_of("fake_scratch", address, 1, &b);
    b->scratch = 1;
    fake_leave();
}
