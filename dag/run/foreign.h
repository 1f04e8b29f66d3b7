/* The tasks of a program that attaches, as spans of StarPU's workers in a trace.
 *
 * In all its versions StarPU lets one part of a process see every task: the scheduling policy,
 * which it calls on the worker right before and after each task (pre_exec_hook and post_exec_hook
 * of struct starpu_sched_policy). Every scheduling context has a copy of its policy, which
 * starpu_sched_ctx_get_sched_policy returns. open puts functions there that take the time and pass
 * the call on to the policy's own. They stay, because a worker may be about to call them; while
 * nothing is recorded they cost a few loads per task.
 *
 *   span    from before the task's function until StarPU has released the task's data
 *   kind    TASK; START for the task that starts a collective (dag/run/held.h)
 *   name    starpu_task_get_name, copied; a worker keeps 3072 names, and further ones are "task"
 *
 * Not seen: tasks that occupy no worker; tasks that end later than their function
 * (starpu_task_end_dep_add); copies that StarPU makes; tasks under way at open or stop; contexts
 * created after open.
 *
 * StarPU passes these functions nothing of ours, so a process records at most one trace at a time.
 *
 *   open -> { switch on or off }* -> stop -> (spans are read) -> close            [M] */
#ifndef TUTTI_FOREIGN_H
#define TUTTI_FOREIGN_H

#include "dag/base/status.h"
#include "dag/run/trace.h"

typedef struct tutti_foreign tutti_foreign;

/* How many workers StarPU has. */
int tutti_foreign_workers(void);
/* Records into a trace with a track for each worker, while that is on. UNSUPPORTED (logged): this
 * process records another one; NOMEM. */
tutti_status tutti_foreign_open(tutti_trace *trace, tutti_foreign **foreign);
/* When it returns, no worker touches the trace any more. */
void tutti_foreign_stop(tutti_foreign *foreign);
/* Frees the names of the spans; stops before that. Accepts NULL. */
void tutti_foreign_close(tutti_foreign *foreign);

#endif
