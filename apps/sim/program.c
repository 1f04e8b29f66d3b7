#include "apps/sim/program.h"

#include "apps/session/groups.h"
#include "apps/session/rank_step.h"
#include "dag/base/log.h"
#include "dag/net/layer.h"
#include "dag/run/expected.h"
#include "dag/step/costs.h"
#include "dag/step/strategy.h"
#include "dag/step/times.h"

#include <stdlib.h>
#include <string.h>

static int is_layout(const tutti_placement *p)
{
    return p->stages || p->replicas || p->blocks || p->clients || p->servers;
}

static int micro_batches(const tutti_sim_model *m)
{
    const int64_t parts = tutti_step_parts(&m->recipe);
    return tutti_layout_micro_batches(
        &m->layout, parts, parts < m->workers ? (int)parts : m->workers);
}

static tutti_status build_step(const tutti_sim_model *m, int rank, int ranks, tutti_step **step)
{
    tutti_step_options o = m->recipe;
    tutti_placement p;
    tutti_status status = tutti_layout_place(&m->layout, ranks, rank, &p);
    o.micro_batches = micro_batches(m);
    if (!status)
        status = tutti_rank_step_complete(&m->layout, m->model->name, m->net, m->workers, &p, &o);
    return status ? status : tutti_step_build(m->net, &o, step);
}

/* ---- times ---- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const tutti_kernel_time *)a)->key, y = ((const tutti_kernel_time *)b)->key;
    return (x > y) - (x < y);
}

static tutti_kernel_time *find_time(const tutti_sim_model *m, uint64_t key)
{
    const tutti_kernel_time wanted = {key, 0};
    return m->kernels ? bsearch(&wanted, m->time, (size_t)m->kernels, sizeof wanted, by_key) : NULL;
}

static tutti_status add_time(tutti_sim_model *m, uint64_t key, double time_s)
{
    tutti_kernel_time *larger = realloc(m->time, (size_t)(m->kernels + 1) * sizeof *larger);
    if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d kernels", m->kernels + 1);
    m->time = larger;
    m->time[m->kernels++] = (tutti_kernel_time){key, time_s};
    qsort(m->time, (size_t)m->kernels, sizeof *m->time, by_key);
    return TUTTI_OK;
}

/* Times the kernels of a step that have not been timed. */
static tutti_status measure_step(tutti_sim_model *m, const tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int n = 0; !status && n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        double time_s;
        if (node->kind != TUTTI_NODE_KERNEL || node->section != step->train) continue;
        const uint64_t key = tutti_graph_kernel_hash(step->graph, n);
        if (find_time(m, key)) continue;
        status = tutti_graph_time(step->graph, n, &time_s);
        if (!status) status = add_time(m, key, time_s);
    }
    return status;
}

/* Whether a trace has this kernel of a step. What adds up micro-batches depends on how many there are. On a GPU one
 * launch, whose span has another name, may run several updates. */
static int must_be_traced(const tutti_sim_model *m, const tutti_step *step, const tutti_node *node)
{
    return node->kind == TUTTI_NODE_KERNEL && node->section == step->train &&
           node->op->part != TUTTI_PART_SUM &&
           !(m->traced.on_gpu && node->op->part == TUTTI_PART_UPDATE);
}

/* Whether a trace has all kernels of a step. */
static tutti_status check_step(const tutti_sim_model *m, const tutti_step *step)
{
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        if (must_be_traced(m, step, node) && !find_time(m, tutti_trace_times_key(node->name)))
            return tutti_fail(TUTTI_ERR_USAGE,
                "--times %s: the trace has no kernel %s, which this run of %s has: trace a run "
                "with its layout and options",
                m->path, node->name, m->model->name);
    }
    return TUTTI_OK;
}

static tutti_status check_traced(const tutti_sim_model *m)
{
    const tutti_placement *p = &m->layout.placement;
    const int blocks = p->blocks > 1 ? p->blocks : 1, parts = micro_batches(m);
    const int64_t images = (m->recipe.batch + parts - 1) / parts;
    if (m->traced.images != images)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--times %s: kernels of micro-batches of %lld images, but this run's have %lld (a "
            "batch "
            "of %lld in %d): choose --batch and --micro-batches as in the traced run",
            m->path, (long long)m->traced.images, (long long)images, (long long)m->recipe.batch,
            parts);
    if (m->traced.blocks != blocks)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--times %s: kernels of a run with split=%d, but --layout has split=%d: trace a run "
            "with "
            "the same split",
            m->path, m->traced.blocks, blocks);
    return TUTTI_OK;
}

/* Measures the kernels of all ranks, or checks that there are times of them: on the first replica, and on ranks that
 * serve. Other replicas have the same, but for where in the batch and in divided layers they begin. */
