#include "dag/run/starpu_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/device/device.h"
#include "dag/run/expected.h"
#include "dag/run/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tutti_device_kind *const devices = &tutti_device_kind_built;

/* Kernels of one row that do not depend on each other: on a GPU one launch runs them. */
typedef struct batch {
    int first, nodes;  /* in `order` */
    const char *name;  /* of its span */
    char own_name[48]; /* where it is no node's */
} batch;

/* A region as it is run. Of a GPU, only its worker touches what changes. */
typedef struct plan {
    const tutti_region *region;
    int *order;         /* its nodes, batch by batch */
    int accesses, *of;  /* of all these nodes; and which access of the region each is */
    int batches;
    batch *batch;
    /* on a GPU, where tensors never move */
    void ***buffers;    /* of each node, in order */
    void **memory;      /* what these point into */
    const void **place; /* of each access of the region */
    int runs, is_eager; /* eager: it cannot be recorded */
    void *recording;
    int operations;          /* in it */
    int64_t recording_bytes; /* of the GPU's memory */
    void **event; /* in front of each batch and behind the last, once it is traced; else NULL */
} plan;

struct tutti_starpu_regions {
    tutti_regions found;
    plan *plan;
};

/* ---- batches ---- */

static int conflict(const tutti_node *a, const tutti_node *b)
{
    for (int i = 0; i < a->accesses; i++)
        for (int j = 0; j < b->accesses; j++)
            if (a->access[i].tensor == b->access[j].tensor &&
                ((a->access[i].mode | b->access[j].mode) & TUTTI_WRITE))
                return 1;
    return 0;
}

/* Of each node of the region, the batch it is in, as late as what follows it allows. Batches are numbered from the
 * last one on. */
static int number_batches(const tutti_run *run, const tutti_region *region, int number[])
{
    const tutti_graph *graph = run->binding.graph;
    int batches = 0;
    const tutti_kernel *row[region->nodes];
    for (int i = region->nodes - 1; i >= 0; i--) {
        const int n = region->node[i];
        const tutti_node *node = tutti_graph_get_node(graph, n);
        int least = 0; /* behind it in time are those below */
        for (int j = i + 1; j < region->nodes; j++)
            if (number[j] + 1 > least &&
                conflict(node, tutti_graph_get_node(graph, region->node[j])))
                least = number[j] + 1;
        number[i] = batches;
        for (int b = least; run->binding.kernel[n]->many && b < batches; b++)
            if (row[b] == run->binding.kernel[n]) {
                number[i] = b;
                break;
            }
        if (number[i] == batches) row[batches++] = run->binding.kernel[n];
    }
    return batches;
}

static void name_batch(const tutti_run *run, plan *p, batch *b)
{
    const tutti_node *node = tutti_graph_get_node(run->binding.graph, p->order[b->first]);
    b->name = node->name;
    if (b->nodes == 1) return;
    snprintf(b->own_name, sizeof b->own_name, "%s x%d", node->op->name, b->nodes);
    b->name = b->own_name;
}

static void sort_batches(const tutti_run *run, plan *p)
{
    const int nodes = p->region->nodes;
    int number[nodes], at = 0;
    p->batches = number_batches(run, p->region, number);
    for (int b = 0; b < p->batches; b++) {
        p->batch[b].first = at;
        for (int i = 0; i < nodes; i++)
            if (number[i] == p->batches - 1 - b) p->order[at++] = p->region->node[i];
        p->batch[b].nodes = at - p->batch[b].first;
        name_batch(run, p, &p->batch[b]);
    }
}

/* ---- plans ---- */

static void number_accesses(const tutti_run *run, plan *p)
{
    const tutti_region *r = p->region;
    int *next = p->of;
    for (int i = 0; i < r->nodes; i++) {
        const tutti_node *node = tutti_graph_get_node(run->binding.graph, p->order[i]);
        for (int a = 0; a < node->accesses; a++, next++)
            while (r->access[*next].tensor != node->access[a].tensor) ++*next;
    }
}

/* Where the tensors of each node are, given where those of the region are. */
static void find_memory(
    const tutti_run *run, const plan *p, void *const place[], void *memory[], void **buffers[])
{
    for (int i = 0; i < p->accesses; i++) memory[i] = place[p->of[i]];
    for (int i = 0; i < p->region->nodes; i++) {
        buffers[i] = memory;
        memory += tutti_graph_get_node(run->binding.graph, p->order[i])->accesses;
    }
}

