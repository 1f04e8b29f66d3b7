/* Memory: products that detect overflow, and blocks aligned for vector instructions. [A] */
#ifndef TUTTI_MEM_H
#define TUTTI_MEM_H

#include <stddef.h>

/* a * b, or SIZE_MAX on overflow (which no allocation can satisfy). */
size_t tutti_mem_product(size_t a, size_t b);

/* `bytes` zeroed bytes, aligned to 64, or NULL; release with free(). 0 bytes gives 64. */
void *tutti_mem_aligned(size_t bytes);

#endif
