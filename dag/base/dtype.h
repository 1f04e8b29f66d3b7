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
    TUTTI_DTYPE_COUNT
} tutti_dtype;

/* 4 of TUTTI_F32; 0 for a value that is none. */
TUTTI_API size_t tutti_dtype_bytes(tutti_dtype dtype);
/* "F32", "I64", ...: the safetensors names; "unknown" for a value that is none. */
TUTTI_API const char *tutti_dtype_name(tutti_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
