/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types. [P] */
#ifndef TUTTI_DTYPE_H
#define TUTTI_DTYPE_H

#include <stddef.h>

#include <tutti/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tutti_dtype {
    TUTTI_F32,
    TUTTI_F64,
    TUTTI_I32,
    TUTTI_I64,
    TUTTI_U8,
    TUTTI_I8,
    TUTTI_I16,
    TUTTI_U16,
    TUTTI_U32,
    TUTTI_U64,
    TUTTI_C64,  /* float _Complex, std::complex<float> */
    TUTTI_C128, /* double _Complex, std::complex<double> */
    /* Pairs: a value and the index where it was found, for TUTTI_MINLOC and TUTTI_MAXLOC. */
    TUTTI_FLOAT_INT,
    TUTTI_DOUBLE_INT,
    TUTTI_INT_INT,
    TUTTI_LONG_INT,
    TUTTI_BF16, /* the upper half of a float (bfloat16), in 2 bytes */
    TUTTI_DTYPE_COUNT,
    TUTTI_SEVERAL = 1 << 8 /* of tutti_several */
} tutti_dtype;

typedef struct tutti_float_int {
    float value;
    int index;
} tutti_float_int;
typedef struct tutti_double_int {
    double value;
    int index;
} tutti_double_int;
typedef struct tutti_int_int {
    int value, index;
} tutti_int_int;
typedef struct tutti_long_int {
    long value;
    int index;
} tutti_long_int;

/* The bytes of one element: 4 for TUTTI_F32; 0 for a value that is not a type. */
TUTTI_API size_t tutti_dtype_bytes(tutti_dtype dtype);
/* "F32", "I64", "C64", ...: the safetensors names; "FLOAT_INT" and so on for pairs; "unknown" for a
 * value that is not a type. */
TUTTI_API const char *tutti_dtype_name(tutti_dtype dtype);

/* In a call with data of StarPU, says that each of their elements holds several values of the type: a
 * variable that is an array, a vector of points. Without it, elements must have the size of the
 * type. */
TUTTI_API tutti_dtype tutti_several(tutti_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
