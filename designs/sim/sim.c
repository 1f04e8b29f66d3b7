#include "designs/sim/sim.h"

#include "collectives/transport/virtual.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/rng.h"
#include "dag/run/inline.h"
#include "designs/design.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READY = 1024, AHEAD = 2, NAMED = 4 };

/* A worker's kernel; id -1: it has none. */
typedef struct worker {
    int64_t id;
    int node, step;
    double begin_s, end_s;
} worker;

typedef struct rank {
    int number;
    tutti_graph *graph;
    tutti_exchange *exchange;
    tutti_run *run;
    worker *worker;
    int64_t *end;        /* [steps] the point at which a step has ended */
    int submitted, done; /* steps */
    int64_t changes;     /* of the run, that its workers have seen */
    double busy_s;       /* of all its workers, in steps that count */
} rank;

typedef struct simulation {
    const tutti_sim_options *options;
    const tutti_sim_program *program;
    tutti_virtual_world *world;
    double slept_s;
    rank *rank;
    int workers;
    int *left;       /* [steps] ranks on which a step has not ended */
    double *ended_s; /* [steps] */
    int hangs;
    int64_t ready[READY];
} simulation;

static double virtual_now(void *ctx)
{
    const simulation *s = ctx;
    return tutti_virtual_now(s->world) + s->slept_s;
}

/* Only who waits for what does not come sleeps here: its deadline passes. */
static void virtual_sleep(void *ctx, double delay_s)
{
    ((simulation *)ctx)->slept_s += delay_s;
}

static tutti_status open_rank(simulation *s, int number)
{
    rank *r = &s->rank[number];
    const tutti_sim_options *o = s->options;
    tutti_exchange_options exchange = o->exchange;
    const int control = exchange.verify != TUTTI_VERIFY_OFF || exchange.priorities.on || o->trace;
    const int lanes = tutti_design_lanes(exchange.design, exchange.lanes);
    tutti_transport *transport;
    exchange.lanes = lanes;
    exchange.manual = 1;
    exchange.watch.on = 0;
    exchange.trace = o->trace ? o->trace[number] : NULL;
    r->number = number;
    tutti_status status = tutti_transport_virtual(
        s->world, number, lanes + (control && o->ranks > 1) + exchange.messages, &transport);
    if (!status) status = tutti_exchange_open_over(transport, &exchange, &r->exchange);
    if (!status) status = s->program->build(s->program->ctx, number, r->exchange, &r->graph);
    if (!status) status = tutti_exchange_apply(r->exchange, r->graph);
    if (!status && s->program->finalize) status = s->program->finalize(s->program->ctx, number);
    if (status) return status;
    const tutti_run_options run = {.workers = s->workers,
        .place = {.payload = tutti_virtual_payload(s->world)},
        .region_s = -1,
        .hooks = tutti_exchange_hooks(r->exchange)};
    r->worker = malloc((size_t)s->workers * sizeof *r->worker);
    r->end = calloc((size_t)o->steps, sizeof *r->end);
    if (!r->worker || !r->end)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to simulate rank %d", number);
    for (int w = 0; w < s->workers; w++) r->worker[w].id = -1;
    return tutti_runner_inline.open(r->graph, &run, &r->run);
}

static void close_rank(rank *r)
{
    tutti_runner_inline.close(r->run);
    tutti_exchange_close(r->exchange);
    free(r->worker);
    free(r->end);
}

/* ---- kernels ---- */

/* The step of a submission. */
static int step_of(const rank *r, int64_t id)
{
    int step = r->done;
    while (step + 1 < r->submitted && r->end[step] <= id) step++;
    return step;
}

static double kernel_s(const simulation *s, const rank *r, int64_t id, int node)
{
    const tutti_sim_options *o = s->options;
    const double time_s = s->program->node_s(s->program->ctx, r->number, r->graph, node);
    if (!(o->noise > 0)) return time_s;
    const char *name = tutti_graph_get_node(r->graph, node)->name;
    const uint64_t index = tutti_rng_stream(name) ^ ((uint64_t)step_of(r, id) << 48);
    return time_s * exp(o->noise * tutti_rng_normal(o->seed, (uint64_t)r->number, index));
}

static int is_running(const simulation *s, const rank *r, int64_t id)
{
    for (int w = 0; w < s->workers; w++)
        if (r->worker[w].id == id) return 1;
    return 0;
}

