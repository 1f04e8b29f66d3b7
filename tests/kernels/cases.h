/* The cases of the kernel tests: a family of ops, a descriptor, and the input and output tensors.
 *
 * Every tensor exists twice: `data`, which the kernels see, and `value`, the same numbers in double
 * precision for the reference. Inputs are a function of the case's text and the tensor's name (fill
 * in cases.c; make.py has the same function), so that only results are stored as golden numbers. */
#ifndef TUTTI_KERNEL_CASES_H
#define TUTTI_KERNEL_CASES_H

#include "dag/base/dtype.h"
#include "dag/kernels/kernel.h"

#include <stdint.h>

enum { MAX_TENSORS = 12, MAX_OPS = 4, MAX_DESC = 256, MAX_TEXT = 160, MAX_BUFFERS = 16 };

typedef struct test_tensor {
    char name[16];
    tutti_dtype dtype;
    int64_t count;
    double *value;
    void *data;
} test_tensor;

typedef struct test_case test_case;

typedef struct test_family {
    const char *name;
    int halves; /* its cases also run with values of bf16 */
    int ops;
    const tutti_op *op[MAX_OPS];           /* later ops use the results of earlier ones */
    void (*tensors)(test_case *c);         /* declares the tensors with test_declare */
    void (*reference)(const test_case *c); /* inputs' values -> outputs' values */
} test_family;

struct test_case {
    const test_family *family;
    tutti_dtype values; /* F32, or BF16 for a family with `halves` */
    char text[MAX_TEXT];
    union {
        char bytes[MAX_DESC];
        int64_t align;
    } desc;
    int tensors;
    test_tensor tensor[MAX_TENSORS];
};

/* Calls `use` with every case of a file of this folder: cases.txt, or large_cases.txt. */
void test_each_text(const char *file, void (*use)(const char *text, void *context), void *context);

/* Reads "family key=value ..."; false if a word is unknown. Sets only the family, the type of its
 * values, the text and the descriptor. */
int test_parse(const char *text, tutti_dtype values, test_case *c);
/* Declares the tensors, allocates and fills them. test_case_close frees them. */
void test_case_open(test_case *c);
void test_case_close(test_case *c);
/* For a family's `tensors`. */
void test_declare(test_case *c, const char *name, tutti_dtype dtype, int64_t count);

/* The tensor of that name, or NULL; test_value: its values, which must exist. */
const test_tensor *test_find(const test_case *c, const char *name);
double *test_value(const test_case *c, const char *name);
/* test_element reads an element as the kernels wrote it; test_to_data copies values into data. */
double test_element(const test_tensor *t, int64_t i);
/* The value as a bf16 has it. */
double test_bf16(double value);
void test_to_data(const test_tensor *t);

/* The tensors that an op takes, in order, and which of them it writes. Returns how many. */
int test_buffers(const test_case *c, const tutti_op *op, const test_tensor *buffer[MAX_BUFFERS],
    int written[MAX_BUFFERS]);

/* Runs an op of the case on the CPU, on these buffers; in float32 where this processor cannot compute in
 * bf16 (tests/support/cpu_kernel.h). */
void test_run_on_cpu(const test_case *c, const tutti_op *op, int count,
    const test_tensor *const buffer[], void *const data[]);

/* families.c */
extern const test_family *const test_families[];
/* A key of a family's descriptor: its offset and type ('i' int64, 'u' uint64, 'd' int, 'f' float,
 * 'r' double, 'p' a pair of equal int64); false if unknown. */
int test_field(const test_family *family, const char *key, size_t *offset, char *type);

/* Whether kernels for CUDA round this tensor of float32 to bf16: gradients of the weights of convolutions in bf16,
 * but for products (dag/kernels/conv_cuda.cu). test_round_to_bf16 does so with what the CPU wrote. */
int test_is_rounded_on_gpu(const test_case *c, const tutti_op *op, const test_tensor *tensor);
void test_round_to_bf16(const test_tensor *tensor);

#endif
