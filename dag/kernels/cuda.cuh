/* What the kernels for CUDA share: the values of tensors, and the one way to start a kernel.
 *
 * A <family>_cuda.cu is compiled up to three times. nvcc makes kernels of it, which run on the stream
 * that is the queue of their call. A C++ compiler makes functions of it, which go through the same
 * blocks and threads one after another on the calling thread; tests compare these with the CPU's
 * kernels. With TUTTI_CUDA_LAUNCH, the name of a header that has `launch` and the kernels' memory for a
 * device that is not there, it makes kernels that run on that. All do the same operations in the same order as the CPU's (nothing is contracted: nvcc is told
 * -fmad=false), so the bits are equal where the processor's arithmetic is IEEE's. Where sums are added
 * in another order, the file says so.
 *
 * All of it is in an unnamed namespace: a program may contain both. C++17. Internal to
 * dag/kernels. */
#ifndef TUTTI_CUDA_CUH
#define TUTTI_CUDA_CUH

extern "C" {
#include "dag/base/bf16.h"
#include "dag/base/log.h"
#include "dag/kernels/open.h"
#include "dag/kernels/workspace.h"
}

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined __CUDACC__ || defined TUTTI_CUDA_LAUNCH
#define TUTTI_CUDA_TABLE(family) tutti_kernels_##family##_cuda
#else
#define TUTTI_CUDA_TABLE(family) tutti_kernels_##family##_host
#endif
#ifdef __CUDACC__
#define TUTTI_BOTH __host__ __device__
#else
#define TUTTI_BOTH
#endif

