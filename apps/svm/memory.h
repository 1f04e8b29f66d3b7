/* Memory of `count` items; without it a sentence is logged. [A] */
#ifndef TUTTI_SVM_MEMORY_H
#define TUTTI_SVM_MEMORY_H

#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdint.h>
#include <stdlib.h>

static inline tutti_status tutti_svm_no_memory(int64_t count, size_t bytes)
{
    return tutti_fail(
        TUTTI_ERR_NOMEM, "no memory for %lld items of %zu bytes", (long long)count, bytes);
}

/* Zeroed; also for none. NULL: NOMEM (logged). */
static inline void *tutti_svm_new(int64_t count, size_t bytes)
{
    void *memory = calloc((size_t)count + 1, bytes);
    if (!memory) tutti_svm_no_memory(count, bytes);
    return memory;
}

/* array: the address of a pointer, whose memory grows to this room. NOMEM (logged). */
static inline tutti_status tutti_svm_widen(void *array, int64_t room, size_t bytes)
{
    void **at = array, *wider = realloc(*at, tutti_mem_product((size_t)room, bytes));
    if (!wider) return tutti_svm_no_memory(room, bytes);
    *at = wider;
    return TUTTI_OK;
}

#endif
