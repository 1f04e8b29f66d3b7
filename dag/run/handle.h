/* What a StarPU handle's data are. Looked at before a collective is inserted on them, because StarPU
 * ends the process where a task cannot have its data. [M] */
#ifndef TUTTI_HANDLE_H
#define TUTTI_HANDLE_H

#include "dag/base/dtype.h"

#include <stdint.h>

/* starpu_data_handle_t without its header. */
typedef struct _starpu_data_state *tutti_insert_handle;

/* How a collective uses the data. */
typedef struct tutti_handle_use {
    const char *what; /* names the call in messages */
    tutti_dtype dtype;
    int reads; /* 0: all of the data are written, and what they were does not matter */
    int moves; /* elements are moved, not computed with: TUTTI_U8 then stands for bytes of any type */
} tutti_handle_use;

/* How many elements of this type the data have. INVAL (logged): the handle is NULL; the data are none of
 * vector, variable, matrix and block, have gaps, have elements of another size than the type (one of
 * more than 8 bytes may be several of it), are partitioned, or are read and were never written.
 * UNSUPPORTED: StarPU does not run. */
tutti_status tutti_handle_count(
    tutti_insert_handle data, const tutti_handle_use *use, int64_t *count);
/* INVAL (logged) inside a task of StarPU, where no call may wait for another rank. */
tutti_status tutti_handle_outside_tasks(const char *what);

#endif
