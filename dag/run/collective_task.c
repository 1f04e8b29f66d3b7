#include "dag/run/collective_task.h"

#include "dag/base/log.h"
#include "dag/run/latch.h"

#include <math.h>
#include <stdlib.h>

/* One submission; lives from submit until it ends. */
typedef struct submission {
    tutti_token token; /* first: a token's address is its submission's */
    tutti_collective_task task;
    tutti_held *held;
    int64_t id, sequence, step;
    tutti_latch *ended; /* the worker waits for it where the place holds; else NULL */
} submission;

static void finish_token(tutti_token *token, tutti_status status)
{
    submission *s = (submission *)token;
    const tutti_collective_task task = s->task;
    tutti_held *held = s->held;
    tutti_latch *ended = s->ended;
    /* The ledger first: who gets the data, or StarPU's end of the task, finds the status there. */
    tutti_ledger_leave(task.ledger, s->id, status);
    free(s);
    tutti_held_end(held);
    if (task.release) task.release(task.arg);
    if (ended) tutti_latch_open(ended, status);
}

/* Hands the collective to its design. The submission may be gone once it has started. */
static void hand_over(submission *s, const tutti_buffer buf[])
{
    const tutti_collective_task task = s->task;
    const int64_t step = s->step;
    tutti_ledger_begin(task.ledger, s->id);
    tutti_status status = task.arrived ? task.arrived(task.arg, task.node, buf) : TUTTI_OK;
    if (status) {
        finish_token(&s->token, status);
        return;
    }
    tutti_latch ended;
    int holds = task.node->place.holds;
    tutti_span_kind kind = tutti_span_kind_of(task.node);
    const char *name = task.node->name;
    double begun_s = tutti_trace_now(task.trace);
    tutti_latch_init(&ended);
    if (holds) s->ended = &ended;
    task.hooks->start(task.hooks->ctx, task.node, s->sequence, buf, &s->token);
    if (begun_s > 0)
        tutti_trace_task(task.trace, starpu_worker_get_id(), kind, name, step, begun_s);
    while (holds && !tutti_latch_wait(&ended, INFINITY))
        continue; /* the run's wait has a deadline */
    tutti_latch_destroy(&ended);
}

/* Called when all data are where they are held. */
static void start_collective(void *arg, const tutti_buffer buf[])
{
    submission *s = arg;
    tutti_ledger *ledger = s->task.ledger;
    tutti_ledger_hands(ledger, 1);
    hand_over(s, buf);
    tutti_ledger_hands(ledger, 0);
}

static void refuse(void *arg, tutti_status status)
{
    submission *s = arg;
    finish_token(&s->token, status);
}

tutti_status tutti_collective_task_submit(const tutti_collective_task *task)
{
    const tutti_node *node = task->node;
    submission *s = malloc(sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for collective '%s'", node->name);
    *s = (submission){
        .token.finish = finish_token, .task = *task, .step = tutti_trace_step(task->trace)};
    tutti_held_request held = task->held;
    held.name = node->name;
    held.start = start_collective;
    held.refused = refuse;
    held.arg = s;
    tutti_status status = tutti_held_open(&held, &s->held);
    if (status) {
        free(s);
        return status;
    }
    s->sequence = task->hooks->reserve(task->hooks->ctx, node);
    if (task->sequence) *task->sequence = s->sequence;
    tutti_task entry = {node->name, node->accesses, node->access, s->sequence, NULL};
    if (task->data)
        entry = (tutti_task){node->name, held.handles, task->access, s->sequence, task->data};
    status = tutti_ledger_enter(task->ledger, &entry, &s->id);
    int entered = !status;
    int64_t id = s->id; /* it may have ended, and be gone, once it is submitted */
    if (!status) status = tutti_held_submit(s->held);
    if (status) {
        if (entered) tutti_ledger_leave(task->ledger, id, status);
        tutti_held_end(s->held);
        free(s);
    }
    return status;
}
