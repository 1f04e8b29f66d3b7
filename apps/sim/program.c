#include "apps/sim/program.h"

#include "dag/base/log.h"
#include "dag/run/expected.h"
#include "dag/step/times.h"

#include <stdlib.h>
#include <string.h>

static tutti_status build_step(const tutti_sim_model *m, int rank, tutti_step **step)
{
    tutti_step_options o = m->recipe;
    o.placement = (tutti_placement){.ranks = m->ranks, .rank = rank, .replicas = m->ranks};
    tutti_status status = tutti_placement_complete(&o.placement);
    return status ? status : tutti_step_build(m->net, &o, step);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tutti_kernel_time *)a)->name, ((const tutti_kernel_time *)b)->name);
}

/* The step of rank 0 is the first, and stays: the names are its nodes'. */
static tutti_status measure(tutti_sim_model *m)
{
    const tutti_graph *graph = m->step[0]->graph;
    const int nodes = tutti_graph_nodes(graph);
    double *node_s = calloc((size_t)nodes + 1, sizeof *node_s);
    m->time = calloc((size_t)nodes + 1, sizeof *m->time);
    tutti_status status = node_s && m->time
                              ? tutti_graph_times(graph, m->step[0]->train, node_s)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d kernels", nodes);
    for (int n = 0; !status && n < nodes; n++)
        if (node_s[n] > 0)
            m->time[m->kernels++] =
                (tutti_kernel_time){tutti_graph_get_node(graph, n)->name, node_s[n]};
    qsort(m->time, (size_t)m->kernels, sizeof *m->time, by_name);
    free(node_s);
    return status;
}

tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    tutti_sim_times times, int ranks, tutti_sim_model *m)
{
    *m = (tutti_sim_model){.recipe = *recipe, .times = times, .ranks = ranks};
    m->step = calloc((size_t)ranks, sizeof *m->step);
    tutti_status status = m->step ? tutti_model_net(model, &model->input, &m->net)
                                  : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
    if (!status) status = build_step(m, 0, &m->step[0]);
    if (!status && times == TUTTI_SIM_MEASURED) status = measure(m);
    if (status) tutti_sim_model_close(m);
    return status;
}

void tutti_sim_model_close(tutti_sim_model *m)
{
    for (int r = 0; m->step && r < m->ranks; r++) tutti_step_free(m->step[r]);
    tutti_net_free(m->net);
    free(m->step);
    free(m->time);
    *m = (tutti_sim_model){.net = NULL};
}

static tutti_status build(void *ctx, int rank, tutti_graph **graph)
{
    tutti_sim_model *m = ctx;
    tutti_status status = m->step[rank] ? TUTTI_OK : build_step(m, rank, &m->step[rank]);
    if (!status) *graph = m->step[rank]->graph;
    return status;
}

/* Kernels that the exchange has added are counted. */
static double node_s(void *ctx, int rank, const tutti_graph *graph, int node)
{
    const tutti_sim_model *m = ctx;
    const tutti_kernel_time key = {tutti_graph_get_node(graph, node)->name, 0}, *found = NULL;
    (void)rank;
    if (m->kernels) found = bsearch(&key, m->time, (size_t)m->kernels, sizeof key, by_name);
    return found
               ? found->time_s
               : tutti_expected_s(graph, node, m->times == TUTTI_SIM_GPU ? TUTTI_CUDA : TUTTI_CPU);
}

tutti_sim_program tutti_sim_model_program(tutti_sim_model *m)
{
    return (tutti_sim_program){m, build, node_s};
}
