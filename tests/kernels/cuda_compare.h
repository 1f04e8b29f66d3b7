/* Kernels for CUDA, compiled as C++, beside those of the CPU. */
#ifndef TUTTI_TEST_CUDA_COMPARE_H
#define TUTTI_TEST_CUDA_COMPARE_H

#include "tests/kernels/cases.h"
#include "tests/support/testing.h"

extern int cuda_compared;    /* ops of cases */
extern char cuda_streams[2]; /* their addresses are streams */
extern int cuda_runs;        /* of each kernel */

/* Numbers of every kind, from a seed. */
typedef struct any_numbers {
    uint64_t seed;
    int nans; /* none where two may meet: which of them is the result is not specified */
} any_numbers;

/* The row of an op and type, of test_host_rows or test_host_tf32; of test_host_rows. NULL: there is none. */
const tutti_kernel *cuda_kernel_of(
    const tutti_kernel *const rows[], const tutti_op *op, tutti_dtype dtype);
const tutti_kernel *cuda_kernel(const tutti_op *op, tutti_dtype dtype);
int cuda_is_product(const tutti_op *op);
void cuda_run(const tutti_kernel *kernel, const test_case *c, void *const buf[]);
void cuda_open_case(test_case *c, const char *text, tutti_dtype values);
/* Runs an op of the case in both ways from the same inputs, and compares what they write. */
void cuda_compare(const test_case *c, const tutti_op *op);
/* Compares the ops of a case on `any` numbers, or the case's own. Returns whether the family has such a case. */
int cuda_one_case(const char *text, tutti_dtype values, const any_numbers *any);

/* Adds the tests of convolutions and dense layers (cuda_products.c). */
void cuda_add_products(TCase *tests);

#endif
