/* What the kernels for CUDA share: the values of tensors, and the two ways to start a kernel.
 *
 * A <family>_cuda.cu is compiled up to three times. nvcc makes kernels of it, which run on the stream
 * that is the queue of their call. A C++ compiler makes functions of it, which go through the same
 * blocks and threads one after another on the calling thread; tests compare these with the CPU's
 * kernels. With TUTTI_CUDA_LAUNCH, the name of a header that has `launch` and the kernels' memory for a
 * device that is emulated, it makes kernels that run on that. All do the same operations in the same order as the
 * CPU's (nothing is contracted, by nvcc -fmad=false), so the bits are equal where the processor's arithmetic is IEEE's. Where sums are added
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
/* For the loop that follows, in code for a GPU: where it is unrolled, what it indexes can be in registers. */
#ifdef __CUDA_ARCH__
#define TUTTI_UNROLL _Pragma("unroll")
#define TUTTI_UNROLL_SOME _Pragma("unroll 8")
#define TUTTI_UNROLL_MANY _Pragma("unroll 32")
#else
#define TUTTI_UNROLL
#define TUTTI_UNROLL_SOME
#define TUTTI_UNROLL_MANY
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

/* Divides by a number that is known when the kernel starts: by a product and a shift. */
struct Divisor {
    int32_t divisor;
    uint32_t multiplier, shift;

    explicit Divisor(int32_t by) : divisor(by), shift(0)
    {
        while (((int64_t)1 << shift) < by) shift++;
        multiplier = (uint32_t)(((uint64_t)1 << (31 + shift)) / (uint64_t)by + 1);
    }

    /* i / divisor, of an i that is not negative. The multiplier is at most 1 more than 2^(31 + shift) / divisor, so the
     * product is less than 1 / divisor more than the quotient. */
    TUTTI_BOTH int32_t quotient(int32_t i) const
    {
        return (int32_t)((uint32_t)((uint64_t)(2 * (uint32_t)i) * multiplier >> 32) >> shift);
    }
};

/* Which image, row and column a pack is in, of a tensor of at most 2^31 - 1 elements, and the pack of its pixel. */
struct Place {
    int32_t n, h, w, c;
};

/* Of a tensor of H x W pixels, each of `packs` packs. */
struct Places {
    Divisor H, W, packs;
    TUTTI_BOTH Place operator()(int64_t i) const
    {
        const int32_t pixel = packs.quotient((int32_t)i), row = W.quotient(pixel);
        const int32_t n = H.quotient(row);
        return {
            n, row - n * H.divisor, pixel - row * W.divisor, (int32_t)i - pixel * packs.divisor};
    }

    int64_t in_image() const
    {
        return (int64_t)H.divisor * W.divisor * packs.divisor;
    }

    /* The other way. */
    TUTTI_BOTH int32_t pack(int32_t n, int32_t h, int32_t w, int32_t c) const
    {
        return ((n * H.divisor + h) * W.divisor + w) * packs.divisor + c;
    }
};

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

/* Numbers of packs, not addresses, tell the compiler that it may store one at once. */
template <typename Value, int WIDE>
TUTTI_BOTH inline void put_pack(Value *to, int64_t i, const Pack<Value, WIDE> &pack)
{
    ((Pack<Value, WIDE> *)to)[i] = pack;
}

/* A pack that stays in registers, as many as it has words: what it holds is made of them each time. */
template <typename Value, int WIDE> struct Kept {
    static constexpr int WORDS = (WIDE * (int)sizeof(Value) + 3) / 4;
    struct [[gnu::may_alias]] alignas(4 * WORDS) Words {
        uint32_t word[WORDS];
    };
    uint32_t word[WORDS];

    TUTTI_BOTH void take(const Value *from)
    {
        if constexpr (WIDE * sizeof(Value) == sizeof(Words)) {
            const Words words = *(const Words *)from;
            for (int i = 0; i < WORDS; i++) word[i] = words.word[i];
        } else
            word[0] = (uint32_t)*from;
    }

    TUTTI_BOTH float value(int j) const
    {
        uint32_t bits = word[sizeof(Value) == 4 ? j : j / 2];
        if (sizeof(Value) == 2) bits = j % 2 ? bits & 0xffff0000 : bits << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }

    /* From here on the compiler does not know what was made of it before, which it would keep beside it. */
    TUTTI_BOTH void forget()
    {
#ifdef __CUDA_ARCH__
        for (int i = 0; i < WORDS; i++) asm volatile("" : "+r"(word[i]));
#endif
    }
};

