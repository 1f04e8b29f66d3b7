/* Nodes as StarPU tasks: edges by StarPU's own sequential consistency; codelets are in
 * dag/run/codelets.h, collectives in dag/run/collective_task.h. Tensors are registered where the
 * binding has laid them out (handles.h), so that collectives find the tensors of a bucket one after the
 * other. */
#include "dag/run/starpu.h"

#include "dag/base/log.h"
#include "dag/device/device.h"
#include "dag/run/collective_task.h"
#include "dag/run/init_starpu.h"
#include "dag/run/loaded.h"
#include "dag/run/scheduler.h"
#include "dag/run/starpu_parts.h"
#include "dag/run/wait.h"

#include <starpu_config.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* Fails unless StarPU has left all data where the binding laid them out. */
static tutti_status are_laid_out(void *arg, const tutti_node *node, const tutti_buffer buf[])
{
    const tutti_run *run = arg;
    const int on_gpu = tutti_binding_collects_there(&run->binding.place, node);
    const tutti_buffer *laid_out = on_gpu ? run->binding.gpu : run->binding.host;
    for (int a = 0; a < node->accesses; a++)
        if (buf[a].pointer && buf[a].pointer != laid_out[node->access[a].tensor].pointer)
            return tutti_fail(
                TUTTI_ERR_INTERNAL, "StarPU has moved the memory of '%s'", node->name);
    return TUTTI_OK;
}

static tutti_status submit_collective(tutti_run *run, int n, int64_t turn)
{
    const tutti_node *node = tutti_graph_get_node(run->binding.graph, n);
    int64_t sequence = -1;
    starpu_data_handle_t handle[node->accesses + 1];
    tutti_mode mode[node->accesses + 1];
    const int on_gpu = tutti_binding_collects_there(&run->binding.place, node);
    for (int a = 0; a < node->accesses; a++) {
        handle[a] = run->handles.handle[node->access[a].tensor];
        mode[a] = node->access[a].mode;
    }
    const tutti_collective_task task = {.node = node,
        .hooks = &run->options.hooks,
        .ledger = run->ledger,
        .trace = run->options.trace,
        .held = {.priority = tutti_starpu_priority(node->priority),
            .handles = node->accesses,
            .handle = handle,
            .mode = mode,
            .memory_node = on_gpu ? run->handles.lives : STARPU_MAIN_RAM,
            .memory = on_gpu       ? TUTTI_MEMORY_DEVICE
                      : run->slots ? TUTTI_MEMORY_PINNED
                                   : TUTTI_MEMORY_HOST,
            .device = run->binding.place.gpu},
        .arrived = are_laid_out,
        .arg = run,
        .sequence = &sequence};
    tutti_status status = tutti_collective_task_submit(&task);
    if (!status) tutti_direct_numbered(run->direct, n, turn, sequence);
    return status;
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

static int starpu_close(tutti_run *run)
{
    if (!run) return 1;
    tutti_run_observe(&run->options.hooks, NULL, 1);
    /* Tasks behind a collective that never ends never end, either: then StarPU cannot be stopped,
     * and everything stays as it is. */
    if (!has_ended(run)) return 0;
    if (run->started) {
        starpu_task_wait_for_all();
        tutti_slots_close(run->slots);
        tutti_tensor_handles_close(&run->handles);
        starpu_shutdown();
    }
    tutti_direct_close(run->direct);
    tutti_starpu_regions_close(run);
    tutti_codelets_close(run->codelets);
    tutti_ledger_free(run->ledger);
    tutti_binding_close(&run->binding);
    tutti_instances_free(run);
    free(run);
    return 1;
}

static int uses_gpu(const tutti_run *run)
{
    return run->options.place.device == TUTTI_CUDA;
}

/* Whether StarPU has started the workers that were asked for, which its environment can change. */
static tutti_status check_workers(const tutti_run *run)
{
    const int workers = (int)starpu_cpu_worker_get_count();
    if (workers != run->options.workers)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "StarPU started %d CPU workers, not %d (this build supports %d)", workers,
            run->options.workers, tutti_run_starpu_max_workers());
    if (!uses_gpu(run)) return TUTTI_OK;
    const int gpu = run->options.place.gpu;
    const int worker = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    if (worker < 0)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "StarPU started no worker for GPU %d: unset STARPU_NCUDA, and see that this StarPU was "
            "built with CUDA (tutti-info)",
            gpu);
    if (starpu_cuda_worker_get_count() == 1 && starpu_worker_get_devid(worker) == gpu)
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "StarPU started %u workers for GPUs, the first for GPU %d, instead of one for GPU %d: "
        "unset STARPU_NCUDA, STARPU_NWORKER_PER_CUDA and STARPU_WORKERS_CUDAID",
        starpu_cuda_worker_get_count(), starpu_worker_get_devid(worker), gpu);
}

