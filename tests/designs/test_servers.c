/* Steps with parameter servers: ranks as threads over the loop transport, each with an inline runner in a random order,
 * and messages that wait for their receivers. Whether servers are ranks of their own, and how many, or all ranks are
 * servers: workers have the same bits, and what update rules keep, put together, is the same. */
#include "apps/session/groups.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/net/net.h"
#include "dag/step/step.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/rows.h"
#include "designs/exchange/exchange.h"
#include "tests/step/leavings.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, CHANNELS = 3, CLASSES = 5, BATCH = 4, STEPS = 3, MOST_RANKS = 12, STAGES = 2 };
static const int stage_ends[STAGES] = {3, 6}; /* of build's layers */
static const double patience_s = 60;

typedef struct world {
    tutti_loop_world *loop;
    const tutti_design *design;
    const tutti_update_rule *rule;
    tutti_placement placement; /* with `end`; servers 0: all ranks serve */
    int micro_batches, accumulate;
    uint64_t order;
    leavings found;
} world;

typedef struct rank_job {
    world *world;
    tutti_placement placement;
    tutti_status status;
} rank_job;

/* A dense layer that is large enough to be divided, and is no multiple of anything. */
static void build(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIDE, SIDE, CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 7, .R = 3, .pad = 1});
    x = tutti_net_norm(net, "norm", x, 1);
    x = tutti_net_dense(net, "wide", x, 83, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu", x);
    tutti_net_output(net, tutti_net_dense(net, "narrow", x, CLASSES, TUTTI_INIT_HE_FAN_IN));
}

/* ---- a rank ---- */

static tutti_status feed(
    const tutti_runner *runner, tutti_run *run, const tutti_step *step, int batch)
{
    static const float rate = 0.05f;
    static const int64_t each = SIDE * SIDE * CHANNELS;
    int64_t *number = malloc(sizeof *number);
    *number = batch;
    const int replica = step->placement.own.replica;
    tutti_status status = runner->feed(run, step->rate, &rate, sizeof rate, NULL, NULL);
    if (!status) status = runner->feed(run, step->counter, number, sizeof *number, free, number);
    for (int s = 0; s < step->micro_batches && step->micro_batch[s].images >= 0 && !status; s++) {
        const tutti_micro_batch *m = &step->micro_batch[s];
        const int64_t first = (batch * MOST_RANKS + replica) * BATCH + m->first;
        float *images = malloc((size_t)(m->count * each) * sizeof *images);
        int32_t *labels = malloc((size_t)m->count * sizeof *labels);
        for (int64_t e = 0; e < m->count * each; e++)
            images[e] = (float)tutti_rng_normal(7, 1, (uint64_t)(first * each + e));
        for (int64_t i = 0; i < m->count; i++)
            labels[i] = (int32_t)tutti_rng_below(7, 2, (uint64_t)(first + i), CLASSES);
        status = runner->feed(
            run, m->images, images, (size_t)(m->count * each) * sizeof *images, free, images);
        if (!status)
            status = runner->feed(
                run, m->labels, labels, (size_t)m->count * sizeof *labels, free, labels);
    }
    return status;
}

static tutti_status run_steps(
    const rank_job *job, tutti_exchange *exchange, const tutti_net *net, tutti_step *step)
{
    const tutti_runner *runner = tutti_runner_find("inline");
    const world *w = job->world;
    leavings *found = &job->world->found;
    tutti_run_options options = {
        .seed = w->order + (uint64_t)job->placement.rank, .hooks = tutti_exchange_hooks(exchange)};
    tutti_run *run = NULL;
    tutti_status status = tutti_exchange_apply(exchange, step->graph);
    if (!status) status = tutti_step_finalize(step);
    if (!status) status = runner->open(step->graph, &options, &run);
    if (!status) status = tutti_step_init(step, net, runner, run, 5);
    for (int n = 0; n < STEPS * w->accumulate && !status; n++) {
        status = feed(runner, run, step, n);
        if (!status) status = runner->submit(run, tutti_step_section(step, n % w->accumulate));
        if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
    }
    for (int p = 0; p < step->parameters && job->placement.own.works && !status; p++)
        status = leavings_note(found, runner, run, step->graph, step->parameter[p], 0);
    for (int i = 0; i < step->states && !status; i++)
        status =
            leavings_note(found, runner, run, step->graph, step->state[i], step->state_sharded[i]);
    runner->close(run);
    return status;
}

