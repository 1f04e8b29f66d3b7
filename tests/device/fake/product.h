/* Products of matrices, which the fakes of cuBLAS and cuBLASLt have in common. They are stored column after column. */
#ifndef TUTTI_FAKE_PRODUCT_H
#define TUTTI_FAKE_PRODUCT_H

#include "tests/device/fake/compute.h"

#include <cublas_v2.h>

typedef struct product_matrix {
    const void *address; /* as the program knows it */
    char *inside;
    tutti_dtype dtype;
    size_t rows, columns, lead;
    int transposed;
} product_matrix;

/* c = op(a) op(b). Then a bias for each row of c, and a ReLU; or the sums of each column of op(b), for gradients of
 * weights alone: a as it is, b transposed, c of float32. */
typedef struct product {
    const char *call; /* its name in sentences, which stays valid */
    product_matrix a, b, c;
    size_t depth;
    int tf32, adds_bias, rectifies, drops_nans, sums;
    const void *vector; /* the bias, or where the sums go */
    void *workspace;
    size_t bytes; /* of it */
} product;

/* Of rows by columns, if it is not transposed. A type that is not known: TUTTI_DTYPE_COUNT. */
product_matrix product_matrix_of(const void *address, cudaDataType_t type,
    cublasOperation_t transposed, size_t rows, size_t columns, size_t lead);
/* Whether addresses and leading dimensions can be. */
int product_fits(const product *p);
/* Whether the types are some that can be computed here. */
int product_is_known(const product *p);
void product_enqueue(const product *p, cudaStream_t stream);

#endif
