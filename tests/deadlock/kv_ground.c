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

static void remove_op(ground *g, ground_op *op)
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

static int may_run(const ground_op *op)
{
    for (int d = 0; d < op->task.count; d++)
        if (!may_use(op, op->task.data[d], op->task.mode[d])) return 0;
    return 1;
}

/* ---- what meets ---- */

static int same_edge(const ground_op *op, ground_kind kind, int peer, int slot)
{
    return op->kind == kind && op->peer == peer && op->slot == slot;
}

static ground_op *first_on_edge(const ground *g, int rank, ground_kind kind, int peer, int slot)
{
    ground_op *op = g->rank[rank].first;
    while (op && !same_edge(op, kind, peer, slot)) op = op->next;
    return op;
}

/* The other end of a message that may go now; NULL: there is none. */
static ground_op *partner_of(const ground *g, const ground_op *op)
{
    ground_kind theirs = op->kind == GROUND_SEND ? GROUND_RECV : GROUND_SEND;
    if (first_on_edge(g, op->rank, op->kind, op->peer, op->slot) != op) return NULL;
    ground_op *other = first_on_edge(g, op->peer, theirs, op->rank, op->slot);
    return other && may_run(other) ? other : NULL;
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
        if (!all[i] || !may_run(all[i])) return 0;
    }
    return all[op->rank - of->first] == op;
}

static int may_go(const ground *g, const ground_op *op)
{
    ground_op *all[GROUND_RANKS];
    if (!may_run(op)) return 0;
    switch (op->kind) {
    case GROUND_TASK:
    case GROUND_WHEN:
        return 1;
    case GROUND_SEND:
        return g->rank[op->peer].dead && !partner_of(g, op);
    case GROUND_RECV:
        return g->rank[op->peer].dead || partner_of(g, op);
    case GROUND_SUM:
    case GROUND_SPREAD:
        break;
    }
    return op->rank == op->group->first && gather(g, op, all);
}

int ground_ready(const ground *g, ground_op *op[], int most)
{
    int n = 0;
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
}

static void run_message(ground *g, ground_op *op)
{
    ground_op *other = partner_of(g, op);
    if (!other) {
        if (op->result) *op->result = TUTTI_ERR_COMM;
        remove_op(g, op);
        return;
    }
    move(g, other, op);
    remove_op(g, other);
    remove_op(g, op);
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
    }
    for (int i = 0; i < size; i++) remove_op(g, all[i]);
}

static void run_task(ground *g, ground_op *op)
{
    const tutti_datum_task task = op->task;
    void *buf[TUTTI_DATUM_MOST];
    for (int d = 0; d < task.count; d++) buf[d] = task.data[d]->memory;
    remove_op(g, op);
    task.work(task.arg, buf);
    if (task.release) task.release(task.arg);
}

static void run_when(ground *g, ground_op *op)
{
    void (*when)(void *) = op->when;
    void *arg = op->task.arg;
    remove_op(g, op);
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
    return op->peer;
}

int ground_left(const ground *g, int rank)
{
    int n = 0;
    for (const ground_op *op = g->rank[rank].first; op; op = op->next) n++;
    return n;
}

/* ---- notes ---- */

int ground_has_note(const ground *g, int from, int to)
{
    return g->rank[to].notes[from] && g->rank[to].heard && !g->rank[to].dead;
}

void ground_deliver(ground *g, int from, int to)
{
    ground_rank *r = &g->rank[to];
    note *n = r->notes[from];
    r->notes[from] = n->next;
    ground_enter(g, to);
    r->heard(r->ctx, &n->note);
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
        remove_op(g, op);
    }
}

void ground_drop_notes(ground *g, int from, int to)
{
    for (note *n; (n = g->rank[to].notes[from]);) {
        g->rank[to].notes[from] = n->next;
        free(n);
    }
}

static void drop_notes(ground *g, int rank)
{
    for (int from = 0; from < g->ranks; from++) ground_drop_notes(g, from, rank);
}

void ground_kill(ground *g, int rank)
{
    drop_ops(g, rank);
    drop_notes(g, rank);
    g->rank[rank].dead = 1;
    g->rank[rank].heard = NULL;
}

void ground_revive(ground *g, int rank)
{
    g->rank[rank].dead = 0;
}

/* ---- states ---- */

uint64_t ground_hash(uint64_t state, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    for (uint64_t word = 0; size; word = 0) {
        size_t n = size < sizeof word ? size : sizeof word;
        memcpy(&word, from, n);
        state = wire_mix(state, word);
        from += n;
        size -= n;
    }
    return state;
}

uint64_t ground_hash_data(uint64_t state, tutti_handle data)
{
    return ground_hash(state, data->memory, (size_t)data->count * data->element);
}

/* How many ops are before it on its data, and on its edge. */
static int place_on_data(const ground_op *op)
{
    int n = 0;
    for (const use *u = op->task.data[0]->first; u->op != op; u = u->next) n++;
    return n;
}

static int place_on_edge(const ground *g, const ground_op *op)
{
    int n = 0;
    for (const ground_op *o = g->rank[op->rank].first; o != op; o = o->next)
        n += o->kind == op->kind && o->peer == op->peer && o->slot == op->slot;
    return n;
}

static uint64_t state_of_op(const ground *g, const ground_op *op)
{
    const int what[] = {
        (int)op->kind, op->peer, op->slot, op->root, place_on_data(op), place_on_edge(g, op)};
    return ground_hash_data(ground_hash(1, what, sizeof what), op->task.data[0]);
}

uint64_t ground_state(const ground *g)
{
    uint64_t state = 0;
    for (int r = 0; r < g->ranks; r++) {
        uint64_t ops = 0;
        for (const ground_op *op = g->rank[r].first; op; op = op->next) ops += state_of_op(g, op);
        state = wire_mix(state, ops + (uint64_t)g->rank[r].dead);
        for (int from = 0; from < g->ranks; from++) {
            for (const note *n = g->rank[r].notes[from]; n; n = n->next)
                state = ground_hash(state, n->note.value, sizeof n->note.value);
            state = wire_mix(state, (uint64_t)from);
        }
    }
    return state;
}

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

tutti_status ground_open(int ranks, ground **opened)
{
    ground *g = calloc(1, sizeof *g);
    if (!g) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    g->ranks = ranks;
    for (int r = 0; r < ranks; r++) g->rank[r].end = &g->rank[r].first;
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
        drop_notes(g, r);
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
