/* Nets cut into the stages of a pipeline, with replicas, and updates sharded between them: ranks as threads over
 * the loop transport, each with an inline runner in a random order. Weights, losses and what evaluations find are
 * those of as many replicas of the whole net, bit for bit; so is what update rules and codecs keep, put together. */
#include "apps/session/groups.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/codecs/codecs.h"
#include "dag/kernels/loss.h"
#include "dag/net/layer.h"
#include "dag/step/step.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/rows.h"
#include "dag/strategies/strategies.h"
#include "designs/exchange/exchange.h"
#include "tests/step/drawn.h"
#include "tests/step/leavings.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, LARGER = 8, BATCH = 4, MOST_STAGES = 8, MOST_REPLICAS = 3, STEPS = 2 };
enum { MOST_RANKS = MOST_STAGES * MOST_REPLICAS };
static const double patience_s = 60;

typedef struct layout {
    int stages, replicas;
    int end[MOST_STAGES];
    tutti_emission emission;
    int fewer_slots; /* with 1f1b: than the default; below 0: those of the order eager */
} layout;

typedef struct findings {
    leavings left;
    double metric[STEPS + 2][TUTTI_METRICS]; /* of training; of two evaluations */
    uint64_t views;
} findings;

typedef struct world {
    tutti_loop_world *loop;
    const tutti_design *design;
    layout layout;
    tutti_step_options recipe;
    int larger; /* evaluates larger images */
    uint64_t net, order;
    findings *found;
} world;

typedef struct rank_job {
    world *world;
    tutti_placement placement;
    tutti_status status;
} rank_job;

static uint64_t hash_of(const void *data, size_t bytes)
{
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * 1099511628211ull;
    return h;
}

/* ---- a rank ---- */

static tutti_placement placement_of(const layout *l, int rank)
{
    tutti_placement p = {.rank = rank, .stages = l->stages, .replicas = l->replicas};
    memcpy(p.end, l->end, sizeof l->end);
    return p;
}

static tutti_status feed(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_step *step, int batch, int evaluation)
{
    static const float rate = 0.05f;
    const int side = evaluation && job->world->larger ? LARGER : SIDE;
    const int64_t each = (int64_t)side * side * DRAWN_CHANNELS;
    const uint64_t stream = tutti_rng_stream("images");
    int64_t counter = batch;
    tutti_status status = runner->feed(run, step->rate, &rate, sizeof rate, NULL, NULL);
    if (!status) {
        int64_t *number = malloc(sizeof *number);
        *number = counter;
        status = runner->feed(run, step->counter, number, sizeof *number, free, number);
    }
    for (int s = 0; s < step->micro_batches && !status && job->placement.own.stage == 0; s++) {
        const tutti_micro_batch *m = &step->micro_batch[s];
        int64_t first = (batch * MOST_REPLICAS + job->placement.own.replica) * BATCH + m->first;
        float *images = malloc((size_t)(m->count * each) * sizeof *images);
        int32_t *labels = malloc((size_t)m->count * sizeof *labels);
        for (int64_t e = 0; e < m->count * each; e++)
            images[e] =
                (float)tutti_rng_normal(job->world->net, stream, (uint64_t)(first * each + e));
        for (int64_t i = 0; i < m->count; i++)
            labels[i] = (int32_t)tutti_rng_below(
                job->world->net, tutti_rng_stream("labels"), (uint64_t)(first + i), DRAWN_CLASSES);
        status = runner->feed(run, evaluation ? m->evaluated : m->images, images,
            (size_t)(m->count * each) * sizeof *images, free, images);
        if (!status)
            status = runner->feed(
                run, m->labels, labels, (size_t)m->count * sizeof *labels, free, labels);
    }
    return status;
}

