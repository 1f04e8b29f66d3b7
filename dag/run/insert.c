#include "dag/run/insert.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/collective_task.h"
#include "dag/run/loaded.h"
#include "dag/run/ledger.h"
#include "dag/run/uses.h"
#include "dag/run/wait.h"

#include <starpu.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HANDLES = 18 };

/* A chain's token. */
typedef struct link_chain {
    struct link_chain *next;
    int number;
    starpu_data_handle_t token;
} link_chain;

struct tutti_insert {
    tutti_run_hooks hooks;
    tutti_ledger *ledger;
    int chained;
    link_chain *chains; /* used so far */
    tutti_uses uses;
};

/* An inserted node, how it uses its data, and its descriptor; lives until the node ends. */
typedef struct insertion {
    tutti_node node;
    tutti_access *access;
    const void **data;
    char *desc;
} insertion;

/* A block with room for all of it. NULL: no memory. */
static insertion *new_insertion(const tutti_insert_node *node, int handles,
    const starpu_data_handle_t handle[], const tutti_mode mode[])
{
    const size_t n = (size_t)handles;
    insertion *i =
        calloc(1, sizeof *i + n * (sizeof *i->data + sizeof *i->access) + node->desc_bytes);
    if (!i) return NULL;
    i->data = (const void **)(i + 1);
    i->access = (tutti_access *)(i->data + n);
    i->desc = (char *)(i->access + n);
    for (int h = 0; h < handles; h++) {
        i->data[h] = handle[h];
        i->access[h].mode = mode[h];
    }
    memcpy(i->desc, node->desc, node->desc_bytes);
    i->node = (tutti_node){.name = node->name,
        .kind = TUTTI_NODE_COLLECTIVE,
        .desc = i->desc,
        .desc_bytes = node->desc_bytes,
        .place = {.priority = node->priority}};
    return i;
}

/* The program's own tasks: while their number changes, the program makes progress. */
static int count_tasks(void)
{
    return starpu_is_initialized() ? starpu_task_nsubmitted() : 0;
}

tutti_status tutti_insert_open(const tutti_run_hooks *hooks, int chain, tutti_insert **insert)
{
    tutti_status status = tutti_run_check_loaded();
    if (status) return status;
    if (!starpu_is_initialized())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "StarPU is not initialised: call tutti_start_starpu before tutti_attach");
    if (!starpu_cpu_worker_get_count())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "StarPU has no CPU worker, which Tutti's tasks need: set STARPU_NCPU");
    tutti_insert *n = calloc(1, sizeof *n);
    if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to attach");
    n->hooks = *hooks;
    status = tutti_ledger_new(&n->ledger);
    if (status) {
        free(n);
        return status;
    }
    n->chained = chain;
    tutti_ledger_outside(n->ledger, count_tasks);
    tutti_ledger_describe(n->ledger, n->hooks.describe, n->hooks.ctx);
    tutti_run_observe(&n->hooks, n->ledger, 0);
    *insert = n;
    return TUTTI_OK;
}

/* NULL: no memory. */
static const link_chain *find_chain(tutti_insert *insert, int number)
{
    link_chain *c = insert->chains;
    while (c && c->number != number) c = c->next;
    if (c) return c;
    c = malloc(sizeof *c);
    if (!c) return NULL;
    *c = (link_chain){.next = insert->chains, .number = number};
    starpu_void_data_register(&c->token);
    insert->chains = c;
    return c;
}