/* What starts a collective comes first and takes no time; then, of the kernels, the one of highest priority. */
static tutti_status start_ready(simulation *s, rank *r, int *moved)
{
    for (;;) {
        const int n = tutti_inline_ready(r->run, s->ready, READY);
        worker *free_one = NULL;
        int64_t best = -1, starts = -1;
        int best_node = -1, priority = 0;
        for (int w = 0; w < s->workers; w++)
            if (r->worker[w].id < 0) free_one = &r->worker[w];
        for (int i = 0; i < n && starts < 0; i++) {
            const int number = tutti_inline_node(r->run, s->ready[i]);
            const tutti_node *node = number < 0 ? NULL : tutti_graph_get_node(r->graph, number);
            if (!node || node->kind != TUTTI_NODE_KERNEL) {
                starts = s->ready[i];
            } else if (free_one && (best < 0 || node->priority > priority) &&
                       !is_running(s, r, s->ready[i])) {
                best = s->ready[i];
                best_node = number;
                priority = node->priority;
            }
        }
        if (starts >= 0) {
            tutti_inline_run(r->run, starts);
        } else if (best >= 0) {
            const double for_s = kernel_s(s, r, best, best_node);
            const double now_s = tutti_virtual_now(s->world);
            *free_one = (worker){best, best_node, step_of(r, best), now_s, now_s + for_s};
            if (free_one->step >= s->options->warm) r->busy_s += for_s;
            tutti_status status = tutti_virtual_wake_at(s->world, free_one->end_s, r->number);
            if (status) return status;
        } else {
            return TUTTI_OK;
        }
        *moved = 1;
    }
}

/* Adds the kernel that ends on a worker now. */
static void trace_kernel(const simulation *s, const rank *r, int w)
{
    const worker *k = &r->worker[w];
    const tutti_node *node = tutti_graph_get_node(r->graph, k->node);
    if (s->options->trace)
        tutti_trace_task(s->options->trace[r->number], w, tutti_span_kind_of(node), node->name,
            k->step + 1, k->begin_s + s->slept_s);
}

static int end_kernels(simulation *s, rank *r)
{
    int ended = 0;
    for (int w = 0; w < s->workers; w++) {
        if (r->worker[w].id < 0 || r->worker[w].end_s > tutti_virtual_now(s->world)) continue;
        tutti_inline_run(r->run, r->worker[w].id);
        trace_kernel(s, r, w);
        r->worker[w].id = -1;
        ended = 1;
    }
    return ended;
}

/* ---- steps ---- */

static tutti_status submit_steps(const simulation *s, rank *r)
{
    tutti_status status = TUTTI_OK;
    while (!status && r->submitted < s->options->steps && r->submitted < r->done + AHEAD) {
        if (s->options->trace) tutti_trace_set_step(s->options->trace[r->number], r->submitted + 1);
        status = tutti_runner_inline.submit(r->run, s->options->section);
        r->end[r->submitted++] = tutti_runner_inline.point(r->run);
    }
    return status;
}

static tutti_status end_steps(simulation *s, rank *r, int *moved)
{
    tutti_status failure;
    while (r->done < r->submitted && tutti_inline_reached(r->run, r->end[r->done], &failure)) {
        if (!--s->left[r->done]) s->ended_s[r->done] = tutti_virtual_now(s->world);
        r->done++;
        *moved = 1;
    }
    (void)tutti_inline_reached(r->run, 0, &failure);
    return failure ? failure : submit_steps(s, r);
}

/* All that a rank can do now. Most calls move messages, and nothing else: those need no whole pass. */
static tutti_status advance_rank(simulation *s, rank *r)
{
    tutti_status status = TUTTI_OK;
    int freed = end_kernels(s, r);
    int moves =
        !freed && !s->options->whole_passes && tutti_virtual_only_flights(s->world, r->number);
    for (int moved = 1; moved && !status; freed = moves = 0) {
        moved = (moves ? tutti_exchange_move(r->exchange) : tutti_exchange_pass(r->exchange)) > 1;
        if (!freed && tutti_inline_changes(r->run) == r->changes) continue;
        r->changes = tutti_inline_changes(r->run);
        status = end_steps(s, r, &moved);
        if (!status) status = start_ready(s, r, &moved);
    }
    return status;
}

/* Who waits, of ranks that have not ended, into a sentence. */
static void describe_hang(const simulation *s, char *text, size_t size)
{
    char who[256] = "";
    int waiting = 0;
    for (int i = 0; i < s->options->ranks; i++) {
        const rank *r = &s->rank[i];
        const size_t used = strlen(who);
        if (r->done == s->options->steps) continue;
        if (waiting++ < NAMED)
            snprintf(who + used, sizeof who - used, "%s rank %d in step %d", waiting > 1 ? "," : "",
                i, r->done);
    }
    snprintf(text, size,
        "the simulation hangs at %g s: nothing will happen any more, and %d of %d ranks have not "
        "ended:%s%s",
        tutti_virtual_now(s->world), waiting, s->options->ranks, who,
        waiting > NAMED ? ", ..." : "");
}

static void say_nothing(void *ctx, tutti_log_level level, const char *sentence)
{
    (void)ctx, (void)level, (void)sentence;
}

static int has_ended(const rank *r)
{
    tutti_status failure;
    return !r->run || !r->submitted ||
           tutti_inline_reached(r->run, r->end[r->submitted - 1], &failure);
}

