/* What the fakes of cuDNN and cuBLAS share: the CPU's kernels compute for them. */
#ifndef TUTTI_FAKE_COMPUTE_H
#define TUTTI_FAKE_COMPUTE_H

#include "dag/kernels/kernel.h"
#include "tests/device/fake/fake.h"
#include "tests/support/cpu_kernel.h"

/* Runs an op's kernel for the CPU on its operands. `call` is named when it fails, which ends the process. */
void compute_run(const char *call, const tutti_op *op, tutti_dtype dtype, const void *desc,
    const cpu_operand operand[], int count);

/* The same numbers with the 10 bits of TF32 behind the point. */
void compute_round_tf32(float *numbers, size_t count);

/* Memory of the host; never NULL. */
void *compute_room(size_t bytes);

/* The stream of a library's handle. A library that works on the default stream is a misuse. */
void compute_check_stream(const char *call, cudaStream_t stream);

#endif
