/* Nodes as StarPU tasks: edges by StarPU's own sequential consistency; codelets are in
 * dag/run/codelets.h, collectives in dag/run/collective_task.h. Tensors are registered in main
 * memory, where the binding has laid them out, so that collectives find the tensors of a bucket
 * one after the other. */
#include "dag/run/starpu.h"

#include "dag/base/log.h"
#include "dag/run/binding.h"
#include "dag/run/codelets.h"
#include "dag/run/collective_task.h"
#include "dag/run/loaded.h"
#include "dag/run/ledger.h"
#include "dag/run/scheduler.h"
#include "dag/run/starpu_mode.h"
#include "dag/run/process_lock.h"
#include "dag/run/wait.h"

#include <starpu.h>
#include <starpu_config.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, LONG_ELEMENT = 64 };
static const double longest_start_s = 30;

struct tutti_run {
    tutti_binding binding;
    tutti_run_options options;
    tutti_ledger *ledger;
    starpu_data_handle_t *handle; /* one per tensor */
    tutti_codelets *codelets;     /* of the kernels */
    int started;                  /* StarPU runs */
};

/* One kernel, feed or fetch; lives from submit until it ends. */
typedef struct instance {
    tutti_run *run;
    int64_t id, step;
    int target; /* node; or the tensor of a feed or fetch */
    void *data;
    size_t bytes;
    void (*release)(void *);
    void *arg;
} instance;

static void end(instance *i, tutti_status status)
{
    tutti_ledger_leave(i->run->ledger, i->id, status);
    free(i);
}

static void collect(tutti_run *run, int node, void *buffers[], void *buf[])
{
    const tutti_node *n = tutti_graph_get_node(run->binding.graph, node);
    for (int a = 0; a < n->accesses; a++) buf[a] = (void *)STARPU_VECTOR_GET_PTR(buffers[a]);
}

/* Adds what has run on this worker to the trace. */
static void trace_node(tutti_run *run, const tutti_node *node, int64_t step, double begun_s)
{
    tutti_trace_task(run->options.trace, starpu_worker_get_id(), tutti_span_kind_of(node),
        node->name, step, begun_s);
}

static void run_kernel(void *buffers[], void *arg)
{
    instance *i = arg;
    tutti_run *run = i->run;
    void *buf[run->binding.widest + 1];
    tutti_ledger_begin(run->ledger, i->id);
    collect(run, i->target, buffers, buf);
    tutti_status status = tutti_ledger_failure(run->ledger);
    double begun_s = tutti_trace_now(run->options.trace);
    if (!status) status = tutti_binding_execute(&run->binding, i->target, buf, run->options.meter);
    if (begun_s > 0)
        trace_node(run, tutti_graph_get_node(run->binding.graph, i->target), i->step, begun_s);
    end(i, status);
}

/* Adds a feed or a fetch to the trace, under its tensor's name, and ends it. */
static void end_copy(instance *i, double begun_s)
{
    if (begun_s > 0)
        tutti_trace_task(i->run->options.trace, starpu_worker_get_id(), TUTTI_SPAN_COPY,
            tutti_graph_get_tensor(i->run->binding.graph, i->target)->name, i->step, begun_s);
    end(i, TUTTI_OK);
}

static void run_feed(void *buffers[], void *arg)
{
    instance *i = arg;
    tutti_ledger_begin(i->run->ledger, i->id);
    double begun_s = tutti_trace_now(i->run->options.trace);
    memcpy((void *)STARPU_VECTOR_GET_PTR(buffers[0]), i->data, i->bytes);
    if (i->release) i->release(i->arg);
    end_copy(i, begun_s);
}

static void run_fetch(void *buffers[], void *arg)
{
    instance *i = arg;
    tutti_ledger_begin(i->run->ledger, i->id);
    double begun_s = tutti_trace_now(i->run->options.trace);
    memcpy(i->data, (const void *)STARPU_VECTOR_GET_PTR(buffers[0]), i->bytes);
    end_copy(i, begun_s);
}

/* Not const: StarPU keeps its bookkeeping in codelets. Tutti does not change them. */
static struct starpu_codelet feed_codelet = {
    .cpu_funcs = {run_feed}, .nbuffers = 1, .modes = {STARPU_W}, .name = "tutti_feed"};
