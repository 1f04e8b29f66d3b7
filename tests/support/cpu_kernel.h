/* Running one kernel of the CPU, on processors without instructions for bf16, too. */
#ifndef TUTTI_TEST_CPU_KERNEL_H
#define TUTTI_TEST_CPU_KERNEL_H

#include "dag/kernels/kernel.h"

typedef struct cpu_operand {
    void *data;
    size_t count; /* elements */
    tutti_dtype dtype;
} cpu_operand;

/* Runs `kernel` on its operands, in the op's order. Where this processor cannot compute in bf16, runs
 * `wide`, the same op's kernel for float32, on widened copies, and rounds its results to bf16. UNSUPPORTED
 * when it can do neither, or the kernel's own error. */
tutti_status cpu_kernel_run(const tutti_kernel *kernel, const tutti_kernel *wide, const void *desc,
    const cpu_operand operand[], int count);

#endif
