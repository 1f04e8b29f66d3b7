/* Element types. [P] */
#ifndef TUTTI_DTYPE_H
#define TUTTI_DTYPE_H

#include <stddef.h>

typedef enum tutti_dtype {
    TUTTI_F32,
    TUTTI_F64,
    TUTTI_I32,
    TUTTI_I64,
    TUTTI_U8,
    TUTTI_DTYPE_COUNT
} tutti_dtype;

size_t tutti_dtype_bytes(tutti_dtype dtype);
const char *tutti_dtype_name(tutti_dtype dtype); /* "F32", "I64", ...: the safetensors names */

#endif
