#include "tests/deadlock/kv_ground_parts.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ground *here;

ground *ground_here(void)
{
    return here;
}

/* ---- ops ---- */

ground_op *ground_new_op(ground_kind kind, const char *name)
{
    ground_op *op = calloc(1, sizeof *op);
    if (!op) return NULL;
    *op = (ground_op){.kind = kind, .rank = here->at, .task.name = name};
    return op;
}

static void add_use(ground_op *op, tutti_handle data, tutti_mode mode, use *fresh)
{
    *fresh = (use){.op = op, .mode = mode};
    *data->end = fresh;
    data->end = &fresh->next;
}

tutti_status ground_submit(ground_op *op)
{
    ground_rank *r = &here->rank[here->at];
    for (int d = 0; d < op->task.count; d++) {
        use *fresh = malloc(sizeof *fresh);
        if (!fresh) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
        add_use(op, op->task.data[d], op->task.mode[d], fresh);
    }
    *r->end = op;
    r->end = &op->next;
    return TUTTI_OK;
}

static void remove_uses(const ground_op *op)
{
    for (int d = 0; d < op->task.count; d++) {
        tutti_handle data = op->task.data[d];
        for (use **at = &data->first; *at;) {
            use *u = *at;
            if (u->op != op) {
                at = &u->next;
                continue;
            }
            *at = u->next;
            free(u);
        }
        data->end = &data->first;
        while (*data->end) data->end = &(*data->end)->next;
    }
}

void ground_remove(ground *g, ground_op *op)
{
    ground_rank *r = &g->rank[op->rank];
    ground_op **at = &r->first;
    remove_uses(op);
    while (*at != op) at = &(*at)->next;
    *at = op->next;
    if (r->end == &op->next) r->end = at;
    free(op);
}

static int may_use(const ground_op *op, tutti_handle data, tutti_mode mode)
{
    for (const use *u = data->first; u && u->op != op; u = u->next)
        if (mode != TUTTI_READ || u->mode != TUTTI_READ) return 0;
    return 1;
}

int ground_may_run(const ground_op *op)
{
    for (int d = 0; d < op->task.count; d++)
        if (!may_use(op, op->task.data[d], op->task.mode[d])) return 0;
    return 1;
}

/* ---- what meets ---- */

static int same_edge(const ground_op *op, ground_kind kind, int peer, int slot)
{
    return op->kind == kind && op->ordered.peer == peer && op->ordered.tag == slot;
}

static ground_op *first_on_edge(const ground *g, int rank, ground_kind kind, int peer, int slot)
{
    ground_op *first = NULL;
    for (ground_op *op = g->rank[rank].first; op; op = op->next)
        if (op->begun && same_edge(op, kind, peer, slot) && (!first || op->begun < first->begun))
            first = op;
    return first;
}

/* The other end of a message that may go now; NULL: there is none. */
static ground_op *partner_of(const ground *g, const ground_op *op)
{
    ground_kind theirs = op->kind == GROUND_SEND ? GROUND_RECV : GROUND_SEND;
    if (first_on_edge(g, op->rank, op->kind, op->ordered.peer, op->ordered.tag) != op) return NULL;
    ground_op *other = first_on_edge(g, op->ordered.peer, theirs, op->rank, op->ordered.tag);
    return other && ground_may_run(other) ? other : NULL;
}

/* It will not go, and this side may know. */
static int may_fail(const ground *g, const ground_op *op)
{
    const ground_rank *peer = &g->rank[op->ordered.peer];
    return op->begun && peer->dead && !peer->crashed;
}

static int may_leave(const ground *g, const ground_op *op)
{
    return !g->jobs && !op->away && op->task.data[0]->count < GROUND_EAGER;
}

static ground_op *first_in_group(const ground *g, int rank, int number)
{
    ground_op *op = g->rank[rank].first;
    while (op && !(op->group && op->group->number == number)) op = op->next;
    return op;
}

/* The collective's ops on all ranks of its group, in their order. Returns whether they may start. */
static int gather(const ground *g, const ground_op *op, ground_op *all[])
{
    const ground_group *of = op->group;
    for (int i = 0; i < of->size; i++) {
        all[i] = first_in_group(g, of->first + i, of->number);
        if (!all[i] || !ground_may_run(all[i])) return 0;
    }
    return all[op->rank - of->first] == op;
}

