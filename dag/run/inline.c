/* The inline runner: nodes run on the waiting thread, in any legal order drawn from a seed. */
#include "dag/run/inline.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/graph/edges.h"
#include "dag/graph/region.h"
#include "dag/run/binding.h"
#include "dag/run/direct.h"
#include "dag/run/expected.h"
#include "dag/run/ledger.h"
#include "dag/run/wait.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum work { WORK_NODE, WORK_REGION, WORK_FEED, WORK_FETCH } work;

/* One submission of a node (or a feed, or a fetch) that has not ended. */
typedef struct instance {
    tutti_token token; /* first: a token's address is its instance's */
    tutti_run *run;
    int64_t id, sequence, step, turn;
    work work;
    int target; /* node, region, or tensor of a feed or fetch */
    void *data;
    size_t bytes;
    void (*release)(void *);
    void *arg;
    int holds;    /* a worker waits for its end */
    int blockers; /* unfinished predecessors, +1 while its edges are being added */
    int started;  /* the collective has been posted */
    struct follower *follower;
    int followers, room;
    struct instance *next; /* in the hash chain of its id */
} instance;

/* An instance that waits for the end, or the start, of another. */
typedef struct follower {
    int64_t id;
    tutti_edge edge;
} follower;

enum { BUCKETS = 1024 };

struct tutti_run {
    tutti_binding binding;
    tutti_run_options options;
    tutti_regions regions;
    tutti_direct *direct; /* may be NULL */
    tutti_edges *edges;
    tutti_ledger *ledger;
    pthread_mutex_t lock;      /* protects what follows; taken before the ledger's */
    pthread_cond_t moved;      /* an instance became ready or ended */
    instance *bucket[BUCKETS]; /* unfinished instances by id */
    int64_t *ready;            /* ids that may run now */
    int readies, ready_room;
    int64_t changes;
    int held; /* workers that wait for the end of the collective they started */
    uint64_t draws;
    tutti_buffer *buf; /* of the node being run by wait */
    void **pointer;
};

static instance *find(tutti_run *run, int64_t id)
{
    instance *i = run->bucket[id % BUCKETS];
    while (i && i->id != id) i = i->next;
    return i;
}

static void push_ready(tutti_run *run, int64_t id)
{
    if (run->readies == run->ready_room) {
        int room = run->ready_room ? 2 * run->ready_room : 256;
        int64_t *grown = realloc(run->ready, (size_t)room * sizeof *grown);
        if (!grown) {
            tutti_ledger_leave(
                run->ledger, id, tutti_fail(TUTTI_ERR_NOMEM, "inline runner: no memory"));
            return;
        }
        run->ready = grown;
        run->ready_room = room;
    }
    run->ready[run->readies++] = id;
    run->changes++;
    pthread_cond_signal(&run->moved);
}

static void unblock(tutti_run *run, instance *i)
{
    if (--i->blockers == 0) push_ready(run, i->id);
}

/* Unblocks those that wait for this event. Lock held. */
static void unblock_followers(tutti_run *run, const instance *i, tutti_edge edge)
{
    for (int f = 0; f < i->followers; f++) {
        if (i->follower[f].edge != edge) continue;
        instance *next = find(run, i->follower[f].id);
        if (next) unblock(run, next);
    }
}

/* Lock held. */
static void mark_started(tutti_run *run, instance *i)
{
    if (i->started) return;
    i->started = 1;
    unblock_followers(run, i, TUTTI_EDGE_START);
}

/* Ends an instance: unblocks its followers and removes it. */
static void end_instance(tutti_run *run, instance *done, tutti_status status)
{
    pthread_mutex_lock(&run->lock);
    instance **link = &run->bucket[done->id % BUCKETS];
    while (*link != done) link = &(*link)->next;
    *link = done->next;
    mark_started(run, done);
    unblock_followers(run, done, TUTTI_EDGE_END);
    int64_t id = done->id;
    run->changes++;
    run->held -= done->holds;
    free(done->follower);
    free(done);
    tutti_ledger_leave(run->ledger, id, status);
    pthread_cond_signal(&run->moved);
    pthread_mutex_unlock(&run->lock);
}