static tutti_status init(int workers, int gpus, int gpu)
{
    /* Several ranks may share a machine and a binding; StarPU's own binding would put them all on
     * the same cores. */
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = gpus;
    conf.use_explicit_workers_cuda_gpuid = (unsigned)gpus;
    conf.workers_cuda_gpuid[0] = (unsigned)gpu;
    conf.nopencl = 0;
    conf.catch_signals = 0;
    /* copies on other memory nodes are aligned like the binding's memory */
    starpu_malloc_set_align(ALIGNMENT);
    if (!getenv("STARPU_SCHED")) conf.sched_policy = &tutti_scheduler;
    tutti_status status = tutti_run_check_loaded();
    return status ? status : tutti_run_init_starpu(&conf);
}

tutti_status tutti_run_starpu_measure(void)
{
    if (starpu_is_initialized()) return TUTTI_OK;
    tutti_status status = init(1, 0, 0);
    if (!status) starpu_shutdown();
    return status;
}

static tutti_status start_starpu(tutti_run *run)
{
    tutti_status status = init(run->options.workers, uses_gpu(run), run->options.place.gpu);
    if (status) return status;
    run->started = 1;
    return check_workers(run);
}

/* What collectives take of the GPU's memory beside their data, so that it is not there for the rest. */
static tutti_status prepare_collectives(tutti_run *run, const tutti_graph *graph)
{
    const tutti_run_hooks *hooks = &run->options.hooks;
    const tutti_binding_place *place = &run->options.place;
    size_t all = 0, bytes;
    for (int n = 0; hooks->prepare && n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind != TUTTI_NODE_COLLECTIVE || !tutti_binding_collects_there(place, node))
            continue;
        tutti_status status = hooks->prepare(hooks->ctx, node, &bytes);
        all += bytes;
        if (status)
            return tutti_fail(status,
                "GPU %d: no memory for the partial sums of collectives, of which '%s' needs %zu "
                "bytes: use fewer ranks for each GPU, or collectives in main memory",
                place->gpu, node->name, bytes);
    }
    if (all)
        tutti_log(TUTTI_LOG_INFO, "GPU %d: collectives take %.2f GiB for partial sums", place->gpu,
            (double)all / 0x1p30);
    return TUTTI_OK;
}

static tutti_status starpu_open(
    const tutti_graph *graph, const tutti_run_options *options, tutti_run **run)
{
    tutti_run *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a run");
    r->options = *options;
    const tutti_binding_place place = tutti_run_place(options);
    /* StarPU first: where it has not measured the GPUs yet, it does, and resets them afterwards, with
     * all memory and handles that this process has there. */
    tutti_status status = start_starpu(r);
    if (!status) status = prepare_collectives(r, graph);
    if (!status) status = tutti_binding_open(graph, &place, &r->binding);
    if (!status)
        status = tutti_codelets_open(
            &r->binding, tutti_starpu_compute, tutti_starpu_launch, &r->codelets);
    if (!status) status = tutti_starpu_regions_open(r);
    if (!status) status = tutti_direct_open(&r->binding, &r->options.hooks, &r->direct);
    if (!status) status = tutti_ledger_new(&r->ledger);
    if (!status) status = tutti_tensor_handles_open(&r->binding, &r->handles);
    if (!status && uses_gpu(r)) status = tutti_slots_open(&r->binding, &r->slots);
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
    const tutti_instance proto = {
        .target = tensor, .data = (void *)data, .bytes = bytes, .release = release, .arg = arg};
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "feed");
    return status ? status : tutti_starpu_feed(run, &proto);
}

