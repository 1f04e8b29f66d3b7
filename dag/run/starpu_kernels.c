#include "dag/run/starpu_parts.h"

#include "dag/run/stream.h"

static const tutti_node *node_of(const tutti_instance *i)
{
    return tutti_graph_get_node(i->run->binding.graph, i->target);
}

static void collect(const tutti_instance *i, void *buffers[], void *buf[])
{
    const tutti_node *n = node_of(i);
    for (int a = 0; a < n->accesses; a++) buf[a] = (void *)STARPU_VECTOR_GET_PTR(buffers[a]);
}

/* Adds what has run on this worker to the trace. */
static void trace(const tutti_instance *i, double begun_s)
{
    const tutti_node *n = node_of(i);
    if (begun_s > 0)
        tutti_trace_task(i->run->options.trace, starpu_worker_get_id(), tutti_span_kind_of(n),
            n->name, i->step, begun_s);
}

void tutti_starpu_compute(void *buffers[], void *instance)
{
    tutti_instance *i = instance;
    tutti_run *run = i->run;
    void *buf[run->binding.widest + 1];
    tutti_ledger_begin(run->ledger, i->id);
    collect(i, buffers, buf);
    tutti_status status = tutti_ledger_failure(run->ledger);
    double begun_s = tutti_trace_now(run->options.trace);
    if (!status) {
        double mark = tutti_meter_enter(run->options.meter, TUTTI_METER_COMPUTE);
        tutti_direct_begin(run->direct, i->target, i->turn, buf);
        status = tutti_binding_execute(&run->binding, i->target, buf, NULL);
        tutti_meter_leave(run->options.meter, TUTTI_METER_COMPUTE, mark);
    }
    tutti_direct_end(run->direct, i->target, i->turn);
    trace(i, begun_s);
    tutti_instance_end(i, status);
}

void tutti_starpu_launch(void *buffers[], void *instance)
{
    tutti_instance *i = instance;
    tutti_run *run = i->run;
    void *buf[run->binding.widest + 1];
    tutti_ledger_begin(run->ledger, i->id);
    collect(i, buffers, buf);
    i->status = tutti_ledger_failure(run->ledger);
    i->begun_s = tutti_trace_now(run->options.trace);
    i->mark = tutti_meter_enter(run->options.meter, TUTTI_METER_COMPUTE);
    void *stream = tutti_run_stream(); /* StarPU waits for what is on it, even if that is nothing */
    if (!i->status) i->status = tutti_binding_execute(&run->binding, i->target, buf, stream);
}

double tutti_starpu_turn_began(tutti_run *run, double launched_s)
{
    double began_s = launched_s;
    if (launched_s > 0 && run->gpu_ended_s > began_s) began_s = run->gpu_ended_s;
    run->gpu_ended_s = tutti_trace_now(run->options.trace);
    return began_s;
}

/* The event behind the kernel has passed. */
static void end_launched(void *instance)
{
    tutti_instance *i = instance;
    tutti_meter_leave(i->run->options.meter, TUTTI_METER_COMPUTE, i->mark);
    trace(i, tutti_starpu_turn_began(i->run, i->begun_s));
    tutti_instance_end(i, i->status);
}

tutti_status tutti_starpu_submit_kernel(tutti_run *run, int node, int64_t turn)
{
    const tutti_node *n = tutti_graph_get_node(run->binding.graph, node);
    const int launched = run->binding.kernel[node]->device == TUTTI_CUDA;
    const tutti_instance proto = {.target = node, .turn = turn};
    const tutti_task_label label = {.name = n->name,
        .priority = n->priority,
        .accesses = n->accesses,
        .access = n->access,
        .done = launched ? end_launched : NULL};
    return tutti_starpu_submit(run, tutti_codelets_get(run->codelets, node), &proto, &label);
}
