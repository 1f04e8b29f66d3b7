#include "tests/deadlock/rank.h"

#include "dag/base/log.h"
#include "dag/kernels/act.h"
#include "dag/kernels/kernel.h"
#include "designs/passes/chunk.h"
#include "tests/deadlock/expect.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tick takes longer than a worker needs to start the collective that the previous tick made ready. */
enum { TICK_COUNT = 1 << 14 };
enum { GATE = -1, SECTION_GATE = 0, SECTION_STEP = 1 };

/* The descriptor of a collective node. */
typedef struct node_desc {
    tutti_coll_args args;              /* first: designs/ reads the descriptor as these */
    int group, lost;                   /* group GATE: not a collective, but the gate */
    int64_t part[2 * CASE_MOST_RANKS]; /* last: the lengths of parts, if the case gives them */
} node_desc;

/* A graph, and the case's tensors in it. */
typedef struct part {
    tutti_graph *graph;
    int tensor[CASE_MOST_TENSORS], send[CASE_MOST_TENSORS]; /* -1: not there */
    int vector[CASE_MOST_TENSORS][CASE_MOST_VECTORS];       /* the first is send */
    int one, chain, gate;
} part;

struct deadlock_rank {
    const deadlock_case *c;
    int rank;
    part whole, part[CASE_MOST_GROUPS];
    tutti_run_hooks hooks;
    tutti_token sink;     /* finishes in place of lost tokens */
    pthread_mutex_t lock; /* protects the fields below */
    int open;             /* everything has been submitted */
    tutti_token *gate;    /* waits for that */
};

/* ---- the graph ---- */

static tutti_status add_tensor(
    part *p, const char *name, const char *suffix, tutti_dtype dtype, int64_t count, int *tensor)
{
    char full[CASE_NAME + 24];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    return tutti_graph_tensor(
        p->graph, full, TUTTI_ROLE_SCRATCH, dtype, tutti_shape_of(count), tensor);
}

/* Where a rank has no element, its tensor has one that is not used. */
static tutti_status add_tensors(const deadlock_case *c, int rank, part *p, const case_op *op)
{
    tutti_dtype dtype = op->args.dtype;
    int64_t count = deadlock_case_count(c, rank, op);
    int64_t input = deadlock_case_input_count(c, rank, op);
    const char *name = c->tensor[op->tensor];
    tutti_status status =
        add_tensor(p, name, "", dtype, count + (count == 0), &p->tensor[op->tensor]);
    if (!status && input >= 0)
        status = add_tensor(p, name, ".send", dtype, input + (input == 0), &p->send[op->tensor]);
    p->vector[op->tensor][0] = p->send[op->tensor];
    for (int k = 1; k < op->vectors && !status; k++) {
        char suffix[24];
        snprintf(suffix, sizeof suffix, ".vector%d", k);
        status = add_tensor(p, name, suffix, dtype, count, &p->vector[op->tensor][k]);
    }
    return status;
}

/* The tensor with an op's input; of several vectors that which is computed last. */
static int input_of(const part *p, const case_op *op)
{
    if (op->vectors) return p->vector[op->tensor][op->vectors - 1];
    return p->send[op->tensor] >= 0 ? p->send[op->tensor] : p->tensor[op->tensor];
}

/* The accesses of a task that computes this tensor: it copies other data. */
static tutti_status begin_tick(
    const deadlock_case *c, part *p, const case_op *op, int tensor, tutti_access access[4])
{
    char suffix[24];
    int out;
    snprintf(suffix, sizeof suffix, ".tick%d", tensor);
    tutti_status status = add_tensor(p, c->tensor[op->tensor], suffix, TUTTI_F32, TICK_COUNT, &out);
    access[0] = (tutti_access){p->one, TUTTI_READ};
    access[1] = (tutti_access){out, TUTTI_WRITE};
    access[2] = (tutti_access){tensor, TUTTI_READWRITE};
    access[3] = (tutti_access){p->gate, TUTTI_READ};
    return status;
}

/* With regions, a task in front of those that compute an op's vectors, of whose results they need nothing: it reads the
 * result of the collective before. In one task with them, it would make this one wait for that. */
