/* What objects that nvcc compiled call when a program starts. Their kernels cannot run here. */
#include "tests/device/fake/fake.h"

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
    int limit, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
    size_t bytes, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(void **kernel, const void *host);
cudaError_t __cudaLaunchKernel(
    const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);

static void *handle;

void **__cudaRegisterFatBinary(void *binary)
{
    (void)binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **h)
{
    (void)h;
}

void __cudaUnregisterFatBinary(void **h)
{
    (void)h;
}

char __cudaInitModule(void **h)
{
    (void)h;
    return 1;
}

void __cudaRegisterFunction(void **h, const char *host, char *device, const char *name, int limit,
    void *tid, void *bid, void *block, void *grid, int *warp)
{
    (void)h, (void)host, (void)device, (void)name, (void)limit, (void)tid, (void)bid, (void)block,
        (void)grid, (void)warp;
}

void __cudaRegisterVar(void **h, char *host, char *device, const char *name, int external,
    size_t bytes, int constant, int global)
{
    (void)h, (void)host, (void)device, (void)name, (void)external, (void)bytes, (void)constant,
        (void)global;
}

static void refuse(void)
{
    fake_fail("a kernel that nvcc compiled is launched: link the same kernels, compiled as C++ for "
              "the fake (libfakekernels.a), before them");
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    (void)grid, (void)block, (void)shared, (void)stream;
    refuse();
    return 1;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    (void)grid, (void)block, (void)shared, (void)stream;
    refuse();
    return cudaErrorInvalidValue;
}

cudaError_t __cudaGetKernel(void **kernel, const void *host)
{
    (void)kernel, (void)host;
    refuse();
    return cudaErrorInvalidValue;
}

cudaError_t __cudaLaunchKernel(
    const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    (void)kernel, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
    refuse();
    return cudaErrorInvalidValue;
}