static tutti_status starpu_fetch(tutti_run *run, int tensor, void *data, size_t bytes)
{
    const tutti_instance proto = {.target = tensor, .data = data, .bytes = bytes};
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "fetch");
    return status ? status : tutti_starpu_fetch(run, &proto);
}

static tutti_status starpu_submit(tutti_run *run, int section)
{
    tutti_status status = TUTTI_OK;
    int count;
    const int *running = tutti_binding_section(&run->binding, section, &count);
    const int64_t turn = running ? tutti_direct_submit(run->direct, section) : 0;
    for (int i = 0; i < count && !status; i++) {
        const int n = running[i];
        const tutti_node *node = tutti_graph_get_node(run->binding.graph, n);
        const int region = tutti_starpu_region_of(run, n);
        if (region >= 0 && !tutti_starpu_region_begins(run, region, n)) continue;
        status = node->kind == TUTTI_NODE_COLLECTIVE ? submit_collective(run, n, turn)
                 : region >= 0                       ? tutti_starpu_submit_region(run, region, turn)
                                                     : tutti_starpu_submit_kernel(run, n, turn);
    }
    return status;
}

static int64_t starpu_point(tutti_run *run)
{
    return tutti_ledger_point(run->ledger);
}

static tutti_status starpu_wait(tutti_run *run, int64_t from, int64_t point, double timeout_s)
{
    return tutti_wait_point(run->ledger, &run->options.hooks, from, point, timeout_s);
}

static tutti_status starpu_acquire(
    tutti_run *run, int tensor, tutti_mode mode, size_t bytes, void **data)
{
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "acquire");
    if (!status) status = tutti_wait_over(run->ledger, &run->binding, tensor);
    if (status) return status;
    return tutti_tensor_handles_acquire(&run->handles, tensor, mode, data);
}

static void starpu_release(tutti_run *run, int tensor)
{
    tutti_status status = tutti_tensor_handles_release(&run->handles, tensor);
    if (status) tutti_ledger_fail(run->ledger, status); /* the next wait returns it */
}

static tutti_insert_handle starpu_handle(tutti_run *run, int tensor)
{
    return run->handles.handle[tensor];
}

static tutti_run_counts starpu_count(const tutti_run *run, int section)
{
    tutti_run_counts counts = {0};
    int count;
    const int *running = tutti_binding_section(&run->binding, section, &count);
    for (int i = 0; i < count; i++) {
        const int n = running[i], region = tutti_starpu_region_of(run, n);
        const int sums = tutti_graph_get_node(run->binding.graph, n)->kind == TUTTI_NODE_COLLECTIVE;
        counts.kernels += !sums;
        counts.collectives += sums;
        if (region >= 0 && !tutti_starpu_region_begins(run, region, n)) continue;
        counts.tasks++;
        if (region >= 0)
            tutti_starpu_count_region(run, region, &counts);
        else
            counts.launches += !sums && uses_gpu(run);
    }
    return counts;
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
    .summary = "tasks on StarPU's workers",
    .open = starpu_open,
    .feed = starpu_feed,
    .submit = starpu_submit,
    .fetch = starpu_fetch,
    .point = starpu_point,
    .wait = starpu_wait,
    .acquire = starpu_acquire,
    .release = starpu_release,
    .handle = starpu_handle,
    .count = starpu_count,
    .close = starpu_close,
};