static tutti_status know_kernels(tutti_sim_model *m, int ranks)
{
    tutti_placement p;
    tutti_status status = tutti_layout_place(&m->layout, ranks, 0, &p);
    if (!status && m->times == TUTTI_SIM_TRACED) status = check_traced(m);
    for (int r = 0; !status && r < ranks; r++) {
        const tutti_rank_role role = tutti_placement_role(&p, r);
        tutti_step *step;
        if (role.works && !role.serves && role.replica > 0) continue;
        status = build_step(m, r, ranks, &step);
        if (status) return status;
        status = m->times == TUTTI_SIM_TRACED ? check_step(m, step) : measure_step(m, step);
        tutti_step_free(step);
    }
    return status;
}

/* ---- the model ---- */

static tutti_status check_strategy(const tutti_strategy *s)
{
    if (!s || (!s->alone && !s->mixings && !s->pushes && !s->uses_store)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--strategy %s: only strategies that sum gradients in every step are simulated: sync, "
        "sharded, rooted",
        s->name);
}

static tutti_status read_trace(tutti_sim_model *m, const char *path)
{
    tutti_status status = tutti_trace_times_read(path, &m->traced);
    if (status) return status;
    m->path = path;
    m->time = m->traced.time;
    m->kernels = m->traced.kernels;
    m->input = m->traced.input;
    m->recipe.rectifies = m->traced.on_gpu;
    if (strcmp(m->traced.model, m->model->name) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--times %s: times of %s, not of %s: trace a run of that, or name this model", path,
        m->traced.model, m->model->name);
}

static const char *const times_words[] = {
    [TUTTI_SIM_MEASURED] = "measured", [TUTTI_SIM_CPU] = "cpu", [TUTTI_SIM_GPU] = "gpu"};

tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    const char *times, tutti_sim_model *m)
{
    *m = (tutti_sim_model){.model = model, .input = model->input, .recipe = *recipe, .scale = 1};
    while (m->times < TUTTI_SIM_TRACED && strcmp(times_words[m->times], times) != 0) m->times++;
    tutti_status status = check_strategy(recipe->strategy);
    if (!status && m->times == TUTTI_SIM_TRACED) status = read_trace(m, times);
    if (!status) status = tutti_model_net(model, &m->input, &m->net);
    if (status) tutti_sim_model_close(m);
    return status;
}

static void drop_steps(tutti_sim_model *m)
{
    for (int r = 0; r < m->ranks; r++) tutti_step_free(m->step[r]);
    free(m->step);
    m->step = NULL;
    m->ranks = 0;
}

void tutti_sim_model_close(tutti_sim_model *m)
{
    drop_steps(m);
    tutti_net_free(m->net);
    free(m->time);
    *m = (tutti_sim_model){.net = NULL};
}

/* ---- as a program ---- */

static tutti_status build(void *ctx, int rank, tutti_exchange *exchange, tutti_graph **graph)
{
    tutti_sim_model *m = ctx;
    tutti_status status = build_step(m, rank, m->ranks, &m->step[rank]);
    if (!status) status = tutti_session_groups_make(exchange, &m->step[rank]->placement);
    if (!status) *graph = m->step[rank]->graph;
    return status;
}

static tutti_status finalize(void *ctx, int rank)
{
    return tutti_step_finalize(((tutti_sim_model *)ctx)->step[rank]);
}

/* Which part of its weights an update is of; 1 for all else. */
static double share_of(const tutti_graph *graph, const tutti_node *node)
{
    for (int a = 0; a < node->accesses && node->op->part == TUTTI_PART_UPDATE; a++) {
        const tutti_tensor *t = tutti_graph_get_tensor(graph, node->access[a].tensor);
        if (t->role == TUTTI_ROLE_PARAMETER && (node->access[a].mode & TUTTI_WRITE))
            return (double)t->owns / (double)tutti_shape_count(&t->shape);
    }
    return 1;
}

/* What a kernel took by its name; < 0: the trace does not say it. An update that the strategy divides has the name of a
 * whole one: a part takes its share of that; parts do not say what the whole takes. */
static double traced_s(const tutti_sim_model *m, const tutti_graph *graph, const tutti_node *node)
{
    const tutti_kernel_time *found = find_time(m, tutti_trace_times_key(node->name));
    const int shards = m->recipe.strategy && m->recipe.strategy->shards;
    if (!found || (node->op->part == TUTTI_PART_UPDATE && m->traced.shards && !shards)) return -1;
    return m->traced.shards ? found->time_s : found->time_s * share_of(graph, node);
}

