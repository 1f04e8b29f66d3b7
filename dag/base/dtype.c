#include "dag/base/dtype.h"

static const struct {
    const char *name;
    size_t bytes;
} rows[TUTTI_DTYPE_COUNT] = {
    [TUTTI_F32] = {"F32", 4},
    [TUTTI_F64] = {"F64", 8},
    [TUTTI_I32] = {"I32", 4},
    [TUTTI_I64] = {"I64", 8},
    [TUTTI_U8] = {"U8", 1},
};

size_t tutti_dtype_bytes(tutti_dtype dtype)
{
    return (unsigned)dtype < TUTTI_DTYPE_COUNT ? rows[dtype].bytes : 0;
}

const char *tutti_dtype_name(tutti_dtype dtype)
{
    return (unsigned)dtype < TUTTI_DTYPE_COUNT ? rows[dtype].name : "unknown";
}
