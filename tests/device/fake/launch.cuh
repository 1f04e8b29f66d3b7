/* How kernels start on the fake device, and get memory: dag/kernels/cuda.cuh includes this where it
 * is compiled as C++ with TUTTI_CUDA_LAUNCH. The kernel is a copy of its functor, whose addresses are
 * replaced by those that the fake's thread can use. */
#include "tests/device/fake/fake.h"

#include <new>
#include <type_traits>

namespace
{

inline tutti_status space_new(const char *op, size_t bytes, void **memory)
{
    const cudaError_t error = cudaMalloc(memory, bytes);
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

template <typename Element> struct FakeKernel {
    int64_t count;
    Element element;

    static int run(void *arg)
    {
        FakeKernel *kernel = (FakeKernel *)arg;
        const int blocks = blocks_for(kernel->count);
        for (int block = 0; block < blocks; block++)
            for (int thread = 0; thread < THREADS; thread++)
                each((int64_t)block * THREADS + thread, (int64_t)blocks * THREADS, kernel->count,
                    kernel->element);
        kernel->~FakeKernel();
        free(arg);
        return 1;
    }
};

template <typename Element>
tutti_status launch(const char *op, int64_t count, const Element &element, void *queue)
{
    static_assert(
        std::is_trivially_copyable<Element>::value, "a kernel's parameters are copied as bytes");
    if (!queue) fake_fail("%s on the default stream", op);
    if (!count) return TUTTI_OK;
    void *memory = malloc(sizeof(FakeKernel<Element>));
    if (!memory) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to start the kernel", op);
    FakeKernel<Element> *kernel = new (memory) FakeKernel<Element>{count, element};
    /* What the compiler left between the members is anything, and a number beside it would look like an address. */
    __builtin_clear_padding(&kernel->element);
    fake_access access[sizeof(Element) / sizeof(void *) + 1];
    const int accesses =
        fake_inside_all(op, (void *)&kernel->element, sizeof kernel->element, access);
    const fake_work work = {op, FakeKernel<Element>::run, kernel, access, accesses};
    fake_enqueue((cudaStream_t)queue, &work);
    return TUTTI_OK;
}

} // namespace
