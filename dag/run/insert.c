#include "dag/run/insert.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/held.h"
#include "dag/run/ledger.h"
#include "dag/run/uses.h"
#include "dag/run/wait.h"

#include <starpu.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HANDLES = 3 };

struct tutti_insert {
    tutti_run_hooks hooks;
    tutti_ledger *ledger;
    starpu_data_handle_t token; /* NULL without a chain */
    tutti_uses uses;
};

/* One inserted node; lives until it ends. */
typedef struct insertion {
    tutti_token token; /* first: a token's address is its insertion's */
    tutti_insert *insert;
    tutti_held *held;
    int64_t id, sequence;
    tutti_node node;
    char desc[];
} insertion;

static void finish_token(tutti_token *token, tutti_status status)
{
    insertion *i = (insertion *)token;
    tutti_held *held = i->held;
    tutti_ledger_leave(i->insert->ledger, i->id, status);
    free(i);
    tutti_held_end(held);
}

static void start_collective(void *arg, void *const buf[])
{
    insertion *i = arg;
    tutti_ledger_begin(i->insert->ledger, i->id);
    const tutti_run_hooks *hooks = &i->insert->hooks;
    hooks->start(hooks->ctx, &i->node, i->sequence, buf, &i->token);
}

static void refuse(void *arg, tutti_status status)
{
    insertion *i = arg;
    finish_token(&i->token, status);
}

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

/* Asks for the data, and the chain's token where there is one. */
static tutti_status hold(
    insertion *i, int handles, const tutti_insert_handle handle[], const tutti_mode mode[])
{
    starpu_data_handle_t all[MOST_HANDLES + 1];
    tutti_mode modes[MOST_HANDLES + 1];
    memcpy(all, handle, (size_t)handles * sizeof *handle);
    memcpy(modes, mode, (size_t)handles * sizeof *mode);
    if (i->insert->token) {
        all[handles] = i->insert->token;
        modes[handles++] = TUTTI_CHAIN;
    }
    const tutti_held_request request = {.name = i->node.name,
        .counted = 1,
        .handles = handles,
        .handle = all,
        .mode = modes,
        .start = start_collective,
        .refused = refuse,
        .arg = i};
    return tutti_held_open(&request, &i->held);
}

tutti_status tutti_insert_collective(tutti_insert *insert, const char *name, const void *desc,
    size_t desc_bytes, int handles, const tutti_insert_handle handle[], const tutti_mode mode[])
{
    if (handles > MOST_HANDLES)
        return tutti_fail(TUTTI_ERR_INTERNAL, "%s: %d handles", name, handles);
    tutti_status room = tutti_uses_reserve(&insert->uses, insert->ledger, handles);
    if (room) return room;
    int64_t next = tutti_ledger_point(insert->ledger); /* its id */
    insertion *i = calloc(1, sizeof *i + desc_bytes);
    if (!i) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a %s", name);
    *i = (insertion){.token.finish = finish_token, .insert = insert};
    memcpy(i->desc, desc, desc_bytes);
    i->node = (tutti_node){
        .name = name, .kind = TUTTI_NODE_COLLECTIVE, .desc = i->desc, .desc_bytes = desc_bytes};
    tutti_status status = hold(i, handles, handle, mode);
    if (status) {
        free(i);
        return status;
    }
    i->sequence = insert->hooks.reserve(insert->hooks.ctx, &i->node);
    const tutti_task entry = {.name = name, .sequence = i->sequence};
    status = tutti_ledger_enter(insert->ledger, &entry, &i->id);
    int entered = !status;
    int64_t id = i->id; /* it may have ended, and be gone, once it is submitted */
    if (!status) status = tutti_held_submit(i->held);
    if (status) {
        if (entered) tutti_ledger_leave(insert->ledger, id, status);
        tutti_held_end(i->held);
        free(i);
    } else {
        tutti_uses_add(&insert->uses, next, handles, handle);
    }
    return status;
}

int tutti_insert_ended(tutti_insert *insert)
{
    return tutti_ledger_reached(insert->ledger, tutti_ledger_point(insert->ledger));
}

/* After a failure what is left ends with it, what is in flight as soon as nobody touches its data any
 * more. That takes no time, unless a rank is gone: then the data are not the program's again. */
static tutti_status drain(tutti_insert *insert, tutti_status failure, double until_s)
{
    static const double least_s = 2, most_s = 60;
    double began_s = tutti_clock_s(), patience_s = until_s - began_s;
    if (patience_s < least_s) patience_s = least_s;
    if (patience_s > most_s) patience_s = most_s;
    if (tutti_wait_drained(insert->ledger, &insert->hooks, patience_s)) return failure;
    return tutti_ledger_report_held(insert->ledger, tutti_clock_s() - began_s);
}

tutti_status tutti_insert_wait(tutti_insert *insert, double timeout_s)
{
    double until_s = tutti_clock_s() + timeout_s;
    tutti_status status = tutti_wait_point(
        insert->ledger, &insert->hooks, tutti_ledger_point(insert->ledger), timeout_s);
    return status && status != TUTTI_ERR_TIMEOUT ? drain(insert, status, until_s) : status;
}

/* Until nothing that was inserted on the data is left, or something failed. */
static tutti_status await(tutti_insert *insert, tutti_insert_handle data, double timeout_s)
{
    static const double poll_s = 100e-6;
    double until_s = tutti_clock_s() + timeout_s;
    while (!tutti_uses_ended(&insert->uses, insert->ledger, data)) {
        tutti_status status = tutti_ledger_failure(insert->ledger);
        const tutti_run_hooks *hooks = &insert->hooks;
        if (!status && hooks->main) status = hooks->main(hooks->ctx);
        if (status) return status;
        if (tutti_clock_s() >= until_s && timeout_s > 0)
            return tutti_ledger_report_timeout(
                insert->ledger, tutti_ledger_point(insert->ledger), timeout_s);
        if (tutti_clock_s() >= until_s) return TUTTI_ERR_TIMEOUT;
        tutti_clock_sleep(poll_s);
    }
    return tutti_ledger_failure(insert->ledger);
}

tutti_status tutti_insert_wait_for(tutti_insert *insert, tutti_insert_handle data, double timeout_s)
{
    double until_s = tutti_clock_s() + timeout_s;
    tutti_run_waits(&insert->hooks, 1);
    tutti_status status = await(insert, data, timeout_s);
    tutti_run_waits(&insert->hooks, 0);
    return status && status != TUTTI_ERR_TIMEOUT ? drain(insert, status, until_s) : status;
}

void tutti_insert_close(tutti_insert *insert)
{
    if (!insert) return;
    tutti_run_observe(&insert->hooks, NULL, 0);
    if (!tutti_insert_ended(insert)) return; /* tokens may still end: what they touch stays */
    if (insert->token && starpu_is_initialized()) starpu_data_unregister(insert->token);
    tutti_ledger_free(insert->ledger);
    tutti_uses_free(&insert->uses);
    free(insert);
}