static tutti_status add_aside(const deadlock_case *c, part *p, const case_op *op, int before)
{
    static const tutti_relu_desc desc = {.count = TICK_COUNT};
    int out;
    tutti_status status =
        add_tensor(p, c->tensor[op->tensor], ".aside", TUTTI_F32, TICK_COUNT, &out);
    const tutti_access access[] = {{p->one, TUTTI_READ}, {out, TUTTI_WRITE},
        {p->tensor[before], TUTTI_READ}, {p->gate, TUTTI_READ}};
    if (status) return status;
    return tutti_graph_kernel(
        p->graph, "aside", &tutti_op_relu, &desc, sizeof desc, 4, access, NULL);
}

/* Those of an op's vectors that wait for nothing: all but the last. */
static tutti_status add_early_ticks(const deadlock_case *c, part *p, const case_op *op)
{
    static const tutti_relu_desc desc = {.count = TICK_COUNT};
    tutti_status status = TUTTI_OK;
    for (int k = 0; k + 1 < op->vectors && !status; k++) {
        tutti_access access[4];
        status = begin_tick(c, p, op, p->vector[op->tensor][k], access);
        if (!status)
            status = tutti_graph_kernel(
                p->graph, "early tick", &tutti_op_relu, &desc, sizeof desc, 4, access, NULL);
    }
    return status;
}

/* The task that computes an op's tensor, with accesses that order it. */
static tutti_status add_tick(const deadlock_case *c, part *p, const case_op *op, int chained)
{
    static const tutti_relu_desc desc = {.count = TICK_COUNT};
    char name[CASE_NAME + 16];
    int accesses = 4;
    tutti_access access[5 + CASE_MOST_AFTER];
    tutti_status status = add_early_ticks(c, p, op);
    if (!status) status = begin_tick(c, p, op, input_of(p, op), access);
    if (status) return status;
    if (chained) access[accesses++] = (tutti_access){p->chain, TUTTI_READWRITE};
    for (int i = 0; i < op->afters; i++)
        if (p->tensor[op->after[i]] >= 0)
            access[accesses++] = (tutti_access){p->tensor[op->after[i]], TUTTI_READ};
    snprintf(name, sizeof name, "tick %s", c->tensor[op->tensor]);
    return tutti_graph_kernel(
        p->graph, name, &tutti_op_relu, &desc, sizeof desc, accesses, access, NULL);
}

static tutti_status add_collective(const deadlock_case *c, part *p, const case_op *op)
{
    node_desc desc = {.args = deadlock_case_args(op), .group = op->group, .lost = op->lost};
    size_t bytes = sizeof desc;
    if (op->parts) {
        memcpy(desc.part, op->part, sizeof desc.part);
        desc.args.counts = desc.part;
        bytes = offsetof(node_desc, part) + (size_t)op->parts * sizeof *desc.part;
    }
    int node;
    tutti_mark mark = {.tensor = p->tensor[op->tensor], .vectors = op->vectors};
    memcpy(mark.vector, p->vector[op->tensor], (size_t)op->vectors * sizeof *mark.vector);
    tutti_status status = tutti_graph_mark(p->graph, &mark, &node);
    if (!status) status = tutti_graph_set_collective(p->graph, node, &desc, bytes);
    if (!status)
        status = tutti_graph_set_group(p->graph, node, op->group, c->group[op->group].is_edge);
    if (status) return status;
    tutti_graph_set_priority(p->graph, node, 1);
    const tutti_place place = {.lane = -1, .priority = op->priority};
    status = tutti_graph_set_place(p->graph, node, place);
    if (status) return status;
    if (p->send[op->tensor] < 0 || op->vectors) return TUTTI_OK;
    return tutti_graph_add_access(p->graph, node, (tutti_access){p->send[op->tensor], TUTTI_READ});
}

static int is_listed(const case_program *program, int tensor)
{
    for (int i = 0; i < program->readies; i++)
        if (program->ready[i] == tensor) return 1;
    return 0;
}

static int is_in(const case_op *op, int group)
{
    return group < 0 || op->group == group;
}

/* With regions, the ticks of vectors stand behind the collectives before theirs, and in front of them the one aside. */
static int has_aside(const deadlock_case *c, const case_program *program, const case_op *op)
{
    return c->regions && op->vectors && op > program->op && !is_listed(program, op->tensor);
}

/* Ticks that wait for no collective: those of the ready order, one after another, then the others. */
static tutti_status add_first_ticks(const deadlock_case *c, int rank, int group, part *p)
{
    const case_program *program = &c->program[rank];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < program->readies && !status; i++) {
        const case_op *op = deadlock_case_op(c, rank, program->ready[i]);
        if (op && is_in(op, group)) status = add_tick(c, p, op, 1);
    }
    for (int i = 0; i < program->ops && !status; i++) {
        const case_op *op = &program->op[i];
        if (!op->afters && !has_aside(c, program, op) && is_in(op, group) &&
            !is_listed(program, op->tensor))
            status = add_tick(c, p, op, 0);
    }
    return status;
}

