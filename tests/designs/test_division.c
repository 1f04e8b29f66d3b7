/* Dense layers divided over groups of replicas, with stages or without: ranks as threads over the loop transport, each
 * with an inline runner in a random order. In every design, with every number of stages, in any order, the same bits;
 * and those of the net that is not divided but for the rounding of sums. */
#include "apps/session/groups.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/loss.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/step.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/rows.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, CHANNELS = 2, CLASSES = 6, BATCH = 8, STEPS = 2 };
enum { MOST_STAGES = 2, MOST_REPLICAS = 4, MOST_RANKS = MOST_STAGES * MOST_REPLICAS };
enum { MOST_TENSORS = 40, MOST_ELEMENTS = 512 };
static const double patience_s = 60;

typedef struct world {
    tutti_loop_world *loop;
    const tutti_design *design;
    int stages, replicas, ranks; /* ranks: of a divided layer; 0: none is divided */
    tutti_step_options recipe;
    uint64_t order;
    pthread_mutex_t lock;
    struct findings *found;
} world;

/* What training leaves: whole tensors, put together of blocks. */
typedef struct findings {
    int tensors;
    struct {
        char name[TUTTI_LAYER_NAME + 32];
        int64_t count;
        int has[MOST_ELEMENTS];
        float value[MOST_ELEMENTS];
    } tensor[MOST_TENSORS];
    double metric[STEPS + 1][TUTTI_METRICS]; /* of training; of an evaluation */
} findings;

typedef struct rank_job {
    world *world;
    tutti_placement placement;
    tutti_status status;
} rank_job;

/* A divided layer reads images, others read values; its value goes to two layers, to a norm, and to the loss; one layer
 * has outputs that two ranks cannot share. */