/* Runs what may run, without time. */
static int finish_rank(simulation *s, rank *r)
{
    int moved = tutti_exchange_pass(r->exchange);
    for (int w = 0; w < s->workers; w++) r->worker[w].id = -1;
    for (int n; (n = tutti_inline_ready(r->run, s->ready, READY)) > 0; moved = 1)
        for (int i = 0; i < n; i++) tutti_inline_run(r->run, s->ready[i]);
    return moved;
}

/* After a failure: messages fail, which ends collectives, and all that waits for them. What ranks say of these failures
 * says nothing of the simulation. */
static void finish_all(simulation *s)
{
    enum { MOST_ROUNDS = 10000, QUIET = 4 };
    tutti_log_to(say_nothing, NULL);
    tutti_virtual_break(s->world);
    for (int round = 0, quiet = 0, left = 1; left && round < MOST_ROUNDS && quiet < QUIET;
         round++) {
        int moved = left = 0;
        for (int i = 0; i < s->options->ranks; i++) {
            rank *r = &s->rank[i];
            if (has_ended(r)) continue;
            moved |= finish_rank(s, r);
            left = 1;
        }
        quiet = moved ? 0 : quiet + 1;
    }
    tutti_log_to(NULL, NULL);
}

static tutti_status run_all(simulation *s)
{
    const int *concerned, last = s->options->steps - 1;
    int n;
    tutti_status status = TUTTI_OK;
    for (int r = 0; !status && r < s->options->ranks; r++) {
        status = submit_steps(s, &s->rank[r]);
        if (!status) status = advance_rank(s, &s->rank[r]);
    }
    while (!status && s->left[last]) {
        status = tutti_virtual_next(s->world, &concerned, &n);
        if (!status && !n) s->hangs = 1;
        if (s->hangs) return TUTTI_ERR_TIMEOUT;
        for (int i = 0; i < n && !status; i++) status = advance_rank(s, &s->rank[concerned[i]]);
    }
    return status;
}

/* ---- results ---- */

static void sum_up(simulation *s, double *step_s, tutti_sim_result *result)
{
    const tutti_sim_options *o = s->options;
    const int counted = o->steps - o->warm;
    const tutti_virtual_account totals = tutti_virtual_totals(s->world);
    *result = (tutti_sim_result){.total_s = s->ended_s[o->steps - 1],
        .messages = totals.messages,
        .events = totals.events,
        .sent_bytes = totals.sent_bytes};
    result->busiest = tutti_virtual_busiest(s->world, &result->share);
    for (int r = 0; r < o->ranks; r++)
        result->compute_s += s->rank[r].busy_s / s->workers / o->ranks / counted;
    if (step_s) memcpy(step_s, s->ended_s, (size_t)o->steps * sizeof *step_s);
    for (int i = o->steps - 1; i > 0; i--) s->ended_s[i] -= s->ended_s[i - 1];
    result->step_s = tutti_median(counted, s->ended_s + o->warm);
}

static tutti_status check(const tutti_sim_options *o)
{
    if (o->steps < 1 || o->warm < 0 || o->warm >= o->steps)
        return tutti_fail(TUTTI_ERR_INVAL, "a simulation of %d steps, of which %d do not count",
            o->steps, o->warm);
    return TUTTI_OK;
}

tutti_status tutti_sim_run(const tutti_sim_options *options, const tutti_sim_program *program,
    double *step_s, tutti_sim_result *result)
{
    simulation s = {.options = options,
        .program = program,
        .slept_s = 1e-9, /* a span that begins at 0 would count as none (dag/run/trace.h) */
        .workers = options->workers > 0 ? options->workers : 1};
    tutti_status status = check(options);
    if (!status) status = tutti_virtual_world_new(options->topology, options->ranks, &s.world);
    if (status) return status;
    const tutti_clock_source clock = {virtual_now, virtual_sleep, &s};
    const tutti_clock_source *before = tutti_clock_use(&clock);
    s.rank = calloc((size_t)options->ranks, sizeof *s.rank);
    s.left = malloc((size_t)options->steps * sizeof *s.left);
    s.ended_s = calloc((size_t)options->steps, sizeof *s.ended_s);
    if (!s.rank || !s.left || !s.ended_s)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory to simulate %d ranks", options->ranks);
    for (int i = 0; !status && i < options->steps; i++) s.left[i] = options->ranks;
    for (int r = 0; !status && r < options->ranks; r++) status = open_rank(&s, r);
    if (!status) status = run_all(&s);
    if (!status) sum_up(&s, step_s, result);
    char why[TUTTI_ERROR_TEXT] = "";
    if (s.hangs)
        describe_hang(&s, why, sizeof why);
    else if (status)
        snprintf(why, sizeof why, "%s", tutti_last_error());
    if (status && s.rank) finish_all(&s);
    for (int r = 0; s.rank && r < options->ranks; r++) close_rank(&s.rank[r]);
    tutti_clock_use(before);
    tutti_virtual_world_free(s.world);
    free(s.rank);
    free(s.left);
    free(s.ended_s);
    if (s.hangs) return tutti_fail(status, "%s", why);
    if (status) tutti_error_adopt(why);
    return status;
}