tutti_status tutti_insert_collective(tutti_insert *insert, const tutti_insert_node *node,
    int handles, const tutti_insert_handle handle[], const tutti_mode mode[])
{
    if (handles > MOST_HANDLES)
        return tutti_fail(TUTTI_ERR_INTERNAL, "%s: %d handles are too many", node->name, handles);
    tutti_status room = tutti_uses_reserve(&insert->uses, insert->ledger, handles);
    if (room) return room;
    int own = handles;
    int64_t next = tutti_ledger_point(insert->ledger); /* the id it will get */
    starpu_data_handle_t all[MOST_HANDLES + 1];
    tutti_mode modes[MOST_HANDLES + 1];
    memcpy(all, handle, (size_t)handles * sizeof *handle);
    memcpy(modes, mode, (size_t)handles * sizeof *mode);
    if (insert->chained) {
        const link_chain *link = find_chain(insert, node->chain);
        if (!link) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a %s", node->name);
        all[handles] = link->token;
        modes[handles++] = TUTTI_CHAIN;
    }
    insertion *i = new_insertion(node, handles, all, modes);
    if (!i) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a %s", node->name);
    const tutti_collective_task task = {.node = &i->node,
        .hooks = &insert->hooks,
        .ledger = insert->ledger,
        .held = {.counted = 1,
            .brief = node->brief && !insert->chained,
            .handles = handles,
            .handle = all,
            .mode = modes},
        .access = i->access,
        .data = i->data,
        .release = free,
        .arg = i};
    tutti_status status = tutti_collective_task_submit(&task);
    if (status)
        free(i);
    else
        tutti_uses_add(&insert->uses, next, own, handle);
    return status;
}

tutti_status tutti_insert_failure(tutti_insert *insert)
{
    return tutti_ledger_failure(insert->ledger);
}

int tutti_insert_ended(tutti_insert *insert)
{
    return tutti_ledger_reached(insert->ledger, 0, tutti_ledger_point(insert->ledger));
}

/* After a failure, everything that is left ends with its status, collectives in flight as soon as
 * nothing touches their data any more. That takes no time unless a rank is gone: then the data do
 * not return to the program. */
static tutti_status drain(tutti_insert *insert, tutti_status failure, double until_s)
{
    static const double least_s = 2, most_s = 60;
    double began_s = tutti_clock_s(), patience_s = until_s - began_s;
    if (patience_s < least_s) patience_s = least_s;
    if (patience_s > most_s) patience_s = most_s;
    if (tutti_wait_drained(insert->ledger, &insert->hooks, patience_s)) return failure;
    return tutti_ledger_report_held(insert->ledger, tutti_clock_s() - began_s);
}

/* TIMEOUT is this wait's own deadline, unless something has failed: then a stall has ended everything, and what is in
 * flight follows within a second, unless a rank is missing for good. */
static tutti_status end_wait(tutti_insert *insert, tutti_status status, double until_s)
{
    static const double stall_s = 1.5;
    if (status && status != TUTTI_ERR_TIMEOUT) return drain(insert, status, until_s);
    if (status && tutti_ledger_failure(insert->ledger))
        (void)tutti_wait_drained(insert->ledger, &insert->hooks, stall_s);
    return status;
}

tutti_status tutti_insert_wait(tutti_insert *insert, double timeout_s)
{
    double until_s = tutti_clock_s() + timeout_s;
    tutti_status status = tutti_wait_point(
        insert->ledger, &insert->hooks, 0, tutti_ledger_point(insert->ledger), timeout_s);
    return end_wait(insert, status, until_s);
}

/* Waits until everything inserted on the data has ended, or something has failed. */
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
                insert->ledger, 0, tutti_ledger_point(insert->ledger), timeout_s);
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
    return end_wait(insert, status, until_s);
}

void tutti_insert_close(tutti_insert *insert)
{
    if (!insert) return;
    tutti_run_observe(&insert->hooks, NULL, 0);
    if (!tutti_insert_ended(insert)) return; /* tokens may still end: what they touch stays */
    tutti_ledger_quiet(insert->ledger);
    for (link_chain *c = insert->chains, *next; c; c = next) {
        next = c->next;
        if (starpu_is_initialized()) starpu_data_unregister(c->token);
        free(c);
    }
    tutti_ledger_free(insert->ledger);
    tutti_uses_free(&insert->uses);
    free(insert);
}