/* Of a worker in stages: how it passes micro-batches. */
static void take_order(tutti_step_options *recipe)
{
    const tutti_placement *p = &recipe->placement;
    if (p->stages == 1 || p->own.serves) return;
    recipe->emission = TUTTI_EMISSION_1F1B;
    recipe->slots = p->stages - p->own.stage;
}

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    world *w = job->world;
    const int lanes = w->design->many_lanes ? 3 : 1;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    tutti_net *net = NULL;
    tutti_step *step = NULL;
    tutti_step_options recipe = {.batch = BATCH,
        .micro_batches = w->micro_batches,
        .accumulate = w->accumulate,
        .placement = job->placement,
        .strategy = &tutti_strategy_served,
        .rule = w->rule,
        .momentum = 0.9f,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8f,
        .trust = 0.001f,
        .average_decay = 0.9,
        .seed = 5};
    tutti_exchange_options options = {.design = w->design,
        .lanes = lanes,
        .algorithm = "direct",
        .bucket_bytes = 1 << 10,
        .messages = 1,
        .verify = TUTTI_VERIFY_ON,
        .timeout_s = patience_s};
    tutti_status status = tutti_transport_loop(w->loop, job->placement.rank, lanes + 2, &transport);
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    if (!status) status = tutti_session_groups_make(exchange, &recipe.placement);
    take_order(&recipe);
    if (!status) status = tutti_net_new(&net);
    if (!status) build(net);
    if (!status) status = tutti_step_build(net, &recipe, &step);
    if (!status) status = run_steps(job, exchange, net, step);
    tutti_step_free(step);
    tutti_net_free(net);
    tutti_status closed = tutti_exchange_close(exchange);
    job->status = status ? status : closed;
    return NULL;
}

/* ---- worlds ---- */

static void run_world(world *w)
{
    rank_job job[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    tutti_placement p = w->placement;
    tutti_loop_options late = {.eager_bytes = 64, .delay_s = 100e-6, .seed = w->order};
    p.everywhere = !p.servers;
    ck_assert_ok(tutti_placement_complete(&p));
    const int ranks = p.ranks;
    w->found = LEAVINGS_NONE;
    ck_assert_ok(tutti_loop_world_new(ranks, &late, &w->loop));
    for (p.rank = 0; p.rank < ranks; p.rank++) {
        ck_assert_ok(tutti_placement_complete(&p));
        job[p.rank] = (rank_job){.world = w, .placement = p};
        ck_assert_int_eq(pthread_create(&thread[p.rank], NULL, run_rank, &job[p.rank]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(w->loop);
    for (int r = 0; r < ranks; r++)
        ck_assert_msg(!job[r].status, "%s, %d clients of %d in %d stages, %d servers: rank %d: %s",
            w->design->name, p.clients, p.workers, p.stages, w->placement.servers, r,
            tutti_status_name(job[r].status));
}

static void compare(const world *w, const leavings *want)
{
    char what[160];
    snprintf(what, sizeof what, "%s, %s, %d clients of %d in %d stages, %d servers",
        w->design->name, w->rule->name, w->placement.clients,
        w->placement.replicas / w->placement.clients, w->placement.stages, w->placement.servers);
    leavings_compare(&w->found, want, what);
}

static const tutti_placement clients[] = {{.stages = 1, .replicas = 1, .clients = 1},
    {.stages = 1, .replicas = 3, .clients = 3}, {.stages = 1, .replicas = 3, .clients = 1},
    {.stages = 1, .replicas = 4, .clients = 2}, {.stages = 1, .replicas = 4, .clients = 4},
    {.stages = 2, .replicas = 3, .clients = 3}, {.stages = 2, .replicas = 4, .clients = 2}};
static const tutti_update_rule *const rules[] = {
    &tutti_update_sgd, &tutti_update_adam, &tutti_update_lars};
enum { LAYOUTS = sizeof clients / sizeof *clients, RULES = sizeof rules / sizeof *rules };

/* Row: clients, rule. With stages the bits are those without. TUTTI_TEST_FEWER: each clients with one of the rules. */
START_TEST(the_bits_are_those_of_one_server)
{
    const tutti_placement *own = &clients[_i / RULES];
    if (testing_fewer() && _i % RULES != _i / RULES % RULES) return;
    world w = {.placement = *own,
        .rule = rules[_i % RULES],
        .micro_batches = 1 + _i % 2,
        .accumulate = 1 + _i % 3 / 2,
        .design = tutti_design_find("sequential")};
    w.placement.servers = w.placement.stages = 1;
    memcpy(w.placement.end, stage_ends, sizeof stage_ends);
    w.order = testing_seed(1) + (uint64_t)_i;
    run_world(&w);
    const leavings want = w.found;
    for (int d = 0; tutti_designs[d]; d++) {
        if (tutti_designs[d]->unsafe) continue;
        w.design = tutti_designs[d];
        w.placement.stages = own->stages;
        for (w.placement.servers = own->stages > 1; w.placement.servers < 4;
             w.placement.servers += testing_fewer() ? 2 : 1) {
            w.order++;
            run_world(&w);
            compare(&w, &want);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("servers");
    TCase *tcase = testing_case(suite, "servers");
    tcase_add_loop_test(tcase, the_bits_are_those_of_one_server, 0, LAYOUTS * RULES);
    return testing_run(suite);
}
