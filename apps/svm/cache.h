/* Kernel rows in memory: for a sample, its kernel values with all rows of this rank. Of the few places that a
 * sample's number selects, the one that was used longest ago is given to a new sample. [M] */
#ifndef TUTTI_SVM_CACHE_H
#define TUTTI_SVM_CACHE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_svm_cache tutti_svm_cache;

/* For at most `bytes` of values of `element` bytes, of `rows` rows. NOMEM (logged). */
tutti_status tutti_svm_cache_new(
    size_t bytes, size_t element, int64_t rows, tutti_svm_cache **cache);
/* Begins a use: what tutti_svm_cache_take returns stays until the next begin. */
void tutti_svm_cache_begin(tutti_svm_cache *cache);
/* The values of this sample; *known: whether they are there, or the caller writes them. NULL: there is no
 * room for them. */
void *tutti_svm_cache_take(tutti_svm_cache *cache, int64_t id, int *known);
/* Keeps the values of the rows which[0] < which[1] < ... alone. */
void tutti_svm_cache_keep(tutti_svm_cache *cache, int64_t rows, const int64_t which[]);
/* Forgets everything; from now on there are `rows` rows. */
void tutti_svm_cache_clear(tutti_svm_cache *cache, int64_t rows);
void tutti_svm_cache_free(tutti_svm_cache *cache);

#endif