/* Element j of a pack. A GPU has it in registers of four bytes, each of which holds two elements of bf16. */
template <int WIDE> TUTTI_BOTH inline float get(const Pack<float, WIDE> &pack, int j)
{
    return pack.value[j];
}

template <int WIDE> TUTTI_BOTH inline float get(const Pack<uint16_t, WIDE> &pack, int j)
{
    if constexpr (WIDE == 1) return get(pack.value, j);
    uint32_t bits;
    memcpy(&bits, pack.value + j / 2 * 2, sizeof bits);
    bits = j % 2 ? bits & 0xffff0000 : bits << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Two numbers that are not NaN, as put rounds them. */
TUTTI_BOTH inline uint32_t rounded_pair(float first, float second)
{
#ifdef __CUDA_ARCH__
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
#else
    uint32_t low, high;
    memcpy(&low, &first, sizeof low);
    memcpy(&high, &second, sizeof high);
    return TUTTI_BF16_CARRIED(low) >> 16 | (TUTTI_BF16_CARRIED(high) & 0xffff0000);
#endif
}

/* A pack of these numbers. A GPU's own rounding writes the same bits (denormal numbers stay), but for NaNs. */
template <typename Value, int WIDE>
TUTTI_BOTH inline Pack<Value, WIDE> packed(const float (&value)[WIDE])
{
    Pack<Value, WIDE> pack;
    bool any_nan = WIDE == 1 || sizeof(Value) == sizeof(float);
    for (int j = 0; j < WIDE; j++) any_nan |= value[j] != value[j];
    if (any_nan)
        for (int j = 0; j < WIDE; j++) put(pack.value, j, value[j]);
    else
        for (int j = 0; j + 1 < WIDE; j += 2) {
            const uint32_t pair = rounded_pair(value[j], value[j + 1]);
            memcpy(pack.value + j, &pair, sizeof pair);
        }
    return pack;
}

/* Whether these tensors begin where packs may. */
template <int WIDE, typename... Values> inline bool has_packs(const Values *...tensor)
{
    return (((uintptr_t)tensor % sizeof(Pack<Values, WIDE>) == 0) && ...);
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

/* At least one byte of it; the last `zeros` of them are 0. NOMEM, logged. */
inline tutti_status space_new(const char *op, size_t bytes, size_t zeros, void **memory);
inline void space_release(void *memory); /* accepts NULL */

inline tutti_status space_get(const char *op, size_t bytes, tutti_workspace **space)
{
    static const tutti_workspace_source device = {space_new, space_release};
    return tutti_workspace_join(op, bytes, &device, space);
}

/* Of one without memory yet, at least this many bytes. */
inline tutti_status space_grow(const char *op, size_t bytes, tutti_workspace *space)
{
    static const tutti_workspace_source device = {space_new, space_release};
    return tutti_workspace_reserve(op, bytes, &device, space);
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

/* Element(i) of a kernel that is written for packs: element.pack<WIDE>(i) computes elements WIDE * i and
 * those behind it. */
template <typename Element, int WIDE> struct InPacks {
    Element element;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        element.template pack<WIDE>(i);
    }
};

/* The threads of a block. What is outside of steps is computed by each of them alike. */
struct Block {
    /* step(thread) for each; what follows begins once all of them have ended. */
    template <typename Step> TUTTI_BOTH void each(const Step &step) const
    {
#ifdef __CUDA_ARCH__
        step((int)threadIdx.x);
        __syncthreads();
#else
        for (int thread = 0; thread < THREADS; thread++) step(thread);
#endif
    }
};

/* Of the `all` threads of a launch that call this with one counter, each of another block, true for the last one: what
 * the others' blocks wrote in earlier steps can be read with `latest`. The counter is 0 before and after. */
TUTTI_BOTH inline bool comes_last(uint32_t *counter, uint32_t all)
{
#ifdef __CUDA_ARCH__
    __threadfence();
    const uint32_t before = atomicInc(counter, all - 1);
    __threadfence();
#else
    const uint32_t before = *counter;
    *counter = before + 1 < all ? before + 1 : 0;
#endif
    return before + 1 == all;
}

/* An element that another block wrote in this launch. */
template <typename Value> TUTTI_BOTH inline Value latest(const Value *from, int64_t i)
{
#ifdef __CUDA_ARCH__
    return __ldcg(from + i);
#else
    return from[i];
#endif
}

#ifdef __CUDACC__

inline tutti_status space_new(const char *op, size_t bytes, size_t zeros, void **memory)
{
    cudaError_t error = cudaMalloc(memory, bytes);
    if (!error) {
        error = cudaMemset((char *)*memory + bytes - zeros, 0, zeros);
        if (!error) error = cudaStreamSynchronize(0);
        if (error) cudaFree(*memory);
    }
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

template <typename Element>
__global__ void __launch_bounds__(THREADS, Element::RESIDENT)
    run_blocks(const __grid_constant__ Element element)
{
    __shared__ typename Element::Shared shared;
    element(Block(), (int64_t)blockIdx.x, shared);
}

inline tutti_status started(const char *op)
{
    const cudaError_t error = cudaGetLastError();
    if (!error) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_KERNEL, "%s: the kernel does not start: %s", op, cudaGetErrorString(error));
}

/* element(i) for every i from 0 to count - 1, in any order. Returns when the kernel is on its
 * stream. KERNEL, logged with the op's name. */
template <typename Element>
tutti_status launch(const char *op, int64_t count, const Element &element, void *queue)
{
    if (!count) return TUTTI_OK; /* a grid has at least one block */
    run_each<<<blocks_for(count), THREADS, 0, (cudaStream_t)queue>>>(count, element);
    return started(op);
}

/* element(block, i, shared) for every i from 0 to blocks - 1, in any order: each is a block of threads with an
 * Element::Shared, which is not initialised. On a GPU Element::RESIDENT of them fit on a multiprocessor. */
template <typename Element>
tutti_status launch_blocks(const char *op, int64_t blocks, const Element &element, void *queue)
{
    run_blocks<<<(unsigned)blocks, THREADS, 0, (cudaStream_t)queue>>>(element);
    return started(op);
}

#else

/* A kernel as a function, which runs it on the calling thread. */
template <typename Element> struct RunEach {
    int64_t count;
    Element element;
    void operator()() const
    {
        const int blocks = blocks_for(count);
        for (int block = 0; block < blocks; block++)
            for (int thread = 0; thread < THREADS; thread++)
                each((int64_t)block * THREADS + thread, (int64_t)blocks * THREADS, count, element);
    }
};

/* Every other block from the last one on, then the others: on a GPU they come in any order. */
template <typename Element> struct RunBlocks {
    int64_t blocks;
    Element element;
    void operator()() const
    {
        typename Element::Shared shared;
        for (int turn = 1; turn <= 2; turn++)
            for (int64_t block = blocks - turn; block >= 0; block -= 2) {
                memset(&shared, 0xff, sizeof shared);
                element(Block(), block, shared);
            }
    }
};

#ifndef TUTTI_CUDA_LAUNCH

inline tutti_status space_new(const char *op, size_t bytes, size_t zeros, void **memory)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256); /* as the device's memory is */
    if (!*memory) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", op);
    memset((char *)*memory + bytes - zeros, 0, zeros);
    return TUTTI_OK;
}