static tutti_status add_token(part *p, const char *name, int *tensor)
{
    return tutti_graph_tensor(
        p->graph, name, TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){.rank = 0}, tensor);
}

/* Holds all ticks until everything has been submitted: otherwise a fast worker would compute everything in
 * submission order. */
static tutti_status add_gate(part *p)
{
    static const node_desc desc = {.group = GATE};
    int node;
    tutti_status status = tutti_graph_mark(p->graph, &(tutti_mark){.tensor = p->gate}, &node);
    if (!status) status = tutti_graph_set_collective(p->graph, node, &desc, sizeof desc);
    return status ? status : tutti_graph_set_place(p->graph, node, (tutti_place){.lane = 0});
}

/* group -1: the whole program, with a gate. */
static tutti_status build(const deadlock_case *c, int rank, int group, part *p)
{
    const case_program *program = &c->program[rank];
    int section;
    memset(p->tensor, 0xff, sizeof p->tensor);
    memset(p->send, 0xff, sizeof p->send);
    tutti_status status = tutti_graph_new(&p->graph);
    if (!status) status = add_tensor(p, "one", ".in", TUTTI_F32, TICK_COUNT, &p->one);
    if (!status) status = add_token(p, "ready.order", &p->chain);
    if (!status) status = add_token(p, "everything.submitted", &p->gate);
    if (!status) status = tutti_graph_section(p->graph, "gate", &section);
    if (!status && group < 0) status = add_gate(p);
    if (!status) status = tutti_graph_section(p->graph, "step", &section);
    for (int i = 0; i < program->ops && !status; i++)
        if (is_in(&program->op[i], group)) status = add_tensors(c, rank, p, &program->op[i]);
    if (!status) status = add_first_ticks(c, rank, group, p);
    for (int i = 0; i < program->ops && !status; i++) {
        const case_op *op = &program->op[i];
        if (!is_in(op, group)) continue;
        const int aside = has_aside(c, program, op);
        if (aside && is_in(&op[-1], group)) status = add_aside(c, p, op, op[-1].tensor);
        if (!status && (aside || op->afters)) status = add_tick(c, p, op, 0);
        if (!status) status = add_collective(c, p, op);
    }
    return status;
}

/* ---- places ---- */

static int next_collective(const tutti_graph *graph, int from)
{
    while (from < tutti_graph_nodes(graph) &&
           tutti_graph_get_node(graph, from)->kind != TUTTI_NODE_COLLECTIVE)
        from++;
    return from;
}

static int group_of(const tutti_node *node)
{
    return ((const node_desc *)node->desc)->group;
}

/* Copies the place of every collective of a part, and its token, to its twin in the whole graph: each group
 * is placed separately, since each has its own lanes. */
static tutti_status copy_places(const deadlock_case *c, deadlock_rank *r, int group)
{
    const tutti_graph *from = r->part[group].graph;
    tutti_graph *to = r->whole.graph;
    int token = -1, twin = -1;
    tutti_status status = TUTTI_OK;
    if (c->design->chain) {
        char name[CASE_NAME + 16];
        snprintf(name, sizeof name, "chain.%s", c->group[group].name);
        status = add_token(&r->whole, name, &token);
    }
    for (int i = next_collective(from, 0); i < tutti_graph_nodes(from) && !status;
         i = next_collective(from, i + 1)) {
        do twin = next_collective(to, twin + 1);
        while (group_of(tutti_graph_get_node(to, twin)) != group);
        status = tutti_graph_set_place(to, twin, tutti_graph_get_node(from, i)->place);
        if (!status && token >= 0)
            status = tutti_graph_add_access(to, twin, (tutti_access){token, TUTTI_CHAIN});
    }
    return status;
}

static tutti_status build_part(const deadlock_case *c, deadlock_rank *r, int group)
{
    if (deadlock_case_member(&c->group[group], r->rank) < 0) return TUTTI_OK;
    tutti_status status = build(c, r->rank, group, &r->part[group]);
    int lanes = c->group[group].is_edge ? 1 : c->lanes, chunk = c->program[r->rank].chunk;
    if (!status) status = c->design->place(r->part[group].graph, lanes);
    if (!status && chunk) status = tutti_chunk_cut(r->part[group].graph, chunk, lanes);
    return status ? status : copy_places(c, r, group);
}