static void finish_token(tutti_token *token, tutti_status status)
{
    instance *i = (instance *)token;
    end_instance(i->run, i, status);
}

static void add_edge(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    tutti_run *run = ctx;
    instance *before = find(run, from), *after = find(run, to);
    if (!before || before == after) return;
    if (edge == TUTTI_EDGE_START && before->started) return;
    if (before->followers == before->room) {
        int room = before->room ? 2 * before->room : 8;
        follower *grown = realloc(before->follower, (size_t)room * sizeof *grown);
        if (!grown) {
            tutti_ledger_leave(
                run->ledger, to, tutti_fail(TUTTI_ERR_NOMEM, "inline runner: no memory"));
            return;
        }
        before->follower = grown;
        before->room = room;
    }
    before->follower[before->followers++] = (follower){to, edge};
    after->blockers++;
}

static tutti_status admit(tutti_run *run, const instance *proto, const char *name, int accesses,
    const tutti_access access[])
{
    instance *fresh = malloc(sizeof *fresh);
    if (!fresh) return tutti_fail(TUTTI_ERR_NOMEM, "inline runner: no memory");
    *fresh = *proto;
    fresh->run = run;
    fresh->step = tutti_trace_step(run->options.trace);
    fresh->token.finish = finish_token;
    fresh->blockers = 1;
    const tutti_task entry = {name, accesses, access, fresh->sequence, NULL};
    tutti_status status = tutti_ledger_enter(run->ledger, &entry, &fresh->id);
    if (status) {
        free(fresh);
        return status;
    }
    pthread_mutex_lock(&run->lock);
    fresh->next = run->bucket[fresh->id % BUCKETS];
    run->bucket[fresh->id % BUCKETS] = fresh;
    status = tutti_edges_add(run->edges, fresh->id, accesses, access, add_edge, run);
    unblock(run, fresh);
    pthread_mutex_unlock(&run->lock);
    return status;
}

static int inline_close(tutti_run *run)
{
    if (!run) return 1;
    tutti_run_observe(&run->options.hooks, NULL, 1);
    int unfinished =
        run->ledger && !tutti_ledger_reached(run->ledger, 0, tutti_ledger_point(run->ledger));
    if (unfinished) return 0; /* tokens may still end: what they touch stays */
    pthread_mutex_lock(&run->lock);
    pthread_mutex_unlock(&run->lock); /* the thread that has ended the last one has left */
    tutti_edges_free(run->edges);
    tutti_regions_free(&run->regions);
    tutti_direct_close(run->direct);
    free(run->ready);
    free(run->buf);
    free(run->pointer);
    tutti_ledger_free(run->ledger);
    tutti_binding_close(&run->binding);
    pthread_mutex_destroy(&run->lock);
    pthread_cond_destroy(&run->moved);
    free(run);
    return 1;
}

static tutti_status find_regions(tutti_run *run, const tutti_graph *graph)
{
    const int workers = run->options.workers > 1 ? run->options.workers : 1;
    const tutti_region_rule rule = {fmax(run->options.region_s, 0), workers};
    double *node_s = calloc((size_t)run->binding.nodes + 1, sizeof *node_s);
    if (!node_s) return tutti_fail(TUTTI_ERR_NOMEM, "inline runner: no memory");
    for (int n = 0; n < run->binding.nodes; n++) node_s[n] = tutti_expected_s(graph, n, TUTTI_CPU);
    tutti_status status = tutti_regions_find(graph, node_s, &rule, &run->regions);
    if (!status) status = tutti_regions_check(graph, &run->regions, workers);
    free(node_s);
    return status;
}