inline void space_release(void *memory)
{
    free(memory);
}

template <typename Element>
tutti_status launch(const char *op, int64_t count, const Element &element, void *queue)
{
    (void)op;
    (void)queue;
    RunEach<Element>{count, element}();
    return TUTTI_OK;
}

template <typename Element>
tutti_status launch_blocks(const char *op, int64_t blocks, const Element &element, void *queue)
{
    (void)op;
    (void)queue;
    RunBlocks<Element>{blocks, element}();
    return TUTTI_OK;
}

#endif
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

/* ---- Kernels that compute each element by itself ---- */

/* Its tensors are of float32, or go with such: the elements of a pack. */
enum { WORK_WIDE = WIDEST<float> };

/* element.pack<WIDE>(i), of `count` elements. packs: all tensors begin where packs may. */
template <typename Element> struct Work {
    const char *op;
    Element element;
    int64_t count;
    bool packs;
};

/* Up to MOST of these in one launch. Their items are whole packs, and then the elements that are left. Each has
 * tiles of its own, of `depth` items for each of THREADS threads. */
template <typename Element, int MOST> struct Works {
    int works, depth;
    int first[MOST + 1]; /* tile of each work; behind the last one, the number of all */
    int64_t packs[MOST], items[MOST];
    Element element[MOST];

    /* The last work that begins at this tile or before it: one without items has none. */
    TUTTI_BOTH int work_of(int64_t tile) const
    {
        int low = 0, high = works;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            if (first[middle] <= tile)
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t tile = quotient(i, THREADS);
        const int w = work_of(tile);
        const int64_t from = (tile - first[w]) * depth * THREADS + i - tile * THREADS;
        if (from >= items[w]) return;
        const auto &ready_element = ready(element[w]);
        for (int k = 0; k < depth; k++) {
            const int64_t item = from + k * THREADS;
            if (item >= items[w]) return;
            if (item < packs[w])
                ready_element.template pack<WORK_WIDE>(item);
            else
                ready_element.template pack<1>(item + packs[w] * (WORK_WIDE - 1));
        }
    }

    void add(const Work<Element> &work)
    {
        packs[works] = work.packs ? work.count / WORK_WIDE : 0;
        items[works] = work.count - packs[works] * (WORK_WIDE - 1);
        element[works++] = work.element;
    }

    tutti_status start(const char *op, void *queue)
    {
        int64_t all = 0;
        for (int w = 0; w < works; w++) all += items[w];
        depth = all > (int64_t)THREADS * MOST_BLOCKS / 4 ? 4 : 1;
        const int64_t tile = (int64_t)THREADS * depth;
        for (int w = 0; w < works; w++)
            first[w + 1] = first[w] + (int)((items[w] + tile - 1) / tile);
        return launch(op, (int64_t)first[works] * THREADS, *this, queue);
    }
};

