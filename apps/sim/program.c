#include "apps/sim/program.h"

#include "apps/session/groups.h"
#include "apps/session/rank_step.h"
#include "dag/base/log.h"
#include "dag/run/expected.h"
#include "dag/step/strategy.h"
#include "dag/step/times.h"

#include <stdlib.h>

static int is_layout(const tutti_placement *p)
{
    return p->stages || p->replicas || p->blocks || p->clients || p->servers;
}

static tutti_status build_step(const tutti_sim_model *m, int rank, int ranks, tutti_step **step)
{
    tutti_step_options o = m->recipe;
    tutti_placement p;
    tutti_status status = tutti_layout_place(&m->layout, ranks, rank, &p);
    o.micro_batches = tutti_layout_micro_batches(
        &m->layout, o.batch, o.batch < m->workers ? (int)o.batch : m->workers);
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

/* Ranks of the first replica, and those that serve, have all kernels. */
static tutti_status measure(tutti_sim_model *m, int ranks)
{
    tutti_placement p;
    tutti_status status = tutti_layout_place(&m->layout, ranks, 0, &p);
    for (int r = 0; !status && r < ranks; r++) {
        const tutti_rank_role role = tutti_placement_role(&p, r);
        tutti_step *step;
        if (role.works && !role.serves && role.replica > 0) continue;
        status = build_step(m, r, ranks, &step);
        if (status) return status;
        status = measure_step(m, step);
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

tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    tutti_sim_times times, tutti_sim_model *m)
{
    *m = (tutti_sim_model){.model = model, .recipe = *recipe, .times = times};
    tutti_status status = check_strategy(recipe->strategy);
    if (!status) status = tutti_model_net(model, &model->input, &m->net);
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

/* Kernels that the exchange has added are counted, and those of which a rank has only a part since. */
static double node_s(void *ctx, int rank, const tutti_graph *graph, int node)
{
    const tutti_sim_model *m = ctx;
    (void)rank;
    const tutti_kernel_time *found =
        m->kernels ? find_time(m, tutti_graph_kernel_hash(graph, node)) : NULL;
    return found
               ? found->time_s
               : tutti_expected_s(graph, node, m->times == TUTTI_SIM_GPU ? TUTTI_CUDA : TUTTI_CPU);
}

tutti_status tutti_sim_model_program(tutti_sim_model *m, const tutti_layout *layout, int ranks,
    int workers, tutti_sim_program *program)
{
    tutti_placement p;
    drop_steps(m);
    m->layout = *layout;
    m->workers = workers;
    tutti_status status = tutti_layout_place(layout, ranks, 0, &p);
    if (!status && m->times == TUTTI_SIM_MEASURED) status = measure(m, ranks);
    if (status) return status;
    m->step = calloc((size_t)ranks, sizeof *m->step);
    if (!m->step) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
    m->ranks = ranks;
    *program =
        (tutti_sim_program){.ctx = m, .build = build, .finalize = finalize, .node_s = node_s};
    return TUTTI_OK;
}

void tutti_sim_model_exchange(
    const tutti_sim_model *m, const tutti_layout *layout, tutti_exchange_options *exchange)
{
    const tutti_placement *p = &layout->placement;
    exchange->messages = tutti_rank_step_messages(p, m->recipe.strategy);
    exchange->algorithm =
        tutti_rank_step_algorithm(is_layout(p) || m->recipe.strategy, exchange->algorithm);
}