static tutti_status make_plan(const tutti_run *run, const tutti_region *region, plan *p)
{
    const size_t nodes = (size_t)region->nodes;
    const int on_gpu = run->options.place.device == TUTTI_CUDA;
    int accesses = 0;
    for (int i = 0; i < region->nodes; i++)
        accesses += tutti_graph_get_node(run->binding.graph, region->node[i])->accesses;
    *p = (plan){.region = region,
        .accesses = accesses,
        .of = calloc((size_t)accesses + 1, sizeof *p->of),
        .order = calloc(nodes, sizeof *p->order),
        .buffers = calloc(nodes, sizeof *p->buffers),
        .memory = calloc((size_t)accesses + 1, sizeof *p->memory),
        .place = calloc((size_t)region->accesses + 1, sizeof *p->place),
        .batch = calloc(nodes, sizeof *p->batch)};
    if (!p->order || !p->of || !p->buffers || !p->memory || !p->place || !p->batch)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for region '%s'", region->name);
    sort_batches(run, p);
    number_accesses(run, p);
    for (int a = 0; on_gpu && a < region->accesses; a++)
        p->place[a] = run->binding.gpu[region->access[a].tensor].pointer;
    if (on_gpu) find_memory(run, p, (void *const *)p->place, p->memory, p->buffers);
    return TUTTI_OK;
}

static void free_plan(const tutti_run *run, plan *p)
{
    const int gpu = run->options.place.gpu;
    for (int b = 0; p->event && b <= p->batches; b++) devices->event_close(gpu, p->event[b]);
    devices->recording_close(gpu, p->recording);
    free(p->event);
    free(p->order);
    free(p->of);
    free(p->buffers);
    free(p->memory);
    free(p->place);
    free(p->batch);
}

void tutti_starpu_regions_close(tutti_run *run)
{
    tutti_starpu_regions *r = run->regions;
    if (!r) return;
    for (int i = 0; r->plan && i < r->found.regions; i++) free_plan(run, &r->plan[i]);
    free(r->plan);
    tutti_regions_free(&r->found);
    free(r);
    run->regions = NULL;
}

static double longest_s(const tutti_run *run)
{
    static const double cpu_s = 300e-6, gpu_s = 2e-3;
    const double wanted_s = run->options.region_s;
    return wanted_s < 0                              ? 0
           : wanted_s > 0                            ? wanted_s
           : run->options.place.device == TUTTI_CUDA ? gpu_s
                                                     : cpu_s;
}