/* As many as the parameters of a kernel have room for. */
enum { PARAMETER_BYTES = 4000 };
template <typename Element>
constexpr int MOST_WORKS = (PARAMETER_BYTES - 16) /
                           (int)(sizeof(Element) + sizeof(int) + 2 * sizeof(int64_t));

/* fn of a row. work_of: from its args and buf to its Work. */
template <auto work_of> tutti_status run_one(const void *args, void *const buf[], void *queue)
{
    const auto work = work_of(args, buf);
    Works<decltype(work.element), 1> one = {};
    one.add(work);
    return one.start(work.op, queue);
}

/* many of a row. */
template <auto work_of>
tutti_status run_many(int count, void *const args[], void *const *const buf[], void *queue)
{
    using Element = decltype(work_of(NULL, NULL).element);
    tutti_status status = TUTTI_OK;
    for (int next = 0; next < count && !status;) {
        Works<Element, MOST_WORKS<Element>> list = {};
        const char *op = "";
        for (; next < count && list.works < MOST_WORKS<Element>; next++) {
            const Work<Element> work = work_of(args[next], buf[next]);
            op = work.op;
            list.add(work);
        }
        status = list.start(op, queue);
    }
    return status;
}

} // namespace

/* Rows of a table: of an op and type, whose `close` is tutti_cpu_free; of both types; of one that keeps memory beside
 * its descriptor; of Works, which are many. `...`: fn, or what makes the Work. */
/* clang-format off */
#define ROW(op, dtype, open, ...)                                                                  \
    {&tutti_op_##op, TUTTI_CUDA, dtype, open, __VA_ARGS__, tutti_cpu_free, NULL}
#define ROWS(op, open, run)                                                                        \
    ROW(op, TUTTI_F32, open, run<float>), ROW(op, TUTTI_BF16, open, run<uint16_t>)
#define ROW_WITH(op, dtype, open, desc, ...)                                                       \
    {&tutti_op_##op, TUTTI_CUDA, dtype, open, __VA_ARGS__, close_with<desc>, NULL}
#define WORK(op, dtype, open, ...)                                                                 \
    {&tutti_op_##op, TUTTI_CUDA, dtype, open, run_one<__VA_ARGS__>, tutti_cpu_free,                \
        run_many<__VA_ARGS__>}
/* clang-format on */

#endif
