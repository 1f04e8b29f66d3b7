#include "dag/run/handle.h"

#include "dag/base/log.h"

#include <starpu.h>
#include <stdio.h>

tutti_insert_handle tutti_handle_of_vector(void *memory, int64_t count, size_t bytes)
{
    tutti_insert_handle handle;
    starpu_vector_data_register(
        &handle, STARPU_MAIN_RAM, (uintptr_t)memory, (uint32_t)count, bytes);
    return handle;
}

void tutti_handle_end(tutti_insert_handle data)
{
    starpu_data_unregister(data);
}

int tutti_handle_can_end(void)
{
    return starpu_is_initialized();
}

/* What the data are; NULL: nothing with elements that lie one after the other. */
static const char *name_data(tutti_insert_handle data)
{
    switch (starpu_data_get_interface_id(data)) {
    case STARPU_VECTOR_INTERFACE_ID:
        return "vector";
    case STARPU_VARIABLE_INTERFACE_ID:
        return "variable";
    case STARPU_MATRIX_INTERFACE_ID:
        return "matrix";
    case STARPU_BLOCK_INTERFACE_ID:
        return "block";
    default:
        return NULL;
    }
}

/* Bytes per element, as registered. A variable is one element. */
static size_t element_bytes(tutti_insert_handle data)
{
    switch (starpu_data_get_interface_id(data)) {
    case STARPU_VECTOR_INTERFACE_ID:
        return starpu_vector_get_elemsize(data);
    case STARPU_VARIABLE_INTERFACE_ID:
        return starpu_variable_get_elemsize(data);
    case STARPU_MATRIX_INTERFACE_ID:
        return starpu_matrix_get_elemsize(data);
    case STARPU_BLOCK_INTERFACE_ID:
        return starpu_block_get_elemsize(data);
    default:
        return 0;
    }
}

/* Memory that StarPU allocates has no gaps. */
static int has_gaps(tutti_insert_handle data)
{
    enum starpu_data_interface_id interface = starpu_data_get_interface_id(data);
    if (!starpu_data_test_if_allocated_on_node(data, STARPU_MAIN_RAM)) return 0;
    if (interface == STARPU_MATRIX_INTERFACE_ID)
        return starpu_matrix_get_ny(data) > 1 &&
               starpu_matrix_get_local_ld(data) != starpu_matrix_get_nx(data);
    if (interface == STARPU_BLOCK_INTERFACE_ID) {
        size_t x = starpu_block_get_nx(data), y = starpu_block_get_ny(data);
        return (y > 1 && starpu_block_get_local_ldy(data) != x) ||
               (starpu_block_get_nz(data) > 1 && starpu_block_get_local_ldz(data) != x * y);
    }
    return 0;
}

/* Whether some memory node holds a value. */
static int has_value(tutti_insert_handle data)
{
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++) {
        int allocated = 0, valid = 0, requested = 0;
        starpu_data_query_status(data, (int)node, &allocated, &valid, &requested);
        if (valid) return 1;
    }
    return 0;
}

/* Whether a task submitted now would find a value. If no node holds one, a pending write shows in
 * that the data cannot be acquired at once; acquiring them without a node moves nothing. */
static int will_have_value(tutti_insert_handle data)
{
    if (has_value(data)) return 1;
    if (starpu_data_acquire_on_node_try(data, STARPU_ACQUIRE_NO_NODE, STARPU_W)) return 1;
    int written = has_value(data); /* written in the meantime */
    starpu_data_release_on_node(data, STARPU_ACQUIRE_NO_NODE);
    if (!written) starpu_data_invalidate_submit(data);
    return written;
}

/* The type must be that of the elements, as far as their size shows: otherwise an operator would
 * combine halves of numbers. */
static tutti_status check_element(tutti_insert_handle data, const tutti_handle_use *use)
{
    tutti_dtype dtype = tutti_handle_dtype(use->dtype);
    size_t has = element_bytes(data), wanted = tutti_dtype_bytes(dtype);
    int several = has > wanted && has % wanted == 0;
    if (use->moves && use->dtype == TUTTI_U8 && has) return TUTTI_OK;
    if (has == wanted || (several && use->dtype != dtype)) return TUTTI_OK;
    char cure[80] = "";
    if (several)
        snprintf(cure, sizeof cure, ", or tutti_several(TUTTI_%s) for %zu values in each",
            tutti_dtype_name(dtype), has / wanted);
    return tutti_fail(TUTTI_ERR_INVAL,
        "%s: elements of the %s have %zu bytes, but TUTTI_%s has %zu: pass their type%s", use->what,
        name_data(data), has, tutti_dtype_name(dtype), wanted, cure);
}

tutti_status tutti_handle_count(
    tutti_insert_handle data, const tutti_handle_use *use, int64_t *count)
{
    const char *what = use->what;
    tutti_dtype dtype = tutti_handle_dtype(use->dtype);
    if ((unsigned)dtype >= TUTTI_DTYPE_COUNT)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: unknown element type %d (see tutti/dtype.h)", what,
            (int)use->dtype);
    if (!starpu_is_initialized())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s: StarPU is not running (call starpu_shutdown after tutti_detach)", what);
    if (!data) return tutti_fail(TUTTI_ERR_INVAL, "%s: the handle is NULL", what);
    if (!name_data(data))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the handle is not a vector, variable, matrix or block: register the data as one",
            what);
    if (has_gaps(data))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the %s has gaps (a leading dimension above its row length): copy it to one "
            "without, "
            "or pass its rows",
            what, name_data(data));
    tutti_status status = check_element(data, use);
    if (status) return status;
    if (starpu_data_get_nb_children(data) > 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the data are partitioned: pass the parts, or call starpu_data_unpartition first",
            what);
    if (use->reads && !will_have_value(data))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the data have no value: no task that writes them was submitted before", what);
    *count = (int64_t)(starpu_data_get_size(data) / tutti_dtype_bytes(dtype));
    return TUTTI_OK;
}

tutti_status tutti_handle_outside_tasks(const char *what)
{
    if (!starpu_is_initialized() || starpu_worker_get_id() < 0) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s: called inside a task: call it from the program's main thread", what);
}