static struct starpu_codelet fetch_codelet = {
    .cpu_funcs = {run_fetch}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tutti_fetch"};

/* Gives the task its handles. More than StarPU's fixed arrays hold go into arrays that StarPU frees
 * with the task. */
static tutti_status set_accesses(
    tutti_run *run, struct starpu_task *task, int accesses, const tutti_access access[])
{
    task->nbuffers = accesses;
    if (accesses > STARPU_NMAXBUFS) {
        task->dyn_handles = malloc((size_t)accesses * sizeof *task->dyn_handles);
        task->dyn_modes = malloc((size_t)accesses * sizeof *task->dyn_modes);
        if (!task->dyn_handles || !task->dyn_modes)
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a task");
    }
    for (int a = 0; a < accesses; a++) {
        STARPU_TASK_SET_HANDLE(task, run->handle[access[a].tensor], a);
        STARPU_TASK_SET_MODE(task, tutti_starpu_mode(access[a].mode), a);
    }
    return TUTTI_OK;
}

/* Frees a task that was never submitted: StarPU frees only tasks that end. */
static void discard(struct starpu_task *task)
{
    task->destroy = 0;
    starpu_task_destroy(task);
}

/* A priority that the scheduler accepts. */
static int clamp(int priority)
{
    int low = starpu_sched_get_min_priority(), high = starpu_sched_get_max_priority();
    return priority < low ? low : priority > high ? high : priority;
}

/* A task's name, priority and accesses. */
typedef struct task_label {
    const char *name;
    int priority, accesses;
    const tutti_access *access;
} task_label;

static tutti_status make_task(tutti_run *run, struct starpu_codelet *codelet, void *arg,
    const task_label *label, struct starpu_task **made)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", label->name);
    task->cl = codelet;
    task->cl_arg = arg;
    task->name = label->name;
    task->priority = clamp(label->priority);
    tutti_status status = set_accesses(run, task, label->accesses, label->access);
    if (status)
        discard(task);
    else
        *made = task;
    return status;
}

/* Makes an instance and enters it in the ledger. */
static tutti_status make_instance(
    tutti_run *run, const instance *proto, const task_label *label, instance **made)
{
    instance *fresh = malloc(sizeof *fresh);
    if (!fresh) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", label->name);
    *fresh = *proto;
    fresh->run = run;
    fresh->step = tutti_trace_step(run->options.trace);
    const tutti_task entry = {label->name, label->accesses, label->access, -1};
    tutti_status status = tutti_ledger_enter(run->ledger, &entry, &fresh->id);
    if (status)
        free(fresh);
    else
        *made = fresh;
    return status;
}

static tutti_status submit_task(struct starpu_task *task)
{
    int rc = starpu_task_submit(task);
    return rc ? tutti_fail(
                    TUTTI_ERR_INTERNAL, "StarPU refuses task '%s': %s", task->name, strerror(-rc))
              : TUTTI_OK;
}

/* Submits an instance that ends with its task. */
static tutti_status submit(
    tutti_run *run, struct starpu_codelet *codelet, const instance *proto, const task_label *label)
{
    instance *fresh = NULL;
    struct starpu_task *task = NULL;
    tutti_status status = make_instance(run, proto, label, &fresh);
    if (status) return status;
    int64_t id = fresh->id;
    status = make_task(run, codelet, fresh, label, &task);
    if (!status) status = submit_task(task);
    if (status) {
        tutti_ledger_leave(run->ledger, id, status);
        free(fresh);
    }
    return status;
}

/* Fails unless StarPU has left all data where the binding laid them out. */
static tutti_status are_in_main_memory(void *arg, const tutti_node *node, void *const buf[])
{
    const tutti_run *run = arg;
    for (int a = 0; a < node->accesses; a++)
        if (buf[a] && buf[a] != run->binding.memory[node->access[a].tensor])
            return tutti_fail(
                TUTTI_ERR_INTERNAL, "StarPU has moved the memory of '%s'", node->name);
    return TUTTI_OK;
}

