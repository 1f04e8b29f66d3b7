#include "tests/device/fake/compute.h"

#include "dag/kernels/cpu.h"
#include "dag/kernels/dense.h"

#include <stdlib.h>
#include <string.h>

static const tutti_kernel *find(const tutti_op *op, tutti_dtype dtype)
{
    static const tutti_kernel *const rows[] = {tutti_kernels_conv_cpu, tutti_kernels_dense_cpu};
    for (size_t f = 0; f < sizeof rows / sizeof *rows; f++)
        for (const tutti_kernel *row = rows[f]; row->op; row++)
            if (row->op == op && row->dtype == dtype) return row;
    return NULL;
}

void compute_run(const char *call, const tutti_op *op, tutti_dtype dtype, const void *desc,
    const cpu_operand operand[], int count)
{
    const tutti_op *wide = op == &tutti_op_dense_wide ? &tutti_op_dense : op;
    if (cpu_kernel_run(find(op, dtype), find(wide, TUTTI_F32), desc, operand, count))
        fake_fail("%s: the CPU's kernel of %s does not compute it", call, op->name);
}

void compute_round_tf32(float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        if ((bits & 0x7f800000) != 0x7f800000)
            bits = (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000;
        memcpy(&numbers[i], &bits, sizeof bits);
    }
}

void *compute_room(size_t bytes)
{
    void *room = malloc(bytes ? bytes : 1);
    if (!room) fake_fail("no memory for %zu bytes to compute with", bytes);
    return room;
}

void compute_check_stream(const char *call, cudaStream_t stream)
{
    if (!stream) fake_fail("%s on the default stream: its handle was given none", call);
}