static void sink(tutti_token *token, tutti_status status)
{
    (void)token;
    (void)status;
}

tutti_status deadlock_rank_open(const deadlock_case *c, int rank, deadlock_rank **opened)
{
    deadlock_rank *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for rank %d of %s", rank, c->name);
    r->c = c;
    r->rank = rank;
    r->sink.finish = sink;
    pthread_mutex_init(&r->lock, NULL);
    tutti_status status = build(c, rank, -1, &r->whole);
    for (int g = 0; g < c->groups && !status; g++) status = build_part(c, r, g);
    if (status)
        deadlock_rank_close(r);
    else
        *opened = r;
    return status;
}

void deadlock_rank_close(deadlock_rank *rank)
{
    if (!rank) return;
    for (int g = 0; g < CASE_MOST_GROUPS; g++) tutti_graph_free(rank->part[g].graph);
    tutti_graph_free(rank->whole.graph);
    pthread_mutex_destroy(&rank->lock);
    free(rank);
}

const tutti_graph *deadlock_rank_graph(const deadlock_rank *rank)
{
    return rank->whole.graph;
}

const tutti_graph *deadlock_rank_part(const deadlock_rank *rank, int group)
{
    return rank->part[group].graph;
}

/* ---- hooks ---- */

static int64_t reserve(void *ctx, const tutti_node *node)
{
    const deadlock_rank *r = ctx;
    if (group_of(node) == GATE) return 0;
    return r->hooks.reserve(r->hooks.ctx, node);
}

/* The gate's token waits until everything has been submitted. */
static void arrive_at_gate(deadlock_rank *r, tutti_token *token)
{
    pthread_mutex_lock(&r->lock);
    int open = r->open;
    if (!open) r->gate = token;
    pthread_mutex_unlock(&r->lock);
    if (open) tutti_token_finish(token, TUTTI_OK);
}

static void open_gate(deadlock_rank *r)
{
    pthread_mutex_lock(&r->lock);
    r->open = 1;
    tutti_token *waiting = r->gate;
    r->gate = NULL;
    pthread_mutex_unlock(&r->lock);
    if (waiting) tutti_token_finish(waiting, TUTTI_OK);
}

static void start(void *ctx, const tutti_node *node, int64_t sequence, const tutti_buffer buf[],
    tutti_token *token)
{
    deadlock_rank *r = ctx;
    const node_desc *desc = node->desc;
    if (desc->group == GATE) {
        arrive_at_gate(r, token);
        return;
    }
    r->hooks.start(r->hooks.ctx, node, sequence, buf, desc->lost ? &r->sink : token);
}

static tutti_status drive(void *ctx)
{
    const deadlock_rank *r = ctx;
    return r->hooks.main(r->hooks.ctx);
}

/* The graph owns the descriptors; only now is it known which number a group has here. */
void deadlock_rank_connect(deadlock_rank *rank, tutti_exchange *exchange, const int slot[])
{
    tutti_graph *graph = rank->whole.graph;
    rank->hooks = tutti_exchange_hooks(exchange);
    for (int i = next_collective(graph, 0); i < tutti_graph_nodes(graph);
         i = next_collective(graph, i + 1)) {
        node_desc *desc = (node_desc *)tutti_graph_get_node(graph, i)->desc;
        if (desc->group != GATE) desc->args.group = slot[desc->group];
    }
}

tutti_run_hooks deadlock_rank_hooks(deadlock_rank *rank)
{
    int main_drives = rank->c->design->start->main_drives;
    return (tutti_run_hooks){
        .ctx = rank, .reserve = reserve, .start = start, .main = main_drives ? drive : NULL};
}

tutti_status deadlock_rank_submit(deadlock_rank *rank, const tutti_runner *runner, tutti_run *run)
{
    const case_program *program = &rank->c->program[rank->rank];
    rank->open = 0;
    tutti_status status = runner->submit(run, SECTION_GATE);
    for (int s = 0; s < program->steps && !status; s++) status = runner->submit(run, SECTION_STEP);
    open_gate(rank);
    return status;
}

/* ---- inputs and results ---- */

/* NULL (logged): cannot be acquired. */
static void *acquire(
    const part *p, const tutti_runner *runner, tutti_run *run, int tensor, tutti_mode mode)
{
    void *data = NULL;
    size_t bytes = tutti_graph_get_tensor(p->graph, tensor)->bytes;
    return runner->acquire(run, tensor, mode, bytes, &data) ? NULL : data;
}

