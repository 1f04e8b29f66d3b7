#include "dag/run/starpu_parts.h"

#include "dag/base/log.h"
#include "dag/run/held.h"
#include "dag/run/starpu_mode.h"

#include <stdlib.h>
#include <string.h>

/* Gives the task its handles. More than StarPU's fixed arrays hold go into arrays that StarPU frees
 * with the task. */
static tutti_status set_data(
    tutti_run *run, struct starpu_task *task, const tutti_task_label *label)
{
    const int tensors = label->accesses;
    task->nbuffers = tensors + (label->turn != NULL);
    if (task->nbuffers > STARPU_NMAXBUFS) {
        task->dyn_handles = malloc((size_t)task->nbuffers * sizeof *task->dyn_handles);
        task->dyn_modes = malloc((size_t)task->nbuffers * sizeof *task->dyn_modes);
        if (!task->dyn_handles || !task->dyn_modes)
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a task");
    }
    for (int a = 0; a < tensors; a++) {
        STARPU_TASK_SET_HANDLE(task, run->handles.handle[label->access[a].tensor], a);
        STARPU_TASK_SET_MODE(task, tutti_starpu_mode(label->access[a].mode), a);
    }
    if (label->turn) {
        STARPU_TASK_SET_HANDLE(task, label->turn, tensors);
        STARPU_TASK_SET_MODE(task, tutti_starpu_mode(label->turn_mode), tensors);
    }
    return TUTTI_OK;
}

int tutti_starpu_priority(int priority)
{
    int low = starpu_sched_get_min_priority(), high = starpu_sched_get_max_priority();
    return priority < low ? low : priority > high ? high : priority;
}

tutti_status tutti_starpu_task_make(tutti_run *run, struct starpu_codelet *codelet,
    tutti_instance *instance, const tutti_task_label *label, struct starpu_task **made)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", label->name);
    task->cl = codelet;
    task->cl_arg = instance;
    task->callback_func = label->done;
    task->callback_arg = instance;
    task->name = label->name;
    task->priority = tutti_starpu_priority(label->priority);
    tutti_status status = set_data(run, task, label);
    if (status)
        tutti_starpu_task_discard(task);
    else
        *made = task;
    return status;
}

static tutti_instance *take_instance(tutti_run *run)
{
    if (!run->spare) run->spare = atomic_exchange(&run->ended, NULL);
    tutti_instance *i = run->spare;
    if (!i) return malloc(sizeof *i);
    run->spare = i->next;
    return i;
}

static void give_instance(tutti_run *run, tutti_instance *instance)
{
    instance->next = atomic_load(&run->ended);
    while (!atomic_compare_exchange_weak(&run->ended, &instance->next, instance)) continue;
}

static void free_instances(tutti_instance *first)
{
    while (first) {
        tutti_instance *next = first->next;
        free(first);
        first = next;
    }
}

void tutti_instances_free(tutti_run *run)
{
    free_instances(run->spare);
    free_instances(atomic_load(&run->ended));
}

tutti_status tutti_instance_make(tutti_run *run, const tutti_instance *proto,
    const tutti_task_label *label, tutti_instance **made)
{
    tutti_instance *fresh = take_instance(run);
    if (!fresh) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", label->name);
    *fresh = *proto;
    fresh->run = run;
    fresh->step = tutti_trace_step(run->options.trace);
    const tutti_task entry = {label->name, label->accesses, label->access, -1, NULL};
    tutti_status status = tutti_ledger_enter(run->ledger, &entry, &fresh->id);
    if (status)
        give_instance(run, fresh);
    else
        *made = fresh;
    return status;
}

void tutti_instance_end(tutti_instance *instance, tutti_status status)
{
    tutti_run *run = instance->run;
    const int64_t id = instance->id;
    give_instance(run, instance); /* first: once the ledger has it, the run may be closed */
    tutti_ledger_leave(run->ledger, id, status);
}

tutti_status tutti_starpu_task_submit(struct starpu_task *task)
{
    int rc = starpu_task_submit(task);
    return rc ? tutti_fail(
                    TUTTI_ERR_INTERNAL, "StarPU refuses task '%s': %s", task->name, strerror(-rc))
              : TUTTI_OK;
}

tutti_status tutti_starpu_submit(tutti_run *run, struct starpu_codelet *codelet,
    const tutti_instance *proto, const tutti_task_label *label)
{
    tutti_instance *fresh = NULL;
    struct starpu_task *task = NULL;
    tutti_status status = tutti_instance_make(run, proto, label, &fresh);
    if (status) return status;
    status = tutti_starpu_task_make(run, codelet, fresh, label, &task);
    if (!status) status = tutti_starpu_task_submit(task);
    if (status) {
        tutti_starpu_task_discard(task);
        tutti_instance_end(fresh, status);
    }
    return status;
}
