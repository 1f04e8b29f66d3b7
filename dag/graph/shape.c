#include "dag/graph/shape.h"

#include <stdio.h>
#include <string.h>

tutti_shape tutti_shape_make(int rank, const int64_t dim[])
{
    tutti_shape s = {.rank = rank};
    memcpy(s.dim, dim, (size_t)rank * sizeof *dim);
    return s;
}

int64_t tutti_shape_count(const tutti_shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0) return -1;
        if (__builtin_mul_overflow(count, shape->dim[i], &count)) return -1;
    }
    return count;
}

int tutti_shape_equal(const tutti_shape *a, const tutti_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

char *tutti_shape_print(const tutti_shape *shape, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < shape->rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ",%lld" : "%lld", (long long)shape->dim[i]);
    if (n < size) snprintf(text + n, size - n, ")");
    return text;
}