static void build_net(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIDE, SIDE, CHANNELS);
    x = tutti_net_dense(net, "fc1", x, 12, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu1", x);
    tutti_value y = tutti_net_dense(net, "fc2", x, 12, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_add(net, "add", x, y, 1);
    x = tutti_net_dense(net, "fc3", x, 5, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_norm(net, "norm", x, 1);
    x = tutti_net_dropout(net, "drop", x, 0.2f);
    tutti_net_output(net, tutti_net_dense(net, "fc4", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

/* ---- a rank ---- */

static tutti_status feed(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_step *step, int batch)
{
    static const float rate = 0.05f;
    const int64_t each = SIDE * SIDE * CHANNELS;
    tutti_status status = runner->feed(run, step->rate, &rate, sizeof rate, NULL, NULL);
    if (!status) {
        int64_t *number = malloc(sizeof *number);
        *number = batch;
        status = runner->feed(run, step->counter, number, sizeof *number, free, number);
    }
    for (int s = 0; s < step->micro_batches && !status && job->placement.own.stage == 0; s++) {
        const tutti_micro_batch *m = &step->micro_batch[s];
        const int64_t first =
            (batch * MOST_REPLICAS + job->placement.own.replica) * BATCH + m->first;
        uint8_t *images = malloc((size_t)(m->count * each));
        int32_t *labels = malloc((size_t)m->count * sizeof *labels);
        for (int64_t e = 0; e < m->count * each; e++)
            images[e] = (uint8_t)tutti_rng_below(1, 2, (uint64_t)(first * each + e), 256);
        for (int64_t i = 0; i < m->count; i++)
            labels[i] = (int32_t)tutti_rng_below(1, 3, (uint64_t)(first + i), CLASSES);
        status = runner->feed(run, m->images, images, (size_t)(m->count * each), free, images);
        if (!status)
            status = runner->feed(
                run, m->labels, labels, (size_t)m->count * sizeof *labels, free, labels);
    }
    return status;
}

/* Adds what the first replica finds. */
static tutti_status run_section(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_step *step, int section, int batch, double sum[])
{
    tutti_status status = feed(job, runner, run, step, batch);
    if (!status) status = runner->submit(run, section);
    if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
    for (int s = 0; s < step->micro_batches && !status && job->placement.own.stage == 0; s++) {
        double metrics[TUTTI_METRICS];
        status = tutti_run_read(runner, run, step->micro_batch[s].metrics, metrics, sizeof metrics);
        for (int k = 0; k < TUTTI_METRICS && job->placement.own.replica == 0; k++)
            sum[k] += metrics[k];
    }
    return status;
}

/* Puts elements from number `first` on in their place; ranks that have the same must have the same bits. */
static tutti_status put(findings *found, const char *name, int64_t all, int64_t first,
    int64_t count, const float value[])
{
    int i = 0;
    while (i < found->tensors && strcmp(found->tensor[i].name, name)) i++;
    if (i == found->tensors) {
        snprintf(found->tensor[i].name, sizeof found->tensor[i].name, "%s", name);
        found->tensor[i].count = all;
        found->tensors++;
    }
    for (int64_t e = 0; e < count; e++) {
        float *place = &found->tensor[i].value[first + e];
        if (found->tensor[i].has[first + e] && memcmp(place, &value[e], sizeof *place))
            return tutti_fail(TUTTI_ERR_MISMATCH, "%s[%lld] differs between ranks that share it",
                name, (long long)(first + e));
        found->tensor[i].has[first + e] = 1;
        *place = value[e];
    }
    return TUTTI_OK;
}

/* The elements that this rank's block of a parameter, or of what is kept of it, would have if none were assigned. */
static int64_t count_block(const tutti_layer *layer, const tutti_step *step, const tutti_tensor *t)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    const int n = tutti_divided_parameters(layer, &step->placement, parameter);
    for (int p = 0; p < n; p++)
        if (strstr(t->name, parameter[p].suffix)) return tutti_shape_count(&parameter[p].shape);
    return tutti_shape_count(&t->shape);
}

static tutti_status note(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_layer *layer, const tutti_step *step, int tensor, int is_sharded)
{
    const tutti_tensor *t = tutti_graph_get_tensor(step->graph, tensor);
    const int divided = tutti_layer_is_divided(layer, &step->placement);
    const int64_t block = count_block(layer, step, t);
    int64_t first = is_sharded ? t->first : 0;
    float data[MOST_ELEMENTS];
    tutti_status status = tutti_run_read(runner, run, tensor, data, t->bytes);
    if (divided) first += job->placement.own.block * block;
    pthread_mutex_lock(&job->world->lock);
    if (!status)
        status = put(job->world->found, t->name, divided ? block * job->world->ranks : block, first,
            is_sharded ? t->owns : block, data);
    pthread_mutex_unlock(&job->world->lock);
    return status;
}

static tutti_status note_all(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const tutti_net *net, const tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < step->parameters && !status; p++)
        status = note(
            job, runner, run, &net->layer[step->parameter_layer[p]], step, step->parameter[p], 0);
    for (int p = 0; p < step->states && !status; p++)
        status = note(job, runner, run, &net->layer[step->state_layer[p]], step, step->state[p],
            step->state_sharded[p]);
    return status;
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
        double *sum = found->metric[n];
        for (int k = 0; k < step->accumulate - 1 && !status; k++)
            status = run_section(job, runner, run, step, tutti_step_section(step, k), n + 5, sum);
        if (!status) status = run_section(job, runner, run, step, step->train, n, sum);
    }
    if (!status) status = run_section(job, runner, run, step, step->eval, 3, found->metric[STEPS]);
    if (!status) status = note_all(job, runner, run, net, step);
    runner->close(run);
    return status;
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
    tutti_step_options recipe = w->recipe;
    tutti_exchange_options options = {.design = w->design,
        .lanes = lanes,
        .algorithm = "direct", /* sums do not depend on what else is in their bucket */
        .bucket_bytes = 1 << 10,
        .messages = 1,
        .verify = TUTTI_VERIFY_ON,
        .timeout_s = patience_s};
    tutti_status status = tutti_transport_loop(w->loop, job->placement.rank, lanes + 2, &transport);
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    recipe.placement = job->placement;
    if (w->stages > 1) {
        recipe.emission = TUTTI_EMISSION_1F1B;
        recipe.slots = w->stages - job->placement.own.stage;
    }
    if (!status) status = tutti_session_groups_make(exchange, &recipe.placement);
    if (!status) status = tutti_net_new(&net);
    if (!status) build_net(net);
    if (!status) status = tutti_step_build(net, &recipe, &step);
    if (!status) status = run_steps(job, exchange, net, step);
    tutti_step_free(step);
    tutti_net_free(net);
    tutti_status closed = tutti_exchange_close(exchange);
    job->status = status ? status : closed;
    return NULL;
}

/* ---- worlds ---- */

static char *describe(const world *w, char text[160])
{
    snprintf(text, 160,
        "%s, %d stages, %d replicas, divided by %d, %d micro-batches, %s, order %llu",
        w->design->name, w->stages, w->replicas, w->ranks, w->recipe.micro_batches,
        w->recipe.strategy ? w->recipe.strategy->name : "sync", (unsigned long long)w->order);
    return text;
}

static void run_world(world *w, findings *found)
{
    static rank_job job[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    const int ranks = w->stages * w->replicas;
    char what[160];
    tutti_loop_options late = {
        .eager_bytes = 256, .delay_s = w->order ? 100e-6 : 0, .seed = w->order};
    memset(found, 0, sizeof *found);
    w->found = found;
    ck_assert_int_eq(pthread_mutex_init(&w->lock, NULL), 0);
    ck_assert_ok(tutti_loop_world_new(ranks, &late, &w->loop));
    for (int r = 0; r < ranks; r++) {
        job[r] = (rank_job){.world = w,
            .placement = {.rank = r,
                .stages = w->stages,
                .replicas = w->replicas,
                .blocks = w->ranks,
                .divided_least = 1,
                .end = {5, 9}}};
        ck_assert_ok(tutti_placement_complete(&job[r].placement));
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(w->loop);
    pthread_mutex_destroy(&w->lock);
    for (int r = 0; r < ranks; r++)
        ck_assert_msg(!job[r].status, "%s: rank %d: %s", describe(w, what), r,
            tutti_status_name(job[r].status));
    for (int i = 0; i < found->tensors; i++)
        for (int64_t e = 0; e < found->tensor[i].count; e++)
            ck_assert_msg(found->tensor[i].has[e], "%s: nobody has %s[%lld]", describe(w, what),
                found->tensor[i].name, (long long)e);
}

/* within 0: the same bits. */
static void compare(const world *w, const findings *got, const findings *want, double within)
{
    char what[160];
    describe(w, what);
    ck_assert_int_eq(got->tensors, want->tensors);
    for (int i = 0; i < want->tensors; i++) {
        int k = 0;
        while (k < got->tensors && strcmp(got->tensor[k].name, want->tensor[i].name)) k++;
        ck_assert_msg(k < got->tensors, "%s: no %s", what, want->tensor[i].name);
        ck_assert_int_eq(got->tensor[k].count, want->tensor[i].count);
        for (int64_t e = 0; e < want->tensor[i].count; e++) {
            const double x = (double)got->tensor[k].value[e], y = (double)want->tensor[i].value[e];
            ck_assert_msg(fabs(x - y) <= within * (1 + fabs(y)), "%s: %s[%lld] is %g, not %g", what,
                want->tensor[i].name, (long long)e, x, y);
        }
    }
    for (int n = 0; n <= STEPS; n++)
        ck_assert_msg(fabs(got->metric[n][0] - want->metric[n][0]) <= within * 10,
            "%s: losses of step %d are %.9g, not %.9g", what, n, got->metric[n][0],
            want->metric[n][0]);
}

static const struct {
    int replicas, ranks;
    tutti_step_options recipe;
    double within;
} cases[] = {
    {2, 2, {.micro_batches = 1}, 1e-5},
    {2, 2, {.micro_batches = 3}, 1e-5}, /* of 3, 3 and 2 images */
    {4, 2, {.micro_batches = 2, .average_decay = 0.5}, 1e-5},
    {3, 3, {.micro_batches = 2, .accumulate = 3}, 1e-5},
    {4, 4, {.micro_batches = 4, .wire = TUTTI_BF16}, 2e-3},
    {4, 2, {.micro_batches = 2, .strategy = &tutti_strategy_sharded}, 1e-5},
    {4, 2, {.micro_batches = 2, .strategy = &tutti_strategy_sharded, .rule = &tutti_update_adam},
        1e-3},
    {4, 2, {.micro_batches = 2, .precision = TUTTI_BF16}, 2e-2},
};

START_TEST(divided_nets_train_as_whole_ones)
{
    static findings whole, first, got;
    if (cases[_i].recipe.precision == TUTTI_BF16 && !testing_computes_bf16("divided nets")) return;
    world w = {.stages = 1, .replicas = cases[_i].replicas, .recipe = cases[_i].recipe};
    w.recipe.batch = BATCH;
    w.recipe.momentum = 0.9f;
    w.recipe.weight_decay = 1e-3f;
    w.recipe.beta1 = 0.9;
    w.recipe.beta2 = 0.999;
    w.recipe.epsilon = 1e-3f;
    w.recipe.seed = 7;
    w.recipe.bytes = 1;
    for (int c = 0; c < CHANNELS; c++) w.recipe.mean[c] = w.recipe.deviation[c] = 0.5f;
    const int micro_batches = w.recipe.micro_batches;
    w.design = tutti_designs[0];
    run_world(&w, &whole);
    w.ranks = cases[_i].ranks;
    run_world(&w, &first);
    compare(&w, &first, &whole, cases[_i].within);
    for (int i = 0; tutti_designs[i]; i++) {
        w.design = tutti_designs[i];
        if (w.design->unsafe) continue;
        w.order = testing_seed(300) + (uint64_t)(_i * 100 + i);
        w.stages = BATCH % micro_batches == 0 ? 1 + i % 2 : 1;
        run_world(&w, &got);
        compare(&w, &got, &first, 0);
    }
}
END_TEST

/* ---- what is divided, and what is refused ---- */

static tutti_status build(const tutti_step_options *recipe, tutti_step **step)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    build_net(net);
    tutti_status status = tutti_step_build(net, recipe, step);
    tutti_net_free(net);
    return status;
}

static int64_t elements(const tutti_step *step, const char *name)
{
    return tutti_shape_count(
        &tutti_graph_get_tensor(step->graph, tutti_graph_find(step->graph, name))->shape);
}

START_TEST(a_rank_has_its_blocks_alone)
{
    tutti_step *step;
    tutti_step_options recipe = {.batch = 2,
        .micro_batches = 1,
        .placement = {.replicas = 2, .blocks = 2, .divided_least = 12 * 12}};
    ck_assert_ok(build(&recipe, &step));
    ck_assert_int_eq(elements(step, "fc1.weight"), 6 * SIDE * SIDE * CHANNELS);
    ck_assert_int_eq(elements(step, "m.fc2.weight"), 6 * 12);
    ck_assert_int_eq(elements(step, "fc2.bias"), 6);
    ck_assert_int_eq(elements(step, "fc3.weight"), 5 * 12);      /* 5 outputs */
    ck_assert_int_eq(elements(step, "fc4.weight"), CLASSES * 5); /* too few weights */
    tutti_step_free(step);
}
END_TEST

static const struct {
    tutti_step_options recipe;
    const char *says;
} refusals[] = {
    {{.placement = {.blocks = 3, .divided_least = 1}}, "groups of 3 do not go with 4 replicas"},
    {{.placement = {.blocks = 2}}, "at least 262144 weights"},
    {{.placement = {.blocks = 2, .divided_least = 1}, .clip_norm = 1},
        "clipping needs the length of whole"},
    {{.placement = {.blocks = 2, .divided_least = 1}, .rule = &tutti_update_lars, .trust = 1},
        "this update rule needs whole gradients"},
    {{.placement = {.blocks = 2, .divided_least = 1},
         .emission = TUTTI_EMISSION_1F1B,
         .slots = 1,
         .micro_batches = 3},
        "must be of one size"},
    {{.placement = {.blocks = 2, .divided_least = 1}, /* two pairs, and one */
         .emission = TUTTI_EMISSION_1F1B,
         .slots = 1,
         .batch = 6,
         .micro_batches = 2,
         .mixup = 0.4},
        "a batch of 6, in pairs, in 2 micro-batches"},
};

START_TEST(wrong_divisions_are_refused)
{
    tutti_step *step = NULL;
    tutti_step_options recipe = refusals[_i].recipe;
    if (!recipe.batch) recipe.batch = 4;
    recipe.placement.replicas = 4;
    if (!recipe.micro_batches) recipe.micro_batches = 1;
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(build(&recipe, &step), TUTTI_ERR_INVAL);
    ck_assert_msg(strstr(tutti_last_error(), refusals[_i].says) != NULL, "not \"%s\" in: %s",
        refusals[_i].says, tutti_last_error());
    tutti_log_set_level(TUTTI_LOG_WARN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("division");
    TCase *tcase = testing_case(suite, "division");
    tcase_add_loop_test(
        tcase, divided_nets_train_as_whole_ones, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, a_rank_has_its_blocks_alone);
    tcase_add_loop_test(
        tcase, wrong_divisions_are_refused, 0, (int)(sizeof refusals / sizeof *refusals));
    return testing_run(suite);
}
