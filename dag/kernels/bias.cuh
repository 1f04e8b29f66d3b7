/* Biases, which kernels of convolutions and dense layers for CUDA add by themselves: in float32, with
 * one rounding, to a tensor of rows with a bias for each column, and the ReLU behind. Their gradients are summed in
 * blocks of rows in float32. MOST_CHAIN blocks' sums are added in double, then as many of these, until
 * one is left: a chain of additions takes a GPU as long as many of them side by side. Internal to
 * dag/kernels. */
#ifndef TUTTI_BIAS_CUH
#define TUTTI_BIAS_CUH

#include "dag/kernels/cuda.cuh"

namespace
{

/* Packs are of columns side by side. */
template <typename From, typename To> struct AddBias {
    const From *from;
    const float *bias; /* or NULL */
    To *to;
    int64_t columns;
    int relu;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        constexpr int PART = WIDE < WIDEST<float> ? WIDE : WIDEST<float>;
        const int64_t first = remainder_of(i, columns / WIDE) * (WIDE / PART);
        const Pack<From, WIDE> values = pack_at<WIDE>(from, i);
        float y[WIDE];
        for (int j = 0; j < WIDE; j++) y[j] = get(values, j);
        for (int part = 0; bias && part < WIDE / PART; part++) {
            const Pack<float, PART> more = pack_at<PART>(bias, first + part);
            for (int j = 0; j < PART; j++) y[part * PART + j] += more.value[j];
        }
        for (int j = 0; relu && j < WIDE; j++) y[j] = rectified(y[j]);
        put_pack(to, i, packed<To>(y));
    }
};

/* `from` and `to` may be the same. */
template <typename From, typename To>
tutti_status add_bias(const char *op, const From *from, const float *bias, int relu, To *to,
    int64_t rows, int64_t columns, void *queue)
{
    constexpr int WIDE = WIDEST<From>;
    const AddBias<From, To> element = {from, bias, to, columns, relu};
    const bool packs = columns % WIDE == 0 && has_packs<WIDE>(from) && has_packs<WIDE>(to) &&
                       has_packs<WIDEST<float>>(bias);
    return launch_packs<WIDE>(op, rows * columns, packs, element, queue);
}

/* So many numbers are added one after another. */
enum { MOST_CHAIN = 128, LEAST_CHAIN = 16 };

inline int64_t chains(int64_t rows, int64_t chain)
{
    return (rows + chain - 1) / chain;
}

/* How many rows a block has: as few as leave one launch to merge the blocks, or MOST_CHAIN. */
inline int64_t chain_of(int64_t rows)
{
    int64_t chain = rows <= MOST_CHAIN ? MOST_CHAIN : LEAST_CHAIN;
    while (chain < MOST_CHAIN && chains(rows, chain) > MOST_CHAIN) chain *= 2;
    return chain;
}

/* The sums of `chain` rows each, in a pack of columns. Sum: the type in which they are added. */
template <typename Value, typename Sum> struct SumRows {
    const Value *from;
    float *to;
    int64_t rows, columns, chain;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const int64_t packs = columns / WIDE, block = quotient(i, packs), p = i - block * packs;
        const int64_t first = block * chain, end = first + chain < rows ? first + chain : rows;
        Sum sum[WIDE] = {};
        for (int64_t r = first; r < end; r++) {
            const Pack<Value, WIDE> more = pack_at<WIDE>(from, r * packs + p);
            for (int j = 0; j < WIDE; j++) sum[j] += (Sum)get(more.value, j);
        }
        Pack<float, WIDE> sums;
        for (int j = 0; j < WIDE; j++) sums.value[j] = (float)sum[j];
        put_pack(to, i, sums);
    }
};

template <typename Sum, typename Value>
tutti_status sum_rows(const char *op, const Value *from, float *to, int64_t rows, int64_t columns,
    int64_t chain, void *queue)
{
    constexpr int WIDE = WIDEST<Value>;
    const SumRows<Value, Sum> element = {from, to, rows, columns, chain};
    const bool packs = columns % WIDE == 0 && has_packs<WIDE>(from) && has_packs<WIDE>(to);
    return launch_packs<WIDE>(op, chains(rows, chain) * columns, packs, element, queue);
}

/* Room for the sums of blocks, and for those of blocks' sums. */
inline int64_t sums_room(int64_t rows, int64_t columns)
{
    const int64_t blocks = chains(rows, chain_of(rows));
    return blocks > 1 ? (blocks + chains(blocks, MOST_CHAIN)) * columns : 0;
}

/* The sum of each column; sums: room for sums_room(rows, columns) floats. */
template <typename Value>
tutti_status sum_columns(const char *op, const Value *from, float *to, int64_t rows,
    int64_t columns, float *sums, void *queue)
{
    const int64_t chain = chain_of(rows);
    int64_t left = chains(rows, chain);
    float *next = left > 1 ? sums : to, *other = sums + left * columns;
    tutti_status status = sum_rows<float>(op, from, next, rows, columns, chain, queue);
    while (left > 1 && !status) {
        const float *last = next;
        const int64_t had = left;
        left = chains(had, MOST_CHAIN);
        next = left == 1 ? to : other;
        other = (float *)last;
        status = sum_rows<double>(op, last, next, had, columns, MOST_CHAIN, queue);
    }
    return status;
}

/* Parts of a kernel's memory begin where 256 divides. */
inline size_t room_for(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

} // namespace

#endif
