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
    [TUTTI_I8] = {"I8", 1},
    [TUTTI_I16] = {"I16", 2},
    [TUTTI_U16] = {"U16", 2},
    [TUTTI_U32] = {"U32", 4},
    [TUTTI_U64] = {"U64", 8},
    [TUTTI_C64] = {"C64", 8},
    [TUTTI_C128] = {"C128", 16},
    [TUTTI_FLOAT_INT] = {"FLOAT_INT", sizeof(tutti_float_int)},
    [TUTTI_DOUBLE_INT] = {"DOUBLE_INT", sizeof(tutti_double_int)},
    [TUTTI_INT_INT] = {"INT_INT", sizeof(tutti_int_int)},
    [TUTTI_LONG_INT] = {"LONG_INT", sizeof(tutti_long_int)},
    [TUTTI_BF16] = {"BF16", 2},
};

size_t tutti_dtype_bytes(tutti_dtype dtype)
{
    return (unsigned)dtype < TUTTI_DTYPE_COUNT ? rows[dtype].bytes : 0;
}

const char *tutti_dtype_name(tutti_dtype dtype)
{
    return (unsigned)dtype < TUTTI_DTYPE_COUNT ? rows[dtype].name : "unknown";
}

tutti_dtype tutti_several(tutti_dtype dtype)
{
    return (tutti_dtype)(dtype | TUTTI_SEVERAL);
}