static double known_s(const tutti_sim_model *m, const tutti_graph *graph, int node)
{
    if (!m->kernels) return -1;
    if (m->times == TUTTI_SIM_TRACED) return traced_s(m, graph, tutti_graph_get_node(graph, node));
    const tutti_kernel_time *found = find_time(m, tutti_graph_kernel_hash(graph, node));
    return found ? found->time_s : -1;
}

/* Operations and bytes say what a kernel takes if it was neither measured nor traced: the exchange has added it, or cut
 * it into parts, or it sums another number of micro-batches. */
static double node_s(void *ctx, int rank, const tutti_graph *graph, int node)
{
    const tutti_sim_model *m = ctx;
    (void)rank;
    const int on_gpu = m->times == TUTTI_SIM_GPU || m->traced.on_gpu;
    const double time_s = known_s(m, graph, node);
    return m->scale *
           (time_s < 0 ? tutti_expected_s(graph, node, on_gpu ? TUTTI_CUDA : TUTTI_CPU) : time_s);
}

tutti_status tutti_sim_model_program(tutti_sim_model *m, const tutti_layout *layout, int ranks,
    int workers, tutti_sim_program *program)
{
    tutti_placement p;
    drop_steps(m);
    m->layout = *layout;
    m->workers = workers;
    tutti_status status = tutti_layout_place(layout, ranks, 0, &p);
    if (!status && (m->times == TUTTI_SIM_MEASURED || m->times == TUTTI_SIM_TRACED))
        status = know_kernels(m, ranks);
    if (status) return status;
    m->step = calloc((size_t)ranks, sizeof *m->step);
    if (!m->step) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
    m->ranks = ranks;
    *program =
        (tutti_sim_program){.ctx = m, .build = build, .finalize = finalize, .node_s = node_s};
    return TUTTI_OK;
}

static int is_kernel(const tutti_step *step, const tutti_node *node)
{
    return node->section == step->train && node->kind == TUTTI_NODE_KERNEL;
}

tutti_status tutti_sim_model_pace(tutti_sim_model *m, double images_per_s)
{
    const tutti_layout none = {.micro_batches = 1};
    const tutti_strategy *strategy = m->recipe.strategy;
    tutti_sim_program program;
    tutti_step *step;
    double all_s = 0;
    if (m->times == TUTTI_SIM_TRACED)
        return tutti_fail(
            TUTTI_ERR_INVAL, "--images-per-s: --times %s says what kernels take", m->path);
    m->recipe.strategy = NULL;
    tutti_status status = tutti_sim_model_program(m, &none, 1, 1, &program);
    if (!status) status = build_step(m, 0, 1, &step);
    m->recipe.strategy = strategy;
    if (status) return status;
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++)
        if (is_kernel(step, tutti_graph_get_node(step->graph, n)))
            all_s += node_s(m, 0, step->graph, n);
    tutti_step_free(step);
    m->scale *= (double)m->recipe.batch / images_per_s / all_s;
    return TUTTI_OK;
}

/* Adds to each layer what its kernels take. */
static void add_layers(
    tutti_sim_model *m, const tutti_step *step, double forward_s[], double backward_s[])
{
    int l = 0;
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        if (!is_kernel(step, node)) continue;
        const int found = tutti_net_layer_of(m->net, node->name, l);
        if (found < 0) continue;
        l = found;
        if (node->op->part == TUTTI_PART_FORWARD) forward_s[l] += node_s(m, 0, step->graph, n);
        if (node->op->part == TUTTI_PART_BACKWARD) backward_s[l] += node_s(m, 0, step->graph, n);
    }
}

tutti_status tutti_sim_model_layers(
    tutti_sim_model *m, int64_t images, double forward_s[], double backward_s[])
{
    const tutti_layout none = {.micro_batches = 1};
    tutti_sim_program program;
    tutti_step *step;
    m->recipe.batch = images;
    m->recipe.strategy = NULL;
    tutti_status status = tutti_sim_model_program(m, &none, 1, 1, &program);
    if (!status) status = build_step(m, 0, 1, &step);
    if (status) return status;
    for (int l = 0; l < m->net->layers; l++) forward_s[l] = backward_s[l] = 0;
    add_layers(m, step, forward_s, backward_s);
    tutti_step_free(step);
    return TUTTI_OK;
}

void tutti_sim_model_exchange(
    const tutti_sim_model *m, const tutti_layout *layout, tutti_exchange_options *exchange)
{
    const tutti_placement *p = &layout->placement;
    if (tutti_placement_is_divided(p)) exchange->order.on = 0;
    exchange->messages = tutti_rank_step_messages(p, m->recipe.strategy);
    exchange->algorithm =
        tutti_rank_step_algorithm(is_layout(p) || m->recipe.strategy, exchange->algorithm);
}
