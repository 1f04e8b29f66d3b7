#include "dag/run/insert.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/ledger.h"
#include "dag/run/starpu_mode.h"
#include "dag/run/wait.h"

#include <starpu.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HANDLES = 3 };

struct tutti_insert {
    tutti_run_hooks hooks;
    tutti_ledger *ledger;
    starpu_data_handle_t token; /* NULL without a chain */
};

/* One inserted node; lives until it ends. */
typedef struct insertion {
    tutti_token token; /* first: a token's address is its insertion's */
    tutti_insert *insert;
    struct starpu_task *task;
    int64_t id, sequence;
    int handles;
    starpu_data_handle_t handle[MOST_HANDLES];
    tutti_node node;
    char desc[];
} insertion;

static void finish_token(tutti_token *token, tutti_status status)
{
    insertion *i = (insertion *)token;
    struct starpu_task *task = i->task;
    tutti_ledger_leave(i->insert->ledger, i->id, status);
    free(i);
    starpu_task_end_dep_release(task);
}

static void start_collective(void *buffers[], void *arg)
{
    insertion *i = arg;
    void *buf[MOST_HANDLES];
    (void)buffers;
    for (int h = 0; h < i->handles; h++)
        buf[h] = starpu_data_handle_to_pointer(i->handle[h], STARPU_MAIN_RAM);
    tutti_ledger_begin(i->insert->ledger, i->id);
    const tutti_run_hooks *hooks = &i->insert->hooks;
    hooks->start(hooks->ctx, &i->node, i->sequence, buf, &i->token);
}

static struct starpu_codelet collective_codelet = {.cpu_funcs = {start_collective},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "tutti_collective"};

static struct starpu_codelet rest_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "tutti_rest"};

/* The program's own tasks: while they come and go, the program goes on. */
static int count_tasks(void)
{
    return starpu_is_initialized() ? starpu_task_nsubmitted() : 0;
}

tutti_status tutti_insert_open(const tutti_run_hooks *hooks, int chain, tutti_insert **insert)
{
    if (!starpu_is_initialized())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "StarPU is not initialised: call starpu_init before tutti_attach");
    if (!starpu_cpu_worker_get_count())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "StarPU has no CPU worker, which Tutti's tasks need: set STARPU_NCPU");
    tutti_insert *n = calloc(1, sizeof *n);
    if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to attach");
    n->hooks = *hooks;
    tutti_status status = tutti_ledger_new(&n->ledger);
    if (status) {
        free(n);
        return status;
    }
    if (chain) starpu_void_data_register(&n->token);
    tutti_ledger_outside(n->ledger, count_tasks);
    tutti_run_observe(&n->hooks, n->ledger, 0);
    *insert = n;
    return TUTTI_OK;
}

static int has_gaps(starpu_data_handle_t data, enum starpu_data_interface_id interface)
{
    if (interface == STARPU_MATRIX_INTERFACE_ID)
        return starpu_matrix_get_ny(data) > 1 &&
               starpu_matrix_get_local_ld(data) != starpu_matrix_get_nx(data);
    if (interface == STARPU_BLOCK_INTERFACE_ID)
        return starpu_block_get_local_ldy(data) != starpu_block_get_nx(data) ||
               starpu_block_get_local_ldz(data) !=
                   starpu_block_get_nx(data) * starpu_block_get_ny(data);
    return 0;
}

tutti_status tutti_insert_count(
    tutti_insert_handle data, tutti_dtype dtype, const char *what, int64_t *count)
{
    enum starpu_data_interface_id interface = starpu_data_get_interface_id(data);
    if (interface != STARPU_VECTOR_INTERFACE_ID && interface != STARPU_VARIABLE_INTERFACE_ID &&
        interface != STARPU_MATRIX_INTERFACE_ID && interface != STARPU_BLOCK_INTERFACE_ID)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: the handle is no vector, variable, matrix or block", what);
    if (has_gaps(data, interface))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the matrix or block has gaps (leading dimension above its row length)", what);
    size_t bytes = starpu_data_get_size(data), element = tutti_dtype_bytes(dtype);
    if (bytes % element)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: %zu bytes are no whole number of %s elements", what,
            bytes, tutti_dtype_name(dtype));
    *count = (int64_t)(bytes / element);
    return TUTTI_OK;
}

static struct starpu_task *make_task(
    insertion *i, struct starpu_codelet *codelet, const tutti_mode mode[])
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return NULL;
    task->cl = codelet;
    task->name = i->node.name;
    for (int h = 0; h < i->handles; h++) {
        task->handles[h] = i->handle[h];
        task->modes[h] = tutti_starpu_mode(mode[h]);
    }
    task->nbuffers = i->handles;
    return task;
}

