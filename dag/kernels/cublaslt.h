/* Products of cuBLAS with more in the same launch (product.h, also), by cuBLASLt. Internal to cublas.c.
 *
 * The library's heuristics say which algorithm they would take; it is fixed when the product is opened. Of those that
 * split a sum, only those are asked for that keep its parts in float32 and add them in one order. A build without
 * the library has cublaslt_none.c.
 *
 * Threads, errors: cublas.h. Source: https://docs.nvidia.com/cuda/cublas, "cublasLtMatmul". */
#ifndef TUTTI_CUBLASLT_H
#define TUTTI_CUBLASLT_H

#include "dag/kernels/product.h"

#include <cublas_v2.h>

typedef struct tutti_cublaslt tutti_cublaslt;

/* handle: cuBLAS's, which stays open until close. *opened is NULL, without an error, where the library does not compute
 * all that is asked for. */
tutti_status tutti_cublaslt_open(
    const tutti_product *product, cublasHandle_t handle, tutti_cublaslt **opened);
cublasStatus_t tutti_cublaslt_run(
    const tutti_cublaslt *opened, const tutti_cublas_call *call, void *queue);
void tutti_cublaslt_close(tutti_cublaslt *opened); /* accepts NULL */

#endif