static int may_go(const ground *g, const ground_op *op)
{
    ground_op *all[GROUND_RANKS];
    if (!ground_may_run(op)) return 0;
    switch (op->kind) {
    case GROUND_TASK:
    case GROUND_WHEN:
        return 1;
    case GROUND_SEND:
        return may_leave(g, op) || (may_fail(g, op) && !partner_of(g, op));
    case GROUND_RECV:
        return may_fail(g, op) || partner_of(g, op);
    case GROUND_SUM:
    case GROUND_SPREAD:
        break;
    }
    return op->rank == op->group->first && gather(g, op, all);
}

int ground_ready(ground *g, ground_op *op[], int most)
{
    int n = 0;
    if (g->jobs) ground_let_begin(g);
    for (int r = 0; r < g->ranks; r++)
        for (ground_op *o = g->rank[r].first; o && n < most; o = o->next)
            if (may_go(g, o)) op[n++] = o;
    return n;
}

/* ---- running ---- */

static void mismatch(ground *g, const ground_op *op, const char *why)
{
    if (!g->mismatch[0])
        snprintf(
            g->mismatch, sizeof g->mismatch, "rank %d: %s of two that meet differ", op->rank, why);
}

static void move(ground *g, const ground_op *from, const ground_op *to)
{
    tutti_handle a = from->task.data[0], b = to->task.data[0];
    if (a->count != b->count)
        mismatch(g, to, "the lengths");
    else
        memcpy(b->memory, a->memory, (size_t)a->count * a->element);
    b->lost = a->lost;
}

void ground_fail(ground *g, ground_op *op)
{
    if (op->result) *op->result = TUTTI_ERR_COMM;
    if (op->kind == GROUND_RECV) op->task.data[0]->lost = 1;
    ground_remove(g, op);
}

static void let_leave(ground_op *op)
{
    tutti_handle data = op->task.data[0], copy;
    use *fresh = malloc(sizeof *fresh);
    if (!fresh || tutti_datum_open(data->count, TUTTI_F32, &copy)) abort();
    memcpy(copy->memory, data->memory, (size_t)data->count * data->element);
    copy->lost = data->lost;
    remove_uses(op);
    op->task.data[0] = copy;
    add_use(op, copy, TUTTI_READ, fresh);
    op->away = 1;
    op->result = NULL;
}

static void run_message(ground *g, ground_op *op)
{
    ground_op *other = partner_of(g, op);
    if (op->kind == GROUND_SEND && may_leave(g, op)) {
        let_leave(op);
        return;
    }
    if (!other) {
        ground_fail(g, op);
        return;
    }
    move(g, other, op);
    if (g->jobs) tutti_message_order_arrived(&g->rank[op->rank].order, &op->ordered);
    ground_remove(g, other);
    ground_remove(g, op);
}

/* all[0 ... size) = the root's, or the sum to the root, in the order of ranks. */
static void run_collective(ground *g, ground_op *op)
{
    ground_op *all[GROUND_RANKS];
    int size = op->group->size;
    gather(g, op, all);
    const ground_op *root = all[op->root];
    tutti_handle to = root->task.data[0];
    for (int i = 0; i < size; i++) {
        tutti_handle from = all[i]->task.data[0];
        if (all[i]->kind != op->kind || all[i]->root != op->root || from->count != to->count)
            mismatch(g, all[i], "the calls");
        else if (op->kind == GROUND_SPREAD && from != to)
            move(g, root, all[i]);
        for (int64_t e = 0; op->kind == GROUND_SUM && from != to && e < to->count; e++)
            to->memory[e] += e < from->count ? from->memory[e] : 0;
        if (op->kind == GROUND_SUM) to->lost |= from->lost;
    }
    for (int i = 0; i < size; i++) ground_remove(g, all[i]);
}

static void pass_on_loss(const tutti_datum_task *task)
{
    int lost = 0;
    for (int d = 0; d < task->count; d++)
        lost |= task->mode[d] != TUTTI_WRITE && task->data[d]->lost;
    for (int d = 0; d < task->count; d++)
        if (task->mode[d] != TUTTI_READ) task->data[d]->lost = lost;
}

static void run_task(ground *g, ground_op *op)
{
    const tutti_datum_task task = op->task;
    void *buf[TUTTI_DATUM_MOST];
    for (int d = 0; d < task.count; d++) buf[d] = task.data[d]->memory;
    pass_on_loss(&task);
    ground_remove(g, op);
    task.work(task.arg, buf);
    if (task.release) task.release(task.arg);
}

static void run_when(ground *g, ground_op *op)
{
    void (*when)(void *) = op->when;
    void *arg = op->task.arg;
    ground_remove(g, op);
    when(arg);
}