static tutti_status inline_open(
    const tutti_graph *graph, const tutti_run_options *options, tutti_run **run)
{
    tutti_run *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "inline runner: no memory");
    r->options = *options;
    const tutti_binding_place place = tutti_run_place(options);
    pthread_mutex_init(&r->lock, NULL);
    tutti_clock_cond_init(&r->moved);
    tutti_status status = TUTTI_OK;
    if (options->place.device != TUTTI_CPU)
        status = tutti_fail(TUTTI_ERR_UNSUPPORTED, "inline runner: it computes on the CPU alone");
    if (!status) status = tutti_binding_open(graph, &place, &r->binding);
    if (!status) status = find_regions(r, graph);
    if (!status) status = tutti_direct_open(&r->binding, &r->options.hooks, &r->direct);
    if (!status) status = tutti_edges_new(r->binding.tensors, &r->edges);
    if (!status) status = tutti_ledger_new(&r->ledger);
    const size_t most = (size_t)r->binding.widest + 1;
    if (!status && (!(r->buf = calloc(most, sizeof *r->buf)) ||
                       !(r->pointer = calloc(most, sizeof *r->pointer))))
        status = tutti_fail(TUTTI_ERR_NOMEM, "inline runner: no memory");
    if (status) {
        inline_close(r);
        return status;
    }
    tutti_run_observe(&r->options.hooks, r->ledger, 1);
    *run = r;
    return TUTTI_OK;
}

static tutti_status inline_feed(
    tutti_run *run, int tensor, const void *data, size_t bytes, void (*release)(void *), void *arg)
{
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "feed");
    if (status) return status;
    instance proto = {.work = WORK_FEED,
        .sequence = -1,
        .target = tensor,
        .data = (void *)data,
        .bytes = bytes,
        .release = release,
        .arg = arg};
    tutti_access access = {tensor, TUTTI_WRITE};
    return admit(run, &proto, tutti_graph_get_tensor(run->binding.graph, tensor)->name, 1, &access);
}

static tutti_status inline_fetch(tutti_run *run, int tensor, void *data, size_t bytes)
{
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "fetch");
    if (status) return status;
    instance proto = {
        .work = WORK_FETCH, .sequence = -1, .target = tensor, .data = data, .bytes = bytes};
    tutti_access access = {tensor, TUTTI_READ};
    return admit(run, &proto, tutti_graph_get_tensor(run->binding.graph, tensor)->name, 1, &access);
}

static tutti_status admit_region(tutti_run *run, int region, int64_t turn)
{
    const tutti_region *r = &run->regions.region[region];
    const instance proto = {.work = WORK_REGION, .sequence = -1, .turn = turn, .target = region};
    return admit(run, &proto, r->name, r->accesses, r->access);
}

static tutti_status inline_submit(tutti_run *run, int section)
{
    const tutti_graph *graph = run->binding.graph;
    const tutti_run_hooks *hooks = &run->options.hooks;
    tutti_status status = TUTTI_OK;
    int count;
    const int *running = tutti_binding_section(&run->binding, section, &count);
    const int64_t turn = running ? tutti_direct_submit(run->direct, section) : 0;
    for (int i = 0; i < count && !status; i++) {
        const int n = running[i];
        const tutti_node *node = tutti_graph_get_node(graph, n);
        const int region = run->regions.of[n];
        if (region >= 0) {
            if (run->regions.region[region].node[0] == n) status = admit_region(run, region, turn);
            continue;
        }
        instance proto = {.work = WORK_NODE, .sequence = -1, .turn = turn, .target = n};
        if (node->kind == TUTTI_NODE_COLLECTIVE) {
            proto.sequence = hooks->reserve(hooks->ctx, node);
            tutti_direct_numbered(run->direct, n, turn, proto.sequence);
        }
        status = admit(run, &proto, node->name, node->accesses, node->access);
    }
    return status;
}

/* Removes the pick-th ready instance. Lock held. */
static instance *take_picked(tutti_run *run, int pick)
{
    int64_t id = run->ready[pick];
    run->ready[pick] = run->ready[--run->readies];
    return find(run, id);
}

static int all_held(const tutti_run *run)
{
    int workers = run->options.workers > 0 ? run->options.workers : 1;
    return run->held >= workers;
}

/* Takes a ready instance: the earliest in program order for seed 0, otherwise any. NULL when none
 * is ready or collectives hold every worker. Lock held. */
static instance *take_ready(tutti_run *run)
{
    if (!run->readies || all_held(run)) return NULL;
    int pick = 0;
    if (run->options.seed)
        pick = (int)tutti_rng_below(run->options.seed, 0, run->draws++, (uint64_t)run->readies);
    else
        for (int i = 1; i < run->readies; i++)
            if (run->ready[i] < run->ready[pick]) pick = i;
    return take_picked(run, pick);
}

