/* The table of kernels: the rows of every family. */
#include "dag/kernels/cpu.h"
#include "dag/kernels/cuda_rows.h"
#include "dag/kernels/kernel.h"

#define ALL_ISAS(family)                                                                           \
    {                                                                                              \
        family, family, family                                                                     \
    }

/* For each clone; each ends with a row without an op. */
static const tutti_kernel *const families[][TUTTI_ISAS] = {
    ALL_ISAS(tutti_kernels_conv_cpu),
    ALL_ISAS(tutti_kernels_dense_cpu),
    TUTTI_OF_EACH_ISA(tutti_kernels_norm),
    TUTTI_OF_EACH_ISA(tutti_kernels_act),
    ALL_ISAS(tutti_kernels_pool_cpu),
    TUTTI_OF_EACH_ISA(tutti_kernels_lrn),
    TUTTI_OF_EACH_ISA(tutti_kernels_arith),
    ALL_ISAS(tutti_kernels_loss_cpu),
    TUTTI_OF_EACH_ISA(tutti_kernels_optim),
    ALL_ISAS(tutti_kernels_pixel_cpu),
    TUTTI_OF_EACH_ISA(tutti_kernels_mixup),
    TUTTI_OF_EACH_ISA(tutti_kernels_codec),
    TUTTI_OF_EACH_ISA(tutti_kernels_share),
};

/* The rows of the f-th family; NULL past the end. */
static const tutti_kernel *rows_of(size_t f)
{
    const size_t count = sizeof families / sizeof *families;
    return f < count ? families[f][tutti_isa_chosen()] : tutti_kernels_cuda[f - count];
}

const tutti_kernel *tutti_kernel_get(int i)
{
    const tutti_kernel *rows;
    for (size_t f = 0; (rows = rows_of(f)); f++)
        for (const tutti_kernel *row = rows; row->op; row++)
            if (i-- == 0) return row;
    return NULL;
}

const tutti_kernel *tutti_kernel_find(const tutti_op *op, tutti_device device, tutti_dtype dtype)
{
    const tutti_kernel *rows;
    for (size_t f = 0; (rows = rows_of(f)); f++)
        for (const tutti_kernel *row = rows; row->op; row++)
            if (row->op == op && row->device == device && row->dtype == dtype) return row;
    return NULL;
}

const tutti_kernel *tutti_kernel_find_tf32(const tutti_op *op)
{
    for (int f = 0; tutti_kernels_tf32[f]; f++)
        for (const tutti_kernel *row = tutti_kernels_tf32[f]; row->op; row++)
            if (row->op == op) return row;
    return NULL;
}

/* Whether an earlier row has the op of this one. */
static int is_repeated(int row)
{
    const tutti_op *op = tutti_kernel_get(row)->op;
    for (int r = 0; r < row; r++)
        if (tutti_kernel_get(r)->op == op) return 1;
    return 0;
}

const tutti_op *tutti_op_get(int i)
{
    const tutti_kernel *row;
    for (int r = 0; (row = tutti_kernel_get(r)); r++)
        if (!is_repeated(r) && i-- == 0) return row->op;
    return NULL;
}

const char *tutti_device_name(tutti_device device)
{
    return device == TUTTI_CPU ? "CPU" : device == TUTTI_CUDA ? "CUDA" : "unknown";
}