void ground_run(ground *g, ground_op *op)
{
    static void (*const run[])(ground *, ground_op *) = {[GROUND_TASK] = run_task,
        [GROUND_WHEN] = run_when,
        [GROUND_SEND] = run_message,
        [GROUND_RECV] = run_message,
        [GROUND_SUM] = run_collective,
        [GROUND_SPREAD] = run_collective};
    ground_enter(g, op->rank);
    run[op->kind](g, op);
}

ground_kind ground_kind_of(const ground_op *op)
{
    return op->kind;
}

int ground_rank_of(const ground_op *op)
{
    return op->rank;
}

int ground_peer_of(const ground_op *op)
{
    return op->ordered.peer;
}

int ground_left(const ground *g, int rank)
{
    int n = 0;
    for (const ground_op *op = g->rank[rank].first; op; op = op->next) n += !op->away;
    return n;
}

/* ---- active messages ---- */

int ground_has_message(const ground *g, int from, int to)
{
    return g->rank[to].messages[from] && g->rank[to].on_message && !g->rank[to].dead;
}

void ground_deliver(ground *g, int from, int to)
{
    ground_rank *r = &g->rank[to];
    message *n = r->messages[from];
    r->messages[from] = n->next;
    ground_enter(g, to);
    r->on_message(r->ctx, &n->message);
    free(n);
}

/* ---- ranks ---- */

void ground_enter(ground *g, int rank)
{
    here = g;
    g->at = rank;
}

/* What is to be told belongs to nobody then (designs/kv/kv_serve_events.c). */
static void drop_ops(ground *g, int rank)
{
    for (ground_op *op; (op = g->rank[rank].first);) {
        if (op->kind == GROUND_TASK && op->task.release) op->task.release(op->task.arg);
        if (op->kind == GROUND_WHEN) free(op->task.arg);
        for (int d = 0; d < op->task.count; d++)
            if (op->task.mode[d] != TUTTI_READ) op->task.data[d]->lost = 1;
        ground_remove(g, op);
    }
    g->rank[rank].order.waiting = NULL;
}

void ground_drop_messages(ground *g, int from, int to)
{
    for (message *n; (n = g->rank[to].messages[from]);) {
        g->rank[to].messages[from] = n->next;
        free(n);
    }
}

static void drop_messages(ground *g, int rank)
{
    for (int from = 0; from < g->ranks; from++) ground_drop_messages(g, from, rank);
}

void ground_kill(ground *g, int rank)
{
    drop_ops(g, rank);
    drop_messages(g, rank);
    g->rank[rank].dead = 1;
    g->rank[rank].on_message = NULL;
    g->rank[rank].cut = 0;
}

void ground_revive(ground *g, int rank)
{
    g->rank[rank].dead = 0;
}

void ground_crash(ground *g, int rank)
{
    ground_kill(g, rank);
    g->rank[rank].crashed = 1;
}

/* ---- the whole ---- */

const char *ground_mismatch(const ground *g)
{
    return g->mismatch;
}

/* Real edges have a limit, which a server asks for. */
static tutti_status open_edges(ground *g)
{
    tutti_transport *transport;
    const tutti_exchange_options options = {
        .design = tutti_design_find("funneled"), .lanes = 1, .messages = 1, .manual = 1};
    tutti_status status = tutti_loop_world_new(1, NULL, &g->loop);
    if (!status) status = wire_transport(&g->wire, g->loop, 0, 2, &transport);
    return status ? status : tutti_exchange_open_over(transport, &options, &g->exchange);
}

tutti_status ground_open(int ranks, int jobs, ground **opened)
{
    ground *g = calloc(1, sizeof *g);
    if (!g) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    g->ranks = ranks;
    g->jobs = jobs;
    for (int r = 0; r < ranks; r++) {
        g->rank[r].end = &g->rank[r].first;
        ground_open_order(&g->rank[r]);
    }
    tutti_status status = open_edges(g);
    ground_enter(g, 0);
    if (status)
        ground_close(g);
    else
        *opened = g;
    return status;
}

void ground_close(ground *g)
{
    if (!g) return;
    for (int r = 0; r < g->ranks; r++) {
        drop_ops(g, r);
        drop_messages(g, r);
    }
    for (tutti_handle d = g->data, next; d; d = next) {
        next = d->next;
        free(d);
    }
    tutti_exchange_close(g->exchange);
    tutti_loop_world_free(g->loop);
    free(g);
}

tutti_exchange *ground_exchange(const ground *g)
{
    return g->exchange;
}

float *ground_memory(tutti_handle data)
{
    return data->memory;
}

int ground_is_lost(tutti_handle data)
{
    return data->lost || data->first;
}
