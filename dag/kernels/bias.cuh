/* Biases, which kernels of convolutions and dense layers for CUDA add by themselves: in float32, with
 * one rounding, to a tensor of rows with a bias for each column. Their gradients are summed in
 * blocks of rows in float32, and the blocks' sums in double, one after another. Internal to
 * dag/kernels. */
#ifndef TUTTI_BIAS_CUH
#define TUTTI_BIAS_CUH

#include "dag/kernels/cuda.cuh"

namespace
{

template <typename From, typename To> struct AddBias {
    const From *from;
    const float *bias;
    To *to;
    int64_t columns;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        put(to, i, get(from, i) + bias[remainder_of(i, columns)]);
    }
};

/* `from` and `to` may be the same. */
template <typename From, typename To>
tutti_status add_bias(const char *op, const From *from, const float *bias, To *to, int64_t rows,
    int64_t columns, void *queue)
{
    const AddBias<From, To> element = {from, bias, to, columns};
    return launch(op, rows * columns, element, queue);
}

/* A block's rows of a column. */
template <typename Value> struct SumBlock {
    const Value *from;
    float *sums;
    int64_t rows, columns, block_rows;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t first = i / columns * block_rows, left = rows - first, c = i % columns;
        const int64_t count = left < block_rows ? left : block_rows;
        float sum = 0;
        for (int64_t r = first; r < first + count; r++) sum += get(from, r * columns + c);
        sums[i] = sum;
    }
};

struct SumBlocks {
    const float *sums;
    float *to;
    int64_t blocks, columns;
    TUTTI_BOTH void operator()(int64_t c) const
    {
        double sum = 0;
        for (int64_t b = 0; b < blocks; b++) sum += (double)sums[b * columns + c];
        to[c] = (float)sum;
    }
};

inline int64_t sum_blocks(int64_t rows, int64_t columns)
{
    const int64_t block_rows = tutti_norm_block_rows(columns);
    return (rows + block_rows - 1) / block_rows;
}

/* The sum of each column; sums: room for sum_blocks(rows, columns) * columns floats. */
template <typename Value>
tutti_status sum_columns(const char *op, const Value *from, float *to, int64_t rows,
    int64_t columns, float *sums, void *queue)
{
    const int64_t blocks = sum_blocks(rows, columns);
    const SumBlock<Value> block = {from, sums, rows, columns, tutti_norm_block_rows(columns)};
    const SumBlocks merge = {sums, to, blocks, columns};
    const tutti_status status = launch(op, blocks * columns, block, queue);
    return status ? status : launch(op, columns, merge, queue);
}

/* Parts of a kernel's memory begin where 256 divides. */
inline size_t room_for(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

} // namespace

#endif