/* Adds a copy to the trace, under its tensor's name, on worker 0's track. */
static void trace_copy(const tutti_run *run, const instance *i, double begun_s)
{
    tutti_trace_task(run->options.trace, 0, TUTTI_SPAN_COPY,
        tutti_graph_get_tensor(run->binding.graph, i->target)->name, i->step, begun_s);
}

static void start_collective(tutti_run *run, instance *i, const tutti_node *node)
{
    const tutti_run_hooks *hooks = &run->options.hooks;
    int64_t id = i->id, step = i->step; /* the instance may end before start returns */
    pthread_mutex_lock(&run->lock);
    i->holds = node->place.holds;
    run->held += i->holds;
    pthread_mutex_unlock(&run->lock);
    double begun_s = tutti_trace_now(run->options.trace);
    hooks->start(hooks->ctx, node, i->sequence, run->buf, &i->token);
    pthread_mutex_lock(&run->lock);
    instance *left = find(run, id);
    if (left) mark_started(run, left);
    pthread_mutex_unlock(&run->lock);
    tutti_trace_task(run->options.trace, 0, tutti_span_kind_of(node), node->name, step, begun_s);
}

static void collect(tutti_run *run, const tutti_node *node)
{
    for (int a = 0; a < node->accesses; a++) {
        run->buf[a] = run->binding.host[node->access[a].tensor];
        run->pointer[a] = run->buf[a].pointer;
    }
}

static tutti_status run_kernel(tutti_run *run, const instance *i, int n)
{
    const tutti_node *node = tutti_graph_get_node(run->binding.graph, n);
    collect(run, node);
    double begun_s = tutti_trace_now(run->options.trace);
    double mark = tutti_meter_enter(run->options.meter, TUTTI_METER_COMPUTE);
    tutti_direct_begin(run->direct, n, i->turn, run->pointer);
    tutti_status status = tutti_binding_execute(&run->binding, n, run->pointer, NULL);
    tutti_direct_end(run->direct, n, i->turn);
    tutti_meter_leave(run->options.meter, TUTTI_METER_COMPUTE, mark);
    tutti_trace_task(run->options.trace, 0, tutti_span_kind_of(node), node->name, i->step, begun_s);
    return status;
}

static void run_instance(tutti_run *run, instance *i)
{
    const tutti_buffer *memory = run->binding.host;
    tutti_status status = TUTTI_OK;
    tutti_ledger_begin(run->ledger, i->id);
    if (i->work == WORK_REGION) {
        const tutti_region *r = &run->regions.region[i->target];
        for (int k = 0; k < r->nodes && !status; k++) status = run_kernel(run, i, r->node[k]);
    } else if (i->work != WORK_NODE) {
        double begun_s = tutti_trace_now(run->options.trace);
        if (i->work == WORK_FEED)
            memcpy(memory[i->target].pointer, i->data, i->bytes);
        else
            memcpy(i->data, memory[i->target].pointer, i->bytes);
        if (i->release) i->release(i->arg);
        trace_copy(run, i, begun_s);
    } else {
        const tutti_node *node = tutti_graph_get_node(run->binding.graph, i->target);
        if (node->kind == TUTTI_NODE_COLLECTIVE) {
            collect(run, node);
            start_collective(run, i, node);
            return; /* ends when its token is finished */
        }
        status = run_kernel(run, i, i->target);
    }
    end_instance(run, i, status);
}

/* Runs one ready instance; if there is none, gives the main thread to the design or briefly sleeps
 * until something moves. */
static tutti_status advance(tutti_run *run)
{
    const tutti_run_hooks *hooks = &run->options.hooks;
    pthread_mutex_lock(&run->lock);
    instance *next = take_ready(run);
    if (!next && !hooks->main) {
        struct timespec until = tutti_clock_after(0.01);
        pthread_cond_timedwait(&run->moved, &run->lock, &until);
    }
    pthread_mutex_unlock(&run->lock);
    if (next) run_instance(run, next);
    return !next && hooks->main ? hooks->main(hooks->ctx) : TUTTI_OK;
}