namespace
{

/* An element as what is computed with: float32 from float, and from bf16 in a uint16_t. */
TUTTI_BOTH inline float get(const float *from, int64_t i)
{
    return from[i];
}

TUTTI_BOTH inline float get(const uint16_t *from, int64_t i)
{
    const uint32_t bits = (uint32_t)from[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TUTTI_BOTH inline void put(float *to, int64_t i, float value)
{
    to[i] = value;
}

TUTTI_BOTH inline void put(uint16_t *to, int64_t i, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    to[i] = (uint16_t)TUTTI_BF16_ROUND(bits);
}

/* a / b and a % b of numbers that are not negative, in 32 bits where that does: a GPU takes several
 * times as long for 64. */
TUTTI_BOTH inline int64_t quotient(int64_t a, int64_t b)
{
    return (a | b) >> 32 ? a / b : (int64_t)((uint32_t)a / (uint32_t)b);
}

TUTTI_BOTH inline int64_t remainder_of(int64_t a, int64_t b)
{
    return a - quotient(a, b) * b;
}

/* WIDE elements side by side, which a thread moves at once. */
template <typename Value, int WIDE> struct alignas(WIDE * sizeof(Value)) Pack {
    Value value[WIDE];
};

/* So many that they are 16 bytes, the most that a GPU moves at once. */
template <typename Value> constexpr int WIDEST = 16 / (int)sizeof(Value);

/* Pack i of a tensor. */
template <int WIDE, typename Value>
TUTTI_BOTH inline Pack<Value, WIDE> pack_at(const Value *from, int64_t i)
{
    return ((const Pack<Value, WIDE> *)from)[i];
}

template <typename Value, int WIDE>
TUTTI_BOTH inline void put_pack(Value *to, int64_t i, const Pack<Value, WIDE> &pack)
{
    ((Pack<Value, WIDE> *)to)[i] = pack;
}

/* Whether a tensor begins where packs may. */
template <int WIDE, typename Value> inline bool has_packs(const Value *tensor)
{
    return (uintptr_t)tensor % sizeof(Pack<Value, WIDE>) == 0;
}

/* max(v, 0); NaN stays NaN. */
TUTTI_BOTH inline float rectified(float v)
{
    return v <= 0.0f ? 0.0f : v;
}

/* So many tensors of a list fit into a kernel's parameters. */
enum { MOST_INPUTS = 256 };

inline tutti_status check_inputs(const char *op, int inputs)
{
    if (inputs <= MOST_INPUTS) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_UNSUPPORTED, "%s: %d inputs on a GPU, which takes %d", op, inputs, MOST_INPUTS);
}

/* ---- Kernels that work in memory of the device ---- */

/* At least one byte of it. NOMEM, logged. */
inline tutti_status space_new(const char *op, size_t bytes, void **memory);
inline void space_release(void *memory); /* accepts NULL */

inline tutti_status space_get(const char *op, size_t bytes, tutti_workspace **space)
{
    static const tutti_workspace_source device = {space_new, space_release};
    return tutti_workspace_join(op, bytes, &device, space);
}

/* What such a kernel opens: its descriptor, and memory for what one launch leaves to the next. */
template <typename Desc> struct Opened {
    Desc desc;
    tutti_workspace *space;
};

template <typename Desc>
inline tutti_status open_with(const char *op, const Desc *desc, size_t bytes, void **args)
{
    Opened<Desc> *opened = (Opened<Desc> *)malloc(sizeof *opened);
    if (!opened) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", op);
    opened->desc = *desc;
    const tutti_status status = space_get(op, bytes, &opened->space);
    if (status)
        free(opened);
    else
        *args = opened;
    return status;
}

template <typename Desc> void close_with(void *args)
{
    if (args) tutti_workspace_leave(((Opened<Desc> *)args)->space);
    free(args);
}

/* ---- Starting a kernel ---- */

enum { THREADS = 256, MOST_BLOCKS = 1 << 14 };

inline int blocks_for(int64_t count)
{
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    return blocks < MOST_BLOCKS ? (int)blocks : MOST_BLOCKS;
}

/* What a thread computes once, before its first element: another function of an element. Where a
 * kernel has something to compute, it overloads this for its own type. */
template <typename Element> TUTTI_BOTH inline const Element &ready(const Element &element)
{
    return element;
}

/* What one thread does: element by element, a whole grid apart. */
template <typename Element>
TUTTI_BOTH inline void each(int64_t first, int64_t step, int64_t count, const Element &element)
{
    if (first >= count) return;
    const auto &ready_element = ready(element);
    for (int64_t i = first; i < count; i += step) ready_element(i);
}

/* Element(i) of a kernel that is told in packs: element.pack<WIDE>(i) computes elements WIDE * i and
 * those behind it. */
template <typename Element, int WIDE> struct InPacks {
    Element element;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        element.template pack<WIDE>(i);
    }
};

#ifdef __CUDACC__

inline tutti_status space_new(const char *op, size_t bytes, void **memory)
{
    const cudaError_t error = cudaMalloc(memory, bytes);
    if (!error) return TUTTI_OK;
    (void)cudaGetLastError(); /* it would be the next launch's */
    return tutti_fail(TUTTI_ERR_NOMEM,
        "%s: no %zu bytes of the GPU's memory to open the kernel: %s", op, bytes,
        cudaGetErrorString(error));
}

inline void space_release(void *memory)
{
    cudaFree(memory);
}

template <typename Element>
__global__ void __launch_bounds__(THREADS)
    run_each(int64_t count, const __grid_constant__ Element element)
{
    each((int64_t)blockIdx.x * THREADS + threadIdx.x, (int64_t)gridDim.x * THREADS, count, element);
}

/* element(i) for every i from 0 to count - 1, in any order. Returns when the kernel is on its
 * stream. KERNEL, logged with the op's name. */
template <typename Element>
tutti_status launch(const char *op, int64_t count, const Element &element, void *queue)
{
    if (!count) return TUTTI_OK; /* a grid has at least one block */
    run_each<<<blocks_for(count), THREADS, 0, (cudaStream_t)queue>>>(count, element);
    const cudaError_t error = cudaGetLastError();
    if (!error) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_KERNEL, "%s: the kernel does not start: %s", op, cudaGetErrorString(error));
}

#elif !defined TUTTI_CUDA_LAUNCH

inline tutti_status space_new(const char *op, size_t bytes, void **memory)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256); /* as the device's memory is */
    return *memory ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", op);
}

inline void space_release(void *memory)
{
    free(memory);
}

template <typename Element>
tutti_status launch(const char *op, int64_t count, const Element &element, void *queue)
{
    const int blocks = blocks_for(count);
    (void)op;
    (void)queue;
    for (int block = 0; block < blocks; block++)
        for (int thread = 0; thread < THREADS; thread++)
            each((int64_t)block * THREADS + thread, (int64_t)blocks * THREADS, count, element);
    return TUTTI_OK;
}

#endif

} // namespace

#ifdef TUTTI_CUDA_LAUNCH
#include TUTTI_CUDA_LAUNCH
#endif

namespace
{

/* launch, in packs of WIDE if `packs` says that all tensors have them, one by one otherwise. */
template <int WIDE, typename Element>
tutti_status launch_packs(
    const char *op, int64_t count, bool packs, const Element &element, void *queue)
{
    const InPacks<Element, WIDE> wide = {element};
    const InPacks<Element, 1> single = {element};
    return packs && count % WIDE == 0 ? launch(op, count / WIDE, wide, queue)
                                      : launch(op, count, single, queue);
}

} // namespace

#endif
