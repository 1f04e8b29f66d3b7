#include "dag/run/datum.h"

#include "dag/base/log.h"
#include "dag/run/held.h"
#include "dag/run/starpu_mode.h"

#include <stdlib.h>
#include <string.h>

static tutti_status open(
    int node, void *memory, int64_t count, tutti_dtype dtype, tutti_insert_handle *data)
{
    if (!starpu_is_initialized())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "StarPU is not running: call tutti_start_starpu first");
    if (count < 1 || count > UINT32_MAX)
        return tutti_fail(TUTTI_ERR_INVAL, "data of %lld elements", (long long)count);
    starpu_vector_data_register(
        data, node, (uintptr_t)memory, (uint32_t)count, tutti_dtype_bytes(dtype));
    return TUTTI_OK;
}

tutti_status tutti_datum_open(int64_t count, tutti_dtype dtype, tutti_insert_handle *data)
{
    return open(-1, NULL, count, dtype, data);
}

tutti_status tutti_datum_open_in(
    void *memory, int64_t count, tutti_dtype dtype, tutti_insert_handle *data)
{
    return open(STARPU_MAIN_RAM, memory, count, dtype, data);
}

void tutti_datum_drop(tutti_insert_handle data)
{
    if (data) starpu_data_unregister_submit(data);
}

void tutti_datum_close(tutti_insert_handle data)
{
    if (data) starpu_data_unregister(data);
}

/* ---- when ---- */

typedef struct event {
    tutti_insert_handle data;
    void (*when)(void *arg);
    void *arg;
} event;

static void happen(void *arg)
{
    event e = *(event *)arg;
    free(arg);
    starpu_data_release(e.data);
    e.when(e.arg);
}

tutti_status tutti_datum_when(tutti_insert_handle data, void (*when)(void *arg), void *arg)
{
    event *e = malloc(sizeof *e);
    if (!e) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to wait for data");
    *e = (event){data, when, arg};
    int rc = starpu_data_acquire_cb(data, STARPU_RW, happen, e);
    if (!rc) return TUTTI_OK;
    free(e);
    return tutti_fail(TUTTI_ERR_INTERNAL, "StarPU cannot acquire data: %s", strerror(-rc));
}

tutti_status tutti_datum_hold_on(const tutti_datum_hold *hold, tutti_held **held)
{
    const tutti_held_request request = {.name = hold->name,
        .counted = 1,
        .brief = 1,
        .handles = 1,
        .handle = &hold->data,
        .mode = &hold->mode,
        .start = hold->start,
        .refused = hold->refused,
        .arg = hold->arg};
    tutti_status status = tutti_held_open(&request, held);
    if (status) return status;
    tutti_held *opened = *held; /* where it stands may be gone once it is submitted */
    status = tutti_held_submit(opened);
    if (status) tutti_held_end(opened);
    return status;
}

void tutti_datum_let_go(tutti_held *held)
{
    tutti_held_end(held);
}

/* ---- tasks ---- */

static void run(void *buffers[], void *arg)
{
    tutti_datum_task *task = arg;
    unsigned node = starpu_worker_get_local_memory_node();
    void *buf[TUTTI_DATUM_MOST];
    (void)buffers;
    for (int d = 0; d < task->count; d++)
        buf[d] = starpu_data_handle_to_pointer(task->data[d], node);
    task->work(task->arg, buf);
    if (task->release) task->release(task->arg);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {run}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "tutti_datum"};

static int list_data(struct starpu_task *t, const tutti_datum_task *task)
{
    size_t n = (size_t)task->count;
    t->cl = &codelet;
    t->nbuffers = task->count;
    if (task->count > STARPU_NMAXBUFS) {
        t->dyn_handles = malloc(n * sizeof *t->dyn_handles);
        t->dyn_modes = malloc(n * sizeof *t->dyn_modes);
        if (!t->dyn_handles || !t->dyn_modes) return 0;
    }
    for (int d = 0; d < task->count; d++) {
        STARPU_TASK_SET_HANDLE(t, task->data[d], d);
        STARPU_TASK_SET_MODE(t, tutti_starpu_mode(task->mode[d]), d);
    }
    return 1;
}

/* ---- brief tasks: data that are held for as long as the work takes ---- */

typedef struct brief {
    tutti_datum_task task;
    tutti_held *held;
} brief;

static void end_brief(brief *b)
{
    if (b->task.release) b->task.release(b->task.arg);
    tutti_held_end(b->held);
    free(b);
}

static void work_briefly(void *arg, const tutti_buffer data[])
{
    brief *b = arg;
    void *buf[TUTTI_DATUM_MOST];
    for (int d = 0; d < b->task.count; d++) buf[d] = data[d].pointer;
    b->task.work(b->task.arg, buf);
    end_brief(b);
}

static void refuse(void *arg, tutti_status status)
{
    (void)status; /* it is logged */
    end_brief(arg);
}

static tutti_status submit_brief(const tutti_datum_task *task)
{
    brief *b = malloc(sizeof *b);
    if (!b) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", task->name);
    b->task = *task;
    const tutti_held_request request = {.name = task->name,
        .counted = 1,
        .brief = 1,
        .handles = task->count,
        .handle = task->data,
        .mode = task->mode,
        .start = work_briefly,
        .refused = refuse,
        .arg = b};
    tutti_status status = tutti_held_open(&request, &b->held);
    if (!status) {
        tutti_held *opened = b->held; /* b may be gone once it is submitted */
        status = tutti_held_submit(opened);
        if (status) tutti_held_end(opened);
    }
    if (status) free(b);
    return status;
}

tutti_status tutti_datum_submit(const tutti_datum_task *task)
{
    if (task->count > TUTTI_DATUM_MOST)
        return tutti_fail(TUTTI_ERR_INTERNAL, "task '%s' has %d data, and %d at most are possible",
            task->name, task->count, TUTTI_DATUM_MOST);
    if (task->brief) return submit_brief(task);
    struct starpu_task *t = starpu_task_create();
    tutti_datum_task *copy = malloc(sizeof *copy);
    if (!t || !copy || !list_data(t, task)) {
        tutti_starpu_task_discard(t);
        free(copy);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", task->name);
    }
    *copy = *task;
    t->name = task->name;
    t->cl_arg = copy;
    t->cl_arg_size = sizeof *copy;
    t->cl_arg_free = 1;
    int rc = starpu_task_submit(t);
    if (!rc) return TUTTI_OK;
    tutti_starpu_task_discard(t);
    free(copy);
    return tutti_fail(
        TUTTI_ERR_INTERNAL, "StarPU refuses task '%s': %s", task->name, strerror(-rc));
}