static tutti_status submit_collective(tutti_run *run, const tutti_node *node)
{
    starpu_data_handle_t handle[node->accesses + 1];
    tutti_mode mode[node->accesses + 1];
    for (int a = 0; a < node->accesses; a++) {
        handle[a] = run->handle[node->access[a].tensor];
        mode[a] = node->access[a].mode;
    }
    const tutti_collective_task task = {.node = node,
        .hooks = &run->options.hooks,
        .ledger = run->ledger,
        .trace = run->options.trace,
        .priority = clamp(node->priority),
        .handles = node->accesses,
        .handle = handle,
        .mode = mode,
        .arrived = are_in_main_memory,
        .arg = run};
    return tutti_collective_task_submit(&task);
}

/* Whether everything has ended; after a failure, waits a few seconds for it. */
static int has_ended(tutti_run *run)
{
    static const double patience_s = 5;
    if (!run->ledger) return 1;
    tutti_status failure = tutti_ledger_failure(run->ledger);
    int drains = failure && failure != TUTTI_ERR_TIMEOUT;
    return tutti_wait_drained(run->ledger, &run->options.hooks, drains ? patience_s : 0);
}

static void starpu_close(tutti_run *run)
{
    if (!run) return;
    tutti_run_observe(&run->options.hooks, NULL, 1);
    /* Tasks behind a collective that never ends never end, either: then StarPU cannot be stopped,
     * and everything stays as it is. */
    if (!has_ended(run)) return;
    if (run->started) {
        starpu_task_wait_for_all();
        for (int t = 0; run->handle && t < run->binding.tensors; t++)
            if (run->handle[t]) starpu_data_unregister(run->handle[t]);
        starpu_shutdown();
    }
    free(run->handle);
    tutti_codelets_close(run->codelets);
    tutti_ledger_free(run->ledger);
    tutti_binding_close(&run->binding);
    free(run);
}

static tutti_status start(tutti_run *run)
{
    /* Several ranks may share a machine and a binding; StarPU's own binding would put them all on
     * the same cores. */
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    tutti_status status = tutti_run_check_loaded();
    if (status) return status;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = run->options.workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.catch_signals = 0;
    /* copies on other memory nodes are aligned like the binding's memory */
    starpu_malloc_set_align(ALIGNMENT);
    if (!getenv("STARPU_SCHED")) conf.sched_policy = &tutti_scheduler;
    int lock = tutti_process_lock_take("starpu", longest_start_s);
    int rc = starpu_init(&conf);
    tutti_process_lock_release(lock);
    if (rc) return tutti_fail(TUTTI_ERR_UNSUPPORTED, "StarPU failed to start: %s", strerror(-rc));
    run->started = 1;
    int workers = (int)starpu_cpu_worker_get_count();
    if (workers == run->options.workers) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "StarPU started %d CPU workers, not %d (this build supports %d)", workers,
        run->options.workers, tutti_run_starpu_max_workers());
}

static tutti_status register_tensors(tutti_run *run)
{
    run->handle = calloc((size_t)run->binding.tensors + 1, sizeof *run->handle);
    if (!run->handle)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d handles", run->binding.tensors);
    for (int t = 0; t < run->binding.tensors; t++) {
        /* Long tensors have more elements than StarPU can count, so elements of 64 bytes are
         * registered where they divide the tensor; elsewhere they would reach past its end. */
        const tutti_tensor *tensor = tutti_graph_get_tensor(run->binding.graph, t);
        size_t element =
            tensor->bytes % LONG_ELEMENT ? tutti_dtype_bytes(tensor->dtype) : LONG_ELEMENT;
        size_t count = tensor->bytes ? tensor->bytes / element : 1;
        if (count > UINT32_MAX)
            return tutti_fail(TUTTI_ERR_UNSUPPORTED,
                "tensor '%s' has %zu bytes, too many for StarPU", tensor->name, tensor->bytes);
        starpu_vector_data_register(&run->handle[t], STARPU_MAIN_RAM,
            (uintptr_t)run->binding.memory[t], (uint32_t)count, element);
    }
    return TUTTI_OK;
}