static tutti_status find(tutti_run *run, tutti_starpu_regions *r)
{
    const tutti_graph *graph = run->binding.graph;
    const int on_gpu = run->options.place.device == TUTTI_CUDA;
    const tutti_region_rule rule = {
        .longest_s = longest_s(run), .workers = on_gpu ? 1 : run->options.workers};
    double *node_s = calloc((size_t)run->binding.nodes + 1, sizeof *node_s);
    if (!node_s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for regions");
    for (int n = 0; n < run->binding.nodes; n++)
        node_s[n] = tutti_expected_s(graph, n, run->options.place.device);
    tutti_status status = tutti_regions_find(graph, node_s, &rule, &r->found);
    if (!status) status = tutti_regions_check(graph, &r->found, rule.workers);
    free(node_s);
    return status;
}

tutti_status tutti_starpu_regions_open(tutti_run *run)
{
    tutti_starpu_regions *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for regions");
    run->regions = r;
    tutti_status status = find(run, r);
    if (status) return status;
    r->plan = calloc((size_t)r->found.regions + 1, sizeof *r->plan);
    if (!r->plan) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d regions", r->found.regions);
    for (int i = 0; i < r->found.regions && !status; i++)
        status = make_plan(run, &r->found.region[i], &r->plan[i]);
    return status;
}

/* ---- running ---- */

static plan *plan_of(const tutti_instance *i)
{
    return &i->run->regions->plan[i->target];
}

/* Recordings know tensors by where they were laid out. */
static tutti_status check_places(const plan *p, void *buffers[])
{
    for (int a = 0; a < p->region->accesses; a++)
        if ((void *)STARPU_VECTOR_GET_PTR(buffers[a]) != p->place[a])
            return tutti_fail(
                TUTTI_ERR_INTERNAL, "StarPU has moved the memory of region '%s'", p->region->name);
    return TUTTI_OK;
}

static tutti_status execute(
    const tutti_run *run, const plan *p, const batch *b, void **buffers[], void *queue)
{
    return tutti_binding_execute_many(&run->binding, b->nodes, p->order + b->first,
        (void *const *const *)(buffers + b->first), queue);
}

static tutti_span_kind kind_of(const tutti_run *run, const plan *p, const batch *b)
{
    return tutti_span_kind_of(tutti_graph_get_node(run->binding.graph, p->order[b->first]));
}

static void compute_region(void *buffers[], void *instance)
{
    tutti_instance *i = instance;
    tutti_run *run = i->run;
    const plan *p = plan_of(i);
    void *place[p->region->accesses + 1], *memory[p->accesses + 1], **of_node[p->region->nodes];
    for (int a = 0; a < p->region->accesses; a++)
        place[a] = (void *)STARPU_VECTOR_GET_PTR(buffers[a]);
    find_memory(run, p, place, memory, of_node);
    tutti_ledger_begin(run->ledger, i->id);
    tutti_status status = tutti_ledger_failure(run->ledger);
    const double mark = tutti_meter_enter(run->options.meter, TUTTI_METER_COMPUTE);
    for (int k = 0; k < p->region->nodes && !status; k++)
        tutti_direct_begin(run->direct, p->order[k], i->turn, of_node[k]);
    for (int b = 0; b < p->batches && !status; b++) {
        const double begun_s = tutti_trace_now(run->options.trace);
        tutti_ledger_rename(run->ledger, i->id, p->batch[b].name);
        status = execute(run, p, &p->batch[b], of_node, NULL);
        tutti_trace_task(run->options.trace, starpu_worker_get_id(), kind_of(run, p, &p->batch[b]),
            p->batch[b].name, i->step, begun_s);
    }
    for (int k = 0; k < p->region->nodes; k++) tutti_direct_end(run->direct, p->order[k], i->turn);
    tutti_meter_leave(run->options.meter, TUTTI_METER_COMPUTE, mark);
    tutti_instance_end(i, status);
}

static tutti_status launch_all(const tutti_run *run, const plan *p, void *queue)
{
    tutti_status status = TUTTI_OK;
    for (int b = 0; b < p->batches && !status; b++)
        status = execute(run, p, &p->batch[b], p->buffers, queue);
    return status;
}

/* With an event in front of each batch and behind the last. */
static tutti_status launch_traced(const tutti_run *run, plan *p, void *queue)
{
    const int gpu = run->options.place.gpu;
    tutti_status status = TUTTI_OK;
    if (!p->event) {
        p->event = calloc((size_t)p->batches + 1, sizeof *p->event);
        if (!p->event) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the events of a trace");
        for (int b = 0; b <= p->batches && !status; b++)
            status = devices->event_open_timed(gpu, &p->event[b]);
    }
    for (int b = 0; b <= p->batches && !status; b++) {
        status = devices->event_mark(gpu, p->event[b], queue);
        if (!status && b < p->batches) status = execute(run, p, &p->batch[b], p->buffers, queue);
    }
    return status;
}

/* Records the region's launches, which then have not run. Where they cannot be recorded, says so once. */
static tutti_status record(const tutti_run *run, plan *p, void *queue)
{
    const int gpu = run->options.place.gpu;
    size_t before = 0, after = 0;
    tutti_status status = devices->room(gpu, &before);
    if (!status) status = devices->capture_begin(gpu, queue);
    if (status) return status;
    const char *why = "";
    const tutti_status launched = launch_all(run, p, queue);
    const tutti_status recorded =
        devices->capture_end(gpu, queue, &p->recording, &p->operations, &why);
    if (recorded != TUTTI_ERR_UNSUPPORTED) {
        if (launched || recorded) return launched ? launched : recorded;
        status = devices->room(gpu, &after);
        p->recording_bytes = before > after ? (int64_t)(before - after) : 0;
        return status;
    }
    p->is_eager = 1;
    tutti_log(TUTTI_LOG_WARN,
        "GPU %d: region '%s' cannot be recorded as a CUDA graph (%s): its kernels are started one "
        "by one",
        gpu, p->region->name, why);
    return TUTTI_OK;
}

/* The first run is not recorded: libraries may still have something to prepare then. */
static tutti_status launch(const tutti_run *run, plan *p, void *queue)
{
    tutti_status status = TUTTI_OK;
    if (p->runs++ > 0 && !p->recording && !p->is_eager) status = record(run, p, queue);
    if (status) return status;
    return p->recording ? devices->replay(run->options.place.gpu, p->recording, queue)
                        : launch_all(run, p, queue);
}

static void launch_region(void *buffers[], void *instance)
{
    tutti_instance *i = instance;
    tutti_run *run = i->run;
    plan *p = plan_of(i);
    tutti_ledger_begin(run->ledger, i->id);
    i->status = tutti_ledger_failure(run->ledger);
    if (!i->status) i->status = check_places(p, buffers);
    i->begun_s = tutti_trace_now(run->options.trace);
    i->mark = tutti_meter_enter(run->options.meter, TUTTI_METER_COMPUTE);
    void *stream = tutti_run_stream(); /* StarPU waits for what is on it, even if that is nothing */
    if (!i->status)
        i->status = i->begun_s > 0 ? launch_traced(run, p, stream) : launch(run, p, stream);
}

/* The spans of a region that has ended just now. */
static void trace_batches(const tutti_instance *i)
{
    tutti_run *run = i->run;
    const plan *p = plan_of(i);
    const double now_s = tutti_trace_now(run->options.trace);
    double whole_s = 0, from_s, to_s = 0;
    const int gpu = run->options.place.gpu;
    run->gpu_ended_s = now_s;
    if (devices->event_elapsed(gpu, p->event[0], p->event[p->batches], &whole_s)) return;
    for (int b = 0; b < p->batches; b++) {
        from_s = to_s;
        if (devices->event_elapsed(gpu, p->event[0], p->event[b + 1], &to_s)) return;
        const tutti_span span = {.name = p->batch[b].name,
            .kind = kind_of(run, p, &p->batch[b]),
            .step = i->step,
            .begin_s = now_s > 0 ? now_s - whole_s + from_s : 0,
            .end_s = now_s - whole_s + to_s};
        tutti_trace_add(run->options.trace, TUTTI_TRACK_WORKER + starpu_worker_get_id(), &span);
    }
}

static void end_region(void *instance)
{
    tutti_instance *i = instance;
    tutti_meter_leave(i->run->options.meter, TUTTI_METER_COMPUTE, i->mark);
    if (i->begun_s > 0 && !i->status) trace_batches(i);
    tutti_instance_end(i, i->status);
}

/* ---- tasks ---- */

/* Without a model: each region would need its own. */
static struct starpu_codelet cpu_codelet = {
    .cpu_funcs = {compute_region}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "region"};
static struct starpu_codelet gpu_codelet = {.cuda_funcs = {launch_region},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "region"};

void tutti_starpu_count_region(const tutti_run *run, int region, tutti_run_counts *counts)
{
    const plan *p = &run->regions->plan[region];
    if (run->options.place.device != TUTTI_CUDA) return;
    counts->launches += p->recording ? 1 : p->batches;
    counts->graphs += p->recording != NULL;
    counts->graph_bytes += p->recording_bytes;
}

int tutti_starpu_region_of(const tutti_run *run, int node)
{
    return run->regions->found.of[node];
}

int tutti_starpu_region_begins(const tutti_run *run, int region, int node)
{
    return run->regions->found.region[region].node[0] == node;
}

tutti_status tutti_starpu_submit_region(tutti_run *run, int region, int64_t turn)
{
    const tutti_region *r = &run->regions->found.region[region];
    const int on_gpu = run->options.place.device == TUTTI_CUDA;
    const tutti_instance proto = {.target = region, .turn = turn};
    const tutti_task_label label = {.name = r->name,
        .priority = r->priority,
        .accesses = r->accesses,
        .access = r->access,
        .done = on_gpu ? end_region : NULL};
    return tutti_starpu_submit(run, on_gpu ? &gpu_codelet : &cpu_codelet, &proto, &label);
}
