#include "dag/kernels/cpu.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

tutti_status tutti_cpu_check(const char *op, const char *what, int64_t value, int64_t least)
{
    if (value >= least && value <= INT32_MAX) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: %s is %" PRId64 ", not %" PRId64 " to %" PRId32, op,
        what, value, least, INT32_MAX);
}

tutti_status tutti_cpu_check_count(const char *op, const int64_t factor[], int factors)
{
    size_t product = sizeof(float);
    for (int i = 0; i < factors; i++) product = tutti_mem_product(product, (size_t)factor[i]);
    if (product <= PTRDIFF_MAX) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: the tensor is larger than memory can be", op);
}

tutti_status tutti_cpu_copy(const char *op, const void *desc, size_t bytes, void **args)
{
    void *copy = malloc(bytes);
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", op);
    memcpy(copy, desc, bytes);
    *args = copy;
    return TUTTI_OK;
}

void tutti_cpu_free(void *args)
{
    free(args);
}