int tutti_inline_ready(tutti_run *run, int64_t ids[], int most)
{
    int count = 0;
    pthread_mutex_lock(&run->lock);
    for (int i = 0; i < run->readies && !all_held(run) && count < most; i++) {
        int at = count++;
        for (; at > 0 && ids[at - 1] > run->ready[i]; at--) ids[at] = ids[at - 1];
        ids[at] = run->ready[i];
    }
    pthread_mutex_unlock(&run->lock);
    return count;
}

void tutti_inline_run(tutti_run *run, int64_t id)
{
    instance *chosen = NULL;
    pthread_mutex_lock(&run->lock);
    for (int i = 0; i < run->readies && !chosen; i++)
        if (run->ready[i] == id) chosen = take_picked(run, i);
    pthread_mutex_unlock(&run->lock);
    if (chosen) run_instance(run, chosen);
}

int tutti_inline_node(tutti_run *run, int64_t id)
{
    pthread_mutex_lock(&run->lock);
    const instance *i = find(run, id);
    const int node = i && i->work == WORK_NODE && !i->blockers ? i->target : -1;
    pthread_mutex_unlock(&run->lock);
    return node;
}

int64_t tutti_inline_changes(const tutti_run *run)
{
    return run->changes;
}

int tutti_inline_reached(tutti_run *run, int64_t point, tutti_status *failure)
{
    *failure = tutti_ledger_failure(run->ledger);
    return tutti_ledger_reached(run->ledger, 0, point);
}

static int64_t inline_point(tutti_run *run)
{
    return tutti_ledger_point(run->ledger);
}

static tutti_status await(tutti_run *run, int64_t from, int64_t point, double timeout_s)
{
    double deadline = tutti_clock_s() + timeout_s;
    while (!tutti_ledger_reached(run->ledger, from, point)) {
        tutti_status status = tutti_ledger_failure(run->ledger);
        if (!status) status = advance(run);
        if (status) return status;
        if (tutti_clock_s() > deadline)
            return tutti_ledger_report_timeout(run->ledger, from, point, timeout_s);
    }
    return tutti_ledger_failure(run->ledger);
}

static tutti_status inline_wait(tutti_run *run, int64_t from, int64_t point, double timeout_s)
{
    tutti_run_waits(&run->options.hooks, 1);
    tutti_status status = await(run, from, point, timeout_s);
    tutti_run_waits(&run->options.hooks, 0);
    return status;
}

static tutti_status inline_acquire(
    tutti_run *run, int tensor, tutti_mode mode, size_t bytes, void **data)
{
    (void)mode;
    tutti_status status = tutti_binding_check(&run->binding, tensor, bytes, "acquire");
    if (!status) status = tutti_wait_over(run->ledger, &run->binding, tensor);
    if (!status) *data = run->binding.host[tensor].pointer;
    return status;
}

static void inline_release(tutti_run *run, int tensor)
{
    (void)run, (void)tensor;
}

static tutti_insert_handle inline_handle(tutti_run *run, int tensor)
{
    (void)run;
    (void)tensor;
    return NULL;
}

static tutti_run_counts inline_count(const tutti_run *run, int section)
{
    tutti_run_counts counts = {0};
    int count;
    const int *running = tutti_binding_section(&run->binding, section, &count);
    for (int i = 0; i < count; i++) {
        const int kind = tutti_graph_get_node(run->binding.graph, running[i])->kind;
        counts.collectives += kind == TUTTI_NODE_COLLECTIVE;
    }
    counts.kernels = count - counts.collectives;
    counts.tasks = count;
    return counts;
}

const tutti_runner tutti_runner_inline = {
    .name = "inline",
    .summary =
        "on the waiting thread, in any legal order drawn from a seed (tests, plain-loop timing)",
    .open = inline_open,
    .feed = inline_feed,
    .submit = inline_submit,
    .fetch = inline_fetch,
    .point = inline_point,
    .wait = inline_wait,
    .acquire = inline_acquire,
    .release = inline_release,
    .handle = inline_handle,
    .count = inline_count,
    .close = inline_close,
};