/* Frees a task that was never submitted: StarPU would free it at its end only. Accepts NULL. */
static void discard(struct starpu_task *task)
{
    if (!task) return;
    task->destroy = 0;
    starpu_task_destroy(task);
}

static tutti_status submit_task(struct starpu_task *task, const char *name)
{
    int rc = starpu_task_submit(task);
    return rc ? tutti_fail(TUTTI_ERR_INTERNAL, "StarPU refuses a %s: %s", name, strerror(-rc))
              : TUTTI_OK;
}

/* The task that starts a collective ends with it; with a chain it only hands the token on, and another
 * one has the data until the end, as in starpu.c. */
static tutti_status submit(insertion *i, const tutti_mode mode[])
{
    const char *name = i->node.name;
    starpu_data_handle_t token = i->insert->token;
    struct starpu_task *start = make_task(i, &collective_codelet, mode),
                       *rest = token ? make_task(i, &rest_codelet, mode) : NULL;
    if (!start || (token && !rest)) {
        discard(start);
        discard(rest);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a %s", name);
    }
    start->cl_arg = i;
    i->task = rest ? rest : start;
    starpu_task_end_dep_add(i->task, 1);
    if (token) {
        start->handles[start->nbuffers] = token;
        start->modes[start->nbuffers++] = STARPU_RW;
    }
    /* The insertion may end, and be gone, once its start is submitted. */
    tutti_ledger *ledger = i->insert->ledger;
    tutti_status status = submit_task(start, name);
    tutti_status left = rest && !status ? submit_task(rest, name) : TUTTI_OK;
    if (left) tutti_ledger_fail(ledger, left);
    return status;
}

tutti_status tutti_insert_collective(tutti_insert *insert, const char *name, const void *desc,
    size_t desc_bytes, int handles, const tutti_insert_handle handle[], const tutti_mode mode[])
{
    if (handles > MOST_HANDLES)
        return tutti_fail(TUTTI_ERR_INTERNAL, "%s: %d handles", name, handles);
    insertion *i = calloc(1, sizeof *i + desc_bytes);
    if (!i) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a %s", name);
    *i = (insertion){.token.finish = finish_token, .insert = insert, .handles = handles};
    memcpy(i->handle, handle, (size_t)handles * sizeof *handle);
    memcpy(i->desc, desc, desc_bytes);
    i->node = (tutti_node){
        .name = name, .kind = TUTTI_NODE_COLLECTIVE, .desc = i->desc, .desc_bytes = desc_bytes};
    i->sequence = insert->hooks.reserve(insert->hooks.ctx, &i->node);
    const tutti_task entry = {.name = name, .sequence = i->sequence};
    tutti_status status = tutti_ledger_enter(insert->ledger, &entry, &i->id);
    if (status) {
        free(i);
        return status;
    }
    status = submit(i, mode);
    if (status) {
        tutti_ledger_leave(insert->ledger, i->id, status);
        free(i);
    }
    return status;
}

int tutti_insert_ended(tutti_insert *insert)
{
    return tutti_ledger_reached(insert->ledger, tutti_ledger_point(insert->ledger));
}

/* After a failure, what is left ends with it as soon as it is ready, which takes no time unless it was
 * lost. */
static void drain(tutti_insert *insert)
{
    static const double poll_s = 1e-3, patience_s = 2;
    double until_s = tutti_clock_s() + patience_s;
    const tutti_run_hooks *hooks = &insert->hooks;
    while (!tutti_insert_ended(insert) && tutti_clock_s() < until_s) {
        if (hooks->main && hooks->main(hooks->ctx)) break;
        tutti_clock_sleep(poll_s);
    }
}

tutti_status tutti_insert_wait(tutti_insert *insert, double timeout_s)
{
    tutti_status status = tutti_wait_point(
        insert->ledger, &insert->hooks, tutti_ledger_point(insert->ledger), timeout_s);
    if (status && status != TUTTI_ERR_TIMEOUT) drain(insert);
    return status;
}

void tutti_insert_close(tutti_insert *insert)
{
    if (!insert) return;
    tutti_run_observe(&insert->hooks, NULL, 0);
    if (!tutti_insert_ended(insert)) return; /* tokens may still end: what they touch stays */
    if (insert->token) starpu_data_unregister(insert->token);
    tutti_ledger_free(insert->ledger);
    free(insert);
}
