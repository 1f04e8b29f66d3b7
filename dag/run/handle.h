/* The data of StarPU's handles: registers data of our own, and inspects the program's before a
 * collective is inserted on them, because StarPU ends the process when a task cannot have its data. [M] */
#ifndef TUTTI_HANDLE_H
#define TUTTI_HANDLE_H

#include "dag/base/dtype.h"

#include <stddef.h>
#include <stdint.h>

/* starpu_data_handle_t without its header. */
typedef struct _starpu_data_state *tutti_insert_handle;

/* How a collective uses the data. */
typedef struct tutti_handle_use {
    const char *what;  /* names the call in messages */
    tutti_dtype dtype; /* possibly by tutti_several */
    int reads;         /* 0: all of the data are overwritten, whatever they were */
    /* elements are only moved: TUTTI_U8 then stands for bytes of any type */
    int moves;
} tutti_handle_use;

/* Counts the elements of this type. INVAL (logged): the handle is NULL; the data are not a vector,
 * variable, matrix or block, have gaps, have elements of another size (with tutti_several: that is no
 * multiple), are partitioned, or are read but were never written. UNSUPPORTED: StarPU is not
 * running. */
tutti_status tutti_handle_count(
    tutti_insert_handle data, const tutti_handle_use *use, int64_t *count);
/* The type without tutti_several. */
static inline tutti_dtype tutti_handle_dtype(tutti_dtype dtype)
{
    return (tutti_dtype)(dtype & ~TUTTI_SEVERAL);
}
/* Registers a vector in main memory; at most UINT32_MAX elements of this many bytes. */
tutti_insert_handle tutti_handle_of_vector(void *memory, int64_t count, size_t bytes);
/* Unregisters it, when the tasks on it have ended: waits for them. */
void tutti_handle_end(tutti_insert_handle data);
int tutti_handle_can_end(void); /* whether StarPU is running */
/* INVAL (logged) inside a StarPU task, where no call may wait for another rank. */
tutti_status tutti_handle_outside_tasks(const char *what);

#endif