/* Adds this rank's metrics of the section that has run. */
static tutti_status add_metrics(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_step *step, double sum[])
{
    tutti_status status = TUTTI_OK;
    for (int s = 0; s < step->micro_batches && !status && job->placement.own.stage == 0; s++) {
        double metrics[TUTTI_METRICS];
        status = tutti_run_read(runner, run, step->micro_batch[s].metrics, metrics, sizeof metrics);
        if (job->placement.own.replica == 0)
            for (int k = 0; k < TUTTI_METRICS; k++) sum[k] += metrics[k];
    }
    return status;
}

static tutti_status run_section(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_step *step, int section, int batch, double sum[])
{
    int evaluation = section != step->train;
    tutti_status status = feed(job, runner, run, step, batch, evaluation);
    if (!status) status = runner->submit(run, section);
    if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
    return status ? status : add_metrics(job, runner, run, step, sum);
}

/* Whether each replica has a part of a tensor of its own: of what the update rule keeps a block, of what was not sent
 * a row. */
static int is_sharded(const rank_job *job, const tutti_step *step, const char *name)
{
    int kept = 0;
    for (int k = 0; step->rule->prefix[k]; k++)
        kept |= !strncmp(name, step->rule->prefix[k], strlen(step->rule->prefix[k]));
    kept = kept && step->strategy->shards;
    return (kept || !strncmp(name, "residual.", strlen("residual."))) &&
           job->world->layout.replicas > 1;
}

/* A tensor of this stage, which the replicas share, or of which each has a block. */
static tutti_status note(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_step *step, int tensor)
{
    const char *name = tutti_graph_get_tensor(step->graph, tensor)->name;
    return leavings_note(
        &job->world->found->left, runner, run, step->graph, tensor, is_sharded(job, step, name));
}

static tutti_status run_steps(
    const rank_job *job, tutti_exchange *exchange, const tutti_net *net, tutti_step *step)
{
    const tutti_runner *runner = tutti_runner_find("inline");
    findings *found = job->world->found;
    tutti_run_options options = {
        .seed = job->world->order ? job->world->order + (uint64_t)job->placement.rank : 0,
        .hooks = tutti_exchange_hooks(exchange)};
    tutti_run *run = NULL;
    tutti_status status = tutti_exchange_apply(exchange, step->graph);
    if (!status) status = tutti_step_finalize(step);
    if (!status) status = runner->open(step->graph, &options, &run);
    if (!status) status = tutti_step_init(step, net, runner, run, job->world->recipe.seed);
    if (!status && step->refresh >= 0) status = runner->submit(run, step->refresh);
    for (int n = 0; n < STEPS && !status; n++) {
        int before[TUTTI_STEP_BEFORE];
        const int sections = tutti_step_before(step, n, n / step->period * step->period, before);
        for (int i = 0; i < sections && !status; i++) status = runner->submit(run, before[i]);
        if (!status) status = run_section(job, runner, run, step, step->train, n, found->metric[n]);
        if (!status && step->average >= 0 && (n + 1) % step->period == 0)
            status = runner->submit(run, step->average);
    }
    if (!status) status = run_section(job, runner, run, step, step->eval, 3, found->metric[STEPS]);
    if (!status)
        status = run_section(job, runner, run, step,
            step->eval_average >= 0 ? step->eval_average_again : step->eval_again, 4,
            found->metric[STEPS + 1]);
    if (!status && job->placement.rank == 0) {
        char views[BATCH * DRAWN_CLASSES * sizeof(float)];
        size_t bytes = tutti_graph_get_tensor(step->graph, step->micro_batch[0].both)->bytes;
        status = tutti_run_read(runner, run, step->micro_batch[0].both, views, bytes);
        found->views = hash_of(views, bytes);
    }
    for (int p = 0; p < step->parameters && !status; p++)
        status = note(job, runner, run, step, step->parameter[p]);
    for (int p = 0; p < step->states && !status; p++)
        status = note(job, runner, run, step, step->state[p]);
    runner->close(run);
    return status;
}

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    world *w = job->world;
    const layout *l = &w->layout;
    const int lanes = w->design->many_lanes ? 3 : 1;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    tutti_net *net = NULL, *larger = NULL;
    tutti_step *step = NULL;
    tutti_step_options recipe = w->recipe;
    tutti_exchange_options options = {.design = w->design,
        .lanes = lanes,
        .algorithm = "direct", /* sums do not depend on what else is in their bucket */
        .bucket_bytes = 1 << 14,
        .messages = 1,
        .verify = TUTTI_VERIFY_ON,
        .timeout_s = patience_s};
    tutti_status status = tutti_transport_loop(w->loop, job->placement.rank, lanes + 2, &transport);
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    recipe.placement = job->placement;
    recipe.emission = l->emission;
    if (l->emission == TUTTI_EMISSION_1F1B) {
        const int ahead = l->stages - job->placement.own.stage;
        recipe.slots = l->fewer_slots < 0 ? 2 * ahead - 1 : ahead - l->fewer_slots;
        if (recipe.slots < 1) recipe.slots = 1;
    }
    if (!status) status = tutti_session_groups_make(exchange, &recipe.placement);
    if (!status) status = tutti_net_new(&net);
    if (!status) drawn_net(net, w->net, SIDE);
    if (!status && w->larger) {
        status = tutti_net_new(&larger);
        drawn_net(larger, w->net, LARGER);
        recipe.evaluated = larger;
    }
    if (!status) status = tutti_step_build(net, &recipe, &step);
    if (!status) status = run_steps(job, exchange, net, step);
    tutti_step_free(step);
    tutti_net_free(net);
    tutti_net_free(larger);
    tutti_status closed = tutti_exchange_close(exchange);
    job->status = status ? status : closed;
    return NULL;
}

