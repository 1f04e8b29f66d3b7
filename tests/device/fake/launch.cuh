/* How kernels start on the fake device, and get memory: dag/kernels/cuda.cuh includes this where it
 * is compiled as C++ with TUTTI_CUDA_LAUNCH. The kernel is a copy of its functor, whose addresses are
 * replaced by those that the fake's thread can use. */
#include "tests/device/fake/fake.h"

#include <new>
#include <type_traits>

namespace
{

inline tutti_status space_new(const char *op, size_t bytes, size_t zeros, void **memory)
{
    cudaError_t error = cudaMalloc(memory, bytes);
    if (!error) error = cudaMemset((char *)*memory + bytes - zeros, 0, zeros);
    if (!error) error = cudaStreamSynchronize(0);
    if (error)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no %zu bytes of the device's memory: %s", op, bytes,
            cudaGetErrorString(error));
    fake_scratch(*memory);
    return TUTTI_OK;
}

inline void space_release(void *memory)
{
    cudaFree(memory);
}

/* Run: RunEach or RunBlocks of an element. */
template <typename Run> int run_fake(void *arg)
{
    Run *kernel = (Run *)arg;
    (*kernel)();
    kernel->~Run();
    free(arg);
    return 1;
}

template <typename Run> tutti_status start_fake(const char *op, const Run &run, void *queue)
{
    static_assert(
        std::is_trivially_copyable<Run>::value, "a kernel's parameters are copied as bytes");
    if (!queue) fake_fail("%s on the default stream", op);
    void *memory = malloc(sizeof(Run));
    if (!memory) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to start the kernel", op);
    Run *kernel = new (memory) Run(run);
    /* What the compiler left between the members is anything, and a number beside it would look like an address. */
    __builtin_clear_padding(&kernel->element);
    fake_access access[sizeof kernel->element / sizeof(void *) + 1];
    const int accesses =
        fake_inside_all(op, (void *)&kernel->element, sizeof kernel->element, access);
    const fake_work work = {op, run_fake<Run>, kernel, sizeof *kernel, access, accesses, 0};
    fake_enqueue((cudaStream_t)queue, &work);
    const cudaError_t error = cudaGetLastError();
    if (!error) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_KERNEL, "%s: the kernel does not start: %s", op, cudaGetErrorString(error));
}

template <typename Element>
tutti_status launch(const char *op, int64_t count, const Element &element, void *queue)
{
    return count ? start_fake(op, RunEach<Element>{count, element}, queue) : TUTTI_OK;
}

template <typename Element>
tutti_status launch_blocks(const char *op, int64_t blocks, const Element &element, void *queue)
{
    return start_fake(op, RunBlocks<Element>{blocks, element}, queue);
}

} // namespace