static tutti_status starpu_open(
    const tutti_graph *graph, const tutti_run_options *options, tutti_run **run)
{
    tutti_run *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a run");
    r->options = *options;
    tutti_status status = tutti_binding_open(graph, &r->binding);
    if (!status) status = tutti_codelets_open(&r->binding, run_kernel, &r->codelets);
    if (!status) status = tutti_ledger_new(&r->ledger);
    if (!status) status = start(r);
    if (!status) status = register_tensors(r);
    if (status) {
        starpu_close(r);
        return status;
    }
    tutti_run_observe(&r->options.hooks, r->ledger, 1);
    *run = r;
    return TUTTI_OK;
}

static tutti_status starpu_feed(
    tutti_run *run, int tensor, const void *data, size_t bytes, void (*release)(void *), void *arg)
{
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "feed");
    if (status) return status;
    instance proto = {
        .target = tensor, .data = (void *)data, .bytes = bytes, .release = release, .arg = arg};
    tutti_access access = {tensor, TUTTI_WRITE};
    const task_label label = {
        tutti_graph_get_tensor(run->binding.graph, tensor)->name, 0, 1, &access};
    return submit(run, &feed_codelet, &proto, &label);
}

static tutti_status starpu_fetch(tutti_run *run, int tensor, void *data, size_t bytes)
{
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "fetch");
    if (status) return status;
    instance proto = {.target = tensor, .data = data, .bytes = bytes};
    tutti_access access = {tensor, TUTTI_READ};
    const task_label label = {
        tutti_graph_get_tensor(run->binding.graph, tensor)->name, 0, 1, &access};
    return submit(run, &fetch_codelet, &proto, &label);
}

static tutti_status starpu_submit(tutti_run *run, int section)
{
    tutti_status status = TUTTI_OK;
    for (int n = 0; n < run->binding.nodes && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(run->binding.graph, n);
        if (node->section != section || !tutti_node_runs(node)) continue;
        const instance proto = {.target = n};
        const task_label label = {node->name, node->priority, node->accesses, node->access};
        status = node->kind == TUTTI_NODE_COLLECTIVE
                     ? submit_collective(run, node)
                     : submit(run, tutti_codelets_get(run->codelets, n), &proto, &label);
    }
    return status;
}

static int64_t starpu_point(tutti_run *run)
{
    return tutti_ledger_point(run->ledger);
}

static tutti_status starpu_wait(tutti_run *run, int64_t point, double timeout_s)
{
    return tutti_wait_point(run->ledger, &run->options.hooks, point, timeout_s);
}

static tutti_status starpu_acquire(
    tutti_run *run, int tensor, tutti_mode mode, size_t bytes, void **data)
{
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "acquire");
    if (!status) status = tutti_wait_over(run->ledger, &run->binding, tensor);
    if (status) return status;
    starpu_data_handle_t handle = run->handle[tensor];
    int rc = starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, tutti_starpu_mode(mode));
    if (rc)
        return tutti_fail(TUTTI_ERR_INTERNAL, "StarPU cannot acquire tensor '%s': %s",
            tutti_graph_get_tensor(run->binding.graph, tensor)->name, strerror(-rc));
    *data = run->binding.memory[tensor];
    return TUTTI_OK;
}

static void starpu_release(tutti_run *run, int tensor)
{
    starpu_data_release_on_node(run->handle[tensor], STARPU_MAIN_RAM);
}

const char *tutti_run_starpu_version(void)
{
#define TEXT(number) #number
#define VERSION(major, minor, release) "StarPU " TEXT(major) "." TEXT(minor) "." TEXT(release)
    return VERSION(STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION, STARPU_RELEASE_VERSION);
#undef VERSION
#undef TEXT
}

int tutti_run_starpu_max_workers(void)
{
    return STARPU_MAXCPUS;
}

int tutti_run_starpu_max_buffers(void)
{
    return STARPU_NMAXBUFS;
}

const tutti_runner tutti_runner_starpu = {
    .name = "starpu",
    .summary = "tasks on StarPU's CPU workers",
    .open = starpu_open,
    .feed = starpu_feed,
    .submit = starpu_submit,
    .fetch = starpu_fetch,
    .point = starpu_point,
    .wait = starpu_wait,
    .acquire = starpu_acquire,
    .release = starpu_release,
    .close = starpu_close,
};