/* ---- worlds ---- */

static void run_world(world *w, findings *found)
{
    static rank_job job[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    const layout *l = &w->layout;
    const int ranks = l->stages * l->replicas;
    tutti_loop_options late = {
        .eager_bytes = 256, .delay_s = w->order ? 100e-6 : 0, .seed = w->order};
    *found = (findings){.left = LEAVINGS_NONE};
    w->found = found;
    ck_assert_ok(tutti_loop_world_new(ranks, &late, &w->loop));
    for (int r = 0; r < ranks; r++) {
        job[r] = (rank_job){.world = w, .placement = placement_of(l, r)};
        ck_assert_ok(tutti_placement_complete(&job[r].placement));
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(w->loop);
    for (int r = 0; r < ranks; r++)
        ck_assert_msg(!job[r].status, "net %llu, %s, %d stages, %d replicas: rank %d: %s",
            (unsigned long long)w->net, w->design->name, l->stages, l->replicas, r,
            tutti_status_name(job[r].status));
}

static void compare(const world *w, const findings *got, const findings *want)
{
    char what[160];
    snprintf(what, sizeof what, "net %llu, %s, %d stages, %d replicas, %s, %d micro-batches, %s",
        (unsigned long long)w->net, w->design->name, w->layout.stages, w->layout.replicas,
        tutti_emission_name(w->layout.emission), w->recipe.micro_batches, w->recipe.strategy->name);
    leavings_compare(&got->left, &want->left, what);
    ck_assert_msg(
        !memcmp(got->metric, want->metric, sizeof want->metric), "%s: other metrics", what);
    ck_assert_msg(got->views == want->views, "%s: other logits", what);
}

static int draw(uint64_t seed, const char *what, int n)
{
    return (int)tutti_rng_below(seed, tutti_rng_stream(what), 0, (uint64_t)n);
}

/* Cuts that leave a parameter in each stage; fewer stages if there are not that many. */
static void draw_cut(uint64_t seed, int stages, layout *l)
{
    tutti_net *net;
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int with[128], n = 0;
    ck_assert_ok(tutti_net_new(&net));
    drawn_net(net, seed, SIDE);
    for (int i = 0; i < net->layers; i++)
        if (tutti_layer_parameters(&net->layer[i], parameter)) with[n++] = i;
    l->stages = stages < n ? stages : n;
    for (int q = 0, k = -1; q < l->stages;
         q++) { /* layer with[k] is the last that stage q must have */
        int left = n - (l->stages - q) - k;
        k += 1 + (int)tutti_rng_below(seed, tutti_rng_stream("cut"), (uint64_t)q, (uint64_t)left);
        if (q == l->stages - 1)
            l->end[q] = net->layers;
        else
            l->end[q] = with[k] + 1 +
                        (int)tutti_rng_below(seed, tutti_rng_stream("more"), (uint64_t)q,
                            (uint64_t)(with[k + 1] - with[k]));
    }
    tutti_net_free(net);
}

static tutti_step_options recipe_of(uint64_t seed)
{
    static const tutti_update_rule *const rules[] = {
        &tutti_update_sgd, &tutti_update_adam, &tutti_update_lars};
    return (tutti_step_options){.batch = BATCH,
        .micro_batches = 1 << draw(seed, "micro-batches", 3),
        .rule = rules[draw(seed, "rule", 3)],
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8f,
        .trust = 0.02f,
        .clip_norm = draw(seed, "clip", 2) ? 0.5 : 0,
        .average_decay = draw(seed, "average", 2) ? 0.5 : 0,
        .wire = draw(seed, "wire", 2) ? TUTTI_BF16 : TUTTI_F32,
        .mixup = draw(seed, "mixup", 2) ? 0.4 : 0,
        .cutmix = draw(seed, "cutmix", 2) != 0,
        .seed = 7};
}

/* One that leaves the bits of sync: rooted adds in the order of a tree. */
static void draw_strategy(uint64_t seed, world *w)
{
    tutti_step_options *recipe = &w->recipe;
    const int which = draw(seed, "strategy", 4);
    recipe->strategy = &tutti_strategy_sync;
    if (!recipe->rule->cut) return;
    if (which < 2 && recipe->clip_norm <= 0) recipe->strategy = &tutti_strategy_sharded;
    if (which < 2 || (recipe->wire != TUTTI_F32 && w->layout.replicas > 2)) return;
    recipe->strategy = &tutti_strategy_rooted;
    recipe->settings.value[0] = draw(seed, "schedule", 3);
}

/* Replicas that train alone, in rounds of one step or of both, or meet neighbours in every step. */
static void draw_rounds(uint64_t seed, tutti_step_options *recipe)
{
    static const char *const texts[] = {"local:period=1", "local:period=2,outer=0.7,momentum=0.9",
        "gossip:ring,period=2", "gossip:exponential,period=2", "gossip:push-sum,period=2",
        "adpsgd:round=2"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    char fault[256];
    recipe->wire = TUTTI_F32;
    ck_assert(tutti_strategy_read(texts[draw(seed, "rounds", TEXTS)], &recipe->strategy,
        &recipe->settings, fault, sizeof fault));
}

/* Gradients that travel compressed, of all weights. */
static void take_codec(int i, tutti_step_options *recipe)
{
    static const char *const texts[] = {"onebit", "topk:0.1", "powersgd:1"};
    char fault[256];
    recipe->wire = TUTTI_F32;
    recipe->codec_least = 15;
    ck_assert_msg(
        tutti_codec_read(texts[i % 3], &recipe->codec, &recipe->codec_value, fault, sizeof fault),
        "%s", fault);
}

/* Random nets, cuts, recipes, in every design, one after the other. */
START_TEST(cuts_give_the_same_bits)
{
    const uint64_t seed = testing_seed(900) + (uint64_t)_i;
    static findings want, got;
    world w = {.net = seed, .recipe = recipe_of(seed), .larger = draw(seed, "larger", 2)};
    if (w.recipe.mixup > 0 && w.recipe.micro_batches > BATCH / 2)
        w.recipe.micro_batches = BATCH / 2;
    w.layout = (layout){.stages = 1,
        .replicas = 1 + draw(seed, "replicas", MOST_REPLICAS),
        .emission = TUTTI_EMISSION_GPIPE};
    w.layout.end[0] = 1;
    w.design = tutti_designs[0];
    w.recipe.strategy = &tutti_strategy_sync;
    if (_i % 3 == 2) draw_rounds(seed, &w.recipe);
    if (_i % 3 == 1) {
        take_codec(_i / 3, &w.recipe);
        w.layout.replicas = 2 + _i / 3 % 2;
    }
    run_world(&w, &want);
    for (int i = 0; tutti_designs[i]; i++) {
        const uint64_t turn = seed * 10 + (uint64_t)i;
        w.design = tutti_designs[i];
        if (w.design->unsafe) continue;
        const int most = w.recipe.strategy->mixings ? 1 : i ? 4 : MOST_STAGES;
        draw_cut(seed, 1 + draw(turn, "stages", most), &w.layout);
        if (!w.recipe.strategy->alone && !w.recipe.codec) draw_strategy(turn, &w);
        w.layout.emission = draw(turn, "emission", 3) ? TUTTI_EMISSION_1F1B : TUTTI_EMISSION_GPIPE;
        w.layout.fewer_slots = draw(turn, "slots", 3) - 1;
        w.recipe.sums =
            (tutti_step_sums)draw(turn, "sums", 2); /* the first design's: in the graph */
        w.order = 1 + turn * 100;
        run_world(&w, &got);
        compare(&w, &got, &want);
    }
}
END_TEST

/* Marks that add the micro-batches leave the bits of nodes that do, with strategies whose marks can, in every
 * design; of so many micro-batches that their order matters. */
START_TEST(marks_add_what_nodes_would)
{
    const uint64_t seed = testing_seed(700) + (uint64_t)_i;
    static findings want, got;
    world w = {.net = seed, .recipe = recipe_of(seed)};
    w.recipe.micro_batches = 4;
    w.recipe.rule = &tutti_update_sgd;
    w.recipe.wire = TUTTI_F32;
    w.recipe.mixup = w.recipe.clip_norm = 0;
    w.recipe.strategy = &tutti_strategy_sync;
    w.layout = (layout){.stages = 1, .replicas = 2 + _i, .emission = TUTTI_EMISSION_GPIPE};
    w.layout.end[0] = 1;
    w.design = tutti_designs[0];
    run_world(&w, &want);
    w.recipe.sums = TUTTI_SUMS_COLLECTIVE;
    for (int i = 0; tutti_designs[i]; i++) {
        w.design = tutti_designs[i];
        if (w.design->unsafe) continue;
        w.recipe.strategy = i % 2 ? &tutti_strategy_sharded : &tutti_strategy_sync;
        draw_cut(seed, 1 + i % 2, &w.layout);
        run_world(&w, &got);
        compare(&w, &got, &want);
    }
}
END_TEST

/* Each schedule of rooted leaves the bits of sync, also of the momentum, which the root alone keeps. */
START_TEST(roots_keep_all)
{
    const uint64_t seed = testing_seed(500) + (uint64_t)_i;
    static findings want, got;
    world w = {.net = seed, .recipe = recipe_of(seed)};
    w.recipe.rule = &tutti_update_sgd;
    w.recipe.wire = TUTTI_F32;
    w.recipe.mixup = w.recipe.clip_norm = 0;
    w.recipe.strategy = &tutti_strategy_sync;
    w.layout = (layout){.stages = 1, .replicas = 2, .emission = TUTTI_EMISSION_GPIPE};
    w.layout.end[0] = 1;
    w.design = tutti_designs[0];
    run_world(&w, &want);
    w.recipe.strategy = &tutti_strategy_rooted;
    w.recipe.settings.value[0] = _i;
    for (int i = 0; tutti_designs[i]; i++) {
        w.design = tutti_designs[i];
        if (w.design->unsafe) continue;
        draw_cut(seed, 1 + i % 2, &w.layout);
        run_world(&w, &got);
        compare(&w, &got, &want);
    }
}
END_TEST

/* ---- what a stage needs ---- */

/* Eight layers of one size. */
static void even_net(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIDE, SIDE, DRAWN_CHANNELS);
    for (int i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "conv%d", i);
        x = tutti_net_conv(
            net, name, x, &(tutti_conv_layer){.K = DRAWN_CHANNELS, .R = 3, .pad = 1});
    }
    x = tutti_net_global_avg_pool(net, "mean", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, DRAWN_CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static tutti_status build_stage(const layout *l, int stage, int micro_batches, tutti_step **step)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    even_net(net);
    tutti_step_options recipe = {.batch = 8, .micro_batches = micro_batches};
    recipe.emission = l->emission;
    recipe.slots = l->emission == TUTTI_EMISSION_1F1B ? l->stages - stage : 0;
    recipe.placement = placement_of(l, stage);
    tutti_status status = tutti_step_build(net, &recipe, step);
    tutti_net_free(net);
    return status;
}

static size_t activations(const tutti_step *step)
{
    size_t bytes = 0;
    for (int i = 0; i < tutti_graph_tensors(step->graph); i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(step->graph, i);
        if (t->shape.rank == 4 && t->shape.dim[1] == SIDE && t->role == TUTTI_ROLE_SCRATCH)
            bytes += t->bytes;
    }
    return bytes;
}

/* With 1f1b a rank holds the activations of as many micro-batches as there are stages from its own
 * on, and those of its own layers and what it receives. */
START_TEST(memory_is_that_of_a_stage)
{
    layout whole = {.stages = 1, .emission = TUTTI_EMISSION_GPIPE, .end = {11}};
    layout four = {.stages = 4, .emission = TUTTI_EMISSION_1F1B, .end = {3, 5, 7, 11}};
    tutti_step *step;
    ck_assert_ok(build_stage(&whole, 0, 4, &step));
    const size_t all = activations(step) / 4, one = all / 8;
    tutti_step_free(step);
    for (int q = 0; q < 4; q++) {
        ck_assert_ok(build_stage(&four, q, 4, &step));
        ck_assert_uint_le(activations(step), (size_t)(4 - q) * (2 + (q > 0)) * one);
        tutti_step_free(step);
    }
}
END_TEST

static const struct {
    layout layout;
    int micro_batches;
    const char *says[2];
} refusals[] = {
    {{.stages = 2, .end = {0, 11}}, 1, {"stage 0 of 2", "at least one layer"}},
    {{.stages = 2, .end = {12, 11}}, 1, {"stage 0 of 2", "11 layers"}},
    {{.stages = 2, .end = {5, 10}}, 1, {"stage 1 of 2", "all of them"}},
    {{.stages = 3, .end = {5, 5, 11}}, 1, {"stage 1 of 3", "at least one layer"}},
    {{.stages = 2, .end = {1, 11}}, 1, {"stage 0 of 2 (", "no parameters"}},
    {{.stages = 2, .end = {5, 11}}, 3, {"8 in 3 micro-batches", "one size"}},
};

START_TEST(wrong_cuts_are_refused)
{
    tutti_step *step = NULL;
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(
        build_stage(&refusals[_i].layout, 0, refusals[_i].micro_batches, &step), TUTTI_ERR_INVAL);
    for (int k = 0; k < 2; k++)
        ck_assert_msg(strstr(tutti_last_error(), refusals[_i].says[k]) != NULL, "not \"%s\" in: %s",
            refusals[_i].says[k], tutti_last_error());
    tutti_log_set_level(TUTTI_LOG_WARN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *tcase = testing_case(suite, "pipeline");
    tcase_add_loop_test(tcase, cuts_give_the_same_bits, 0, 12);
    tcase_add_loop_test(tcase, marks_add_what_nodes_would, 0, 2);
    tcase_add_loop_test(tcase, roots_keep_all, 0, 3);
    tcase_add_test(tcase, memory_is_that_of_a_stage);
    tcase_add_loop_test(
        tcase, wrong_cuts_are_refused, 0, (int)(sizeof refusals / sizeof *refusals));
    return testing_run(suite);
}
