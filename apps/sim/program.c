#include "apps/sim/program.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/run/expected.h"
#include "dag/step/times.h"

#include <stdlib.h>

static tutti_status build_step(const tutti_sim_model *m, int rank, int ranks, tutti_step **step)
{
    tutti_step_options o = m->recipe;
    o.placement = (tutti_placement){.ranks = ranks, .rank = rank, .replicas = ranks};
    tutti_status status = tutti_placement_complete(&o.placement);
    return status ? status : tutti_step_build(m->net, &o, step);
}

static int by_name(const void *a, const void *b)
{
    const uint64_t x = ((const tutti_kernel_time *)a)->name,
                   y = ((const tutti_kernel_time *)b)->name;
    return (x > y) - (x < y);
}

/* Those of two ranks' step, which has all kernels of any number of ranks. */
static tutti_status measure(tutti_sim_model *m)
{
    tutti_step *step;
    tutti_status status = build_step(m, 0, 2, &step);
    if (status) return status;
    const int nodes = tutti_graph_nodes(step->graph);
    double *node_s = calloc((size_t)nodes + 1, sizeof *node_s);
    m->time = calloc((size_t)nodes + 1, sizeof *m->time);
    status = node_s && m->time ? tutti_graph_times(step->graph, step->train, node_s)
                               : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d kernels", nodes);
    for (int n = 0; !status && n < nodes; n++) {
        const char *name = tutti_graph_get_node(step->graph, n)->name;
        if (node_s[n] > 0)
            m->time[m->kernels++] = (tutti_kernel_time){tutti_rng_stream(name), node_s[n]};
    }
    qsort(m->time, (size_t)m->kernels, sizeof *m->time, by_name);
    free(node_s);
    tutti_step_free(step);
    return status;
}

tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    tutti_sim_times times, tutti_sim_model *m)
{
    *m = (tutti_sim_model){.recipe = *recipe, .times = times};
    tutti_status status = tutti_model_net(model, &model->input, &m->net);
    if (!status && times == TUTTI_SIM_MEASURED) status = measure(m);
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

static tutti_status build(void *ctx, int rank, tutti_graph **graph)
{
    tutti_sim_model *m = ctx;
    tutti_status status = build_step(m, rank, m->ranks, &m->step[rank]);
    if (!status) *graph = m->step[rank]->graph;
    return status;
}

/* Kernels that the exchange has added are counted. */
static double node_s(void *ctx, int rank, const tutti_graph *graph, int node)
{
    const tutti_sim_model *m = ctx;
    const tutti_kernel_time *found = NULL;
    (void)rank;
    if (m->kernels) {
        const tutti_kernel_time key = {
            tutti_rng_stream(tutti_graph_get_node(graph, node)->name), 0};
        found = bsearch(&key, m->time, (size_t)m->kernels, sizeof key, by_name);
    }
    return found
               ? found->time_s
               : tutti_expected_s(graph, node, m->times == TUTTI_SIM_GPU ? TUTTI_CUDA : TUTTI_CPU);
}

tutti_status tutti_sim_model_program(tutti_sim_model *m, int ranks, tutti_sim_program *program)
{
    drop_steps(m);
    m->step = calloc((size_t)ranks, sizeof *m->step);
    if (!m->step) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
    m->ranks = ranks;
    *program = (tutti_sim_program){m, build, node_s};
    return TUTTI_OK;
}