/* Elements of the tensor with an op's input. */
static int64_t input_count(const deadlock_rank *rank, const case_op *op)
{
    int64_t apart = deadlock_case_input_count(rank->c, rank->rank, op);
    return apart >= 0 ? apart : deadlock_case_count(rank->c, rank->rank, op);
}

/* Writes a vector of an op's input, which is in this tensor. */
static void fill(const deadlock_rank *rank, const tutti_runner *runner, tutti_run *run,
    const case_op *op, int vector, int tensor)
{
    const tutti_dtype dtype = op->args.dtype;
    void *data = acquire(&rank->whole, runner, run, tensor, TUTTI_READWRITE);
    if (!data) return;
    int64_t count = input_count(rank, op);
    for (int64_t e = 0; e < count; e++)
        expect_write(dtype, data, e, expect_vector(dtype, rank->rank, op->tensor, vector, e));
    runner->release(run, tensor);
}

void deadlock_rank_fill(const deadlock_rank *rank, const tutti_runner *runner, tutti_run *run)
{
    const case_program *program = &rank->c->program[rank->rank];
    for (int i = 0; i < program->ops; i++) {
        const case_op *op = &program->op[i];
        if (!op->vectors) fill(rank, runner, run, op, 0, input_of(&rank->whole, op));
        for (int k = 0; k < op->vectors; k++)
            fill(rank, runner, run, op, k, rank->whole.vector[op->tensor][k]);
    }
}

/* Whether one tensor of an op is wrong; describes the first in `what`. input: that of its input. */
static int is_wrong(const deadlock_rank *rank, const tutti_runner *runner, tutti_run *run,
    const case_op *op, int input, char *what, size_t size)
{
    const part *p = &rank->whole;
    int tensor = input ? p->send[op->tensor] : p->tensor[op->tensor];
    const void *data = acquire(p, runner, run, tensor, TUTTI_READ);
    if (!data) return 1;
    int wrong = input ? expect_changed(rank->c, rank->rank, op, data, what, size)
                      : expect_differs(rank->c, rank->rank, op, data, what, size);
    runner->release(run, tensor);
    return wrong;
}

int deadlock_rank_wrong(
    const deadlock_rank *rank, const tutti_runner *runner, tutti_run *run, char *what, size_t size)
{
    const case_program *program = &rank->c->program[rank->rank];
    int wrong = 0;
    for (int i = 0; i < 2 * program->ops; i++) {
        const case_op *op = &program->op[i / 2];
        int input = i % 2;
        if (input && rank->whole.send[op->tensor] < 0) continue;
        wrong += is_wrong(rank, runner, run, op, input, wrong ? NULL : what, wrong ? 0 : size);
    }
    return wrong;
}

/* ---- for the checker ---- */

static int group_in_case(void *ctx, const tutti_node *node)
{
    (void)ctx;
    return group_of(node);
}

static tutti_status check_rank(const deadlock_case *c, int rank, tutti_check *check)
{
    const case_program *program = &c->program[rank];
    deadlock_rank *r;
    tutti_status status = deadlock_rank_open(c, rank, &r);
    if (status) return status;
    for (int s = 0; s < program->steps && !status; s++)
        status = tutti_check_submit(check, rank, r->whole.graph, SECTION_STEP, group_in_case, NULL);
    check->rank[rank].workers = c->workers;
    check->shares_slots = c->device_slots > 0;
    check->edges_aside = c->edges_aside;
    for (int n = 0; n < check->rank[rank].colls && !status; n++)
        check->rank[rank].coll[n].lost = program->op[n % program->ops].lost;
    deadlock_rank_close(r);
    return status;
}

tutti_status deadlock_check_new(const deadlock_case *c, tutti_check **check)
{
    tutti_check *made;
    int group;
    tutti_status status = tutti_check_new(c->ranks, &made);
    if (status) return status;
    for (int g = 1; g < c->groups && !status; g++) {
        status = tutti_check_add_group(
            made, c->group[g].name, c->group[g].ranks, c->group[g].rank, &group);
        /* with a name of its own for each message, the checker compares these, too */
        if (!status) made->group[group].edge = c->edges_aside && c->group[g].is_edge;
    }
    for (int rank = 0; rank < c->ranks && !status; rank++) status = check_rank(c, rank, made);
    if (status)
        tutti_check_free(made);
    else
        *check = made;
    return status;
}
