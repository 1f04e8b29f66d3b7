/* Products of matrices on a GPU, as cublas and cublaslt compute them. */
#ifndef TUTTI_PRODUCT_H
#define TUTTI_PRODUCT_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

/* What NVIDIA recommends for its newer GPUs, at an address that 256 divides. */
enum { TUTTI_CUBLAS_WORKSPACE = 32 << 20 };

/* What the library may compute with a product, where it has a kernel that does: a bias, of float32 as `to` then is,
 * and a ReLU behind it that keeps NaNs; or sums, alone, of float32. */
enum {
    TUTTI_PRODUCT_BIAS = 1, /* to[i,j] += vector[j] */
    TUTTI_PRODUCT_RELU = 2, /* to[i,j] = max(to[i,j], 0) */
    TUTTI_PRODUCT_SUMS = 4  /* vector[i] = sum over l of a[i,l] */
};

/* to[i,j] = sum over l of a[i,l] * b[l,j], of dense matrices, row after row. A transposed one is stored as
 * [l,i] or [j,l]. */
typedef struct tutti_product {
    const char *op;               /* in messages; it stays valid */
    int64_t rows, columns, depth; /* i, j, l; below 2^31 */
    int a_transposed, b_transposed;
    tutti_dtype from, to; /* of a and b; of the result: F32, or as a and b */
    int tf32;             /* factors of float32 may be rounded to TF32 */
    unsigned also;        /* of TUTTI_PRODUCT_...: wanted in the same launch */
} tutti_product;

typedef struct tutti_cublas_call {
    const void *a, *b;
    void *to;
    const void *vector; /* the bias, or where the sums go; may be NULL if the product has neither */
    void *workspace;
} tutti_cublas_call;

#endif
