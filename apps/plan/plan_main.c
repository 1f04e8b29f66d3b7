/* tutti-plan: in which layout a model trains fastest on a machine. See tutti-plan(1). */
#include "apps/architecture/architecture.h"
#include "apps/plan/report.h"
#include "collectives/links/run.h"
#include "collectives/links/topology_text.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "designs/exchange/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *model, *topology, *design, *algorithm, *verify, *times;
    tutti_conf_int ranks, batch, lanes;
    tutti_conf_real bucket_mb, chunk_mb, memory_gb;
    int64_t workers, simulate;
    int json;
} options;

#define AT(member) .offset = offsetof(options, member)

static const tutti_setting settings[] = {{TUTTI_CONF_HEADING, .help = "Arguments"},
    {TUTTI_CONF_TEXT, "model", "MODEL", .flags = TUTTI_CONF_REQUIRED | TUTTI_CONF_OPERAND,
        AT(model),
        .help = "what is trained (tutti-info --list models); or FILE.json, FILE.onnx "
                "(tutti-network(5))"},
    {TUTTI_CONF_HEADING, .help = "Machine"},
    {TUTTI_CONF_TEXT, "topology", "NAME", .flags = TUTTI_CONF_REQUIRED, AT(topology),
        .help = "the links: a family or a file (tutti-topology(5))"},
    {TUTTI_CONF_INT_OR, "ranks", "P", .fallback = "all", .low = 1, .high = 65536, .words = {"all"},
        AT(ranks), .help = "ranks, the topology's first"},
    {TUTTI_CONF_INT, "workers", "N", .fallback = "1", .low = 1, .high = 256, AT(workers),
        .help = "workers of each rank"},
    {TUTTI_CONF_TEXT, "times", "HOW", .fallback = "measured", AT(times),
        .help = "what kernels take: measured, cpu, gpu, or the file of a trace, as of tutti-sim"},
    {TUTTI_CONF_REAL_OR, "memory-gb", "X", .fallback = "any", .low = 0.001, .high = 1e6,
        .words = {"any"}, AT(memory_gb), .help = "what tensors of a rank may take"},
    {TUTTI_CONF_HEADING, .help = "Run"},
    {TUTTI_CONF_INT_OR, "batch", "MB", .fallback = "auto", .low = 1, .high = 1e9, .words = {"auto"},
        AT(batch), .help = "images per step, of all ranks; auto: 32 for each rank"},
    TUTTI_SETTING_DESIGN(AT(design)), TUTTI_SETTING_LANES(AT(lanes)),
    TUTTI_SETTING_ALGORITHM(AT(algorithm)), TUTTI_SETTING_VERIFY(AT(verify)),
    TUTTI_SETTING_BUCKET_MB(AT(bucket_mb)), TUTTI_SETTING_CHUNK_MB(AT(chunk_mb)),
    {TUTTI_CONF_INT, "simulate", "N", .fallback = "8", .low = 1, .high = 1000, AT(simulate),
        .help = "how many layouts are simulated, of those that are expected to be fastest"},
    {TUTTI_CONF_FLAG, "json", AT(json), .help = "print one JSON object instead of text"}, {0}};

static const tutti_conf_brief brief[] = {{"topology", NULL}, {"ranks", NULL}, {"workers", NULL},
    {"times", NULL}, {"memory-gb", NULL}, {"batch", NULL}, {"design", NULL}, {"simulate", NULL},
    {"json", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-plan",
    .usage = "MODEL --topology NAME [OPTION]...",
    .summary = "Finds the layout in which a model trains fastest on a machine: what each layer "
               "costs if data, the model or both are divided, and simulated steps of the layouts "
               "that promise most.",
    .settings = settings,
    .brief = brief,
};

typedef struct planner {
    const options *o;
    const tutti_topology *topology;
    tutti_plan_rank rank;
    tutti_sim_model model;
    tutti_plan plan;
} planner;

static tutti_sim_options simulation_of(const planner *p, const tutti_plan_layout *c)
{
    const options *o = p->o;
    const int warm = tutti_placement_is_divided(&c->layout.placement) ? 2 : TUTTI_SIM_SEEN + 1;
    tutti_sim_options s = {.topology = p->topology,
        .ranks = p->plan.ranks,
        .workers = (int)o->workers,
        .steps = warm + 2,
        .warm = warm,
        .exchange = {.design = tutti_design_find(o->design),
            .lanes = (int)tutti_conf_int_or(o->lanes, 0),
            .algorithm = o->algorithm,
            .topology = strcmp(o->algorithm, "priced") == 0 ? o->topology : NULL,
            .verify = tutti_verify_mode_find(o->verify),
            .order = {.on = 1, .at = TUTTI_SIM_SEEN},
            .bucket_bytes = tutti_conf_bytes(o->bucket_mb),
            .chunk_bytes = tutti_conf_bytes(o->chunk_mb)}};
    tutti_sim_model_exchange(&p->model, &c->layout, &s.exchange);
    return s;
}

/* What the tensors of the rank that has most take. */
static double memory_of(const tutti_sim_model *m)
{
    double most = 0;
    for (int r = 0; r < m->ranks; r++) {
        const tutti_graph *g = m->step[r]->graph;
        double bytes = 0;
        for (int t = 0; t < tutti_graph_tensors(g); t++)
            bytes += (double)tutti_graph_get_tensor(g, t)->bytes;
        if (bytes > most) most = bytes;
    }
    return most;
}

static tutti_status simulate(planner *p, tutti_plan_layout *c)
{
    tutti_sim_program program;
    tutti_sim_result result;
    p->model.recipe.batch = c->batch;
    p->model.recipe.strategy = c->strategy;
    const tutti_sim_options s = simulation_of(p, c);
    tutti_status status = tutti_exchange_check_options(&s.exchange);
    if (!status)
        status = tutti_sim_model_program(
            &p->model, &c->layout, p->plan.ranks, (int)p->o->workers, &program);
    if (!status) status = tutti_sim_run(&s, &program, NULL, &result);
    if (status) return status;
    c->simulated = 1;
    c->step_s = result.step_s;
    c->messages = (double)result.messages / s.steps;
    c->memory = memory_of(&p->model);
    return TUTTI_OK;
}

static int fits(const planner *p, const tutti_plan_layout *c)
{
    return c->memory <= 1e9 * tutti_conf_real_or(p->o->memory_gb, 1e9);
}

/* Simulates one, unless it was, and compares it with the fastest two that fit. */
static tutti_status try_layout(planner *p, tutti_plan_layout *c)
{
    tutti_plan *plan = &p->plan;
    tutti_status status = c->simulated ? TUTTI_OK : simulate(p, c);
    if (status || !fits(p, c)) return status;
    if (!plan->best || c->step_s < plan->best->step_s) {
        plan->second = plan->best;
        plan->best = c;
    } else if (!plan->second || c->step_s < plan->second->step_s) {
        plan->second = c;
    }
    return TUTTI_OK;
}

static int is_plain(const tutti_plan_layout *c)
{
    return !c->strategy && !c->layout.placement.replicas;
}

/* Those with sync, and that of replicas; one whose kernels alone take longer than a step is worth no simulation. */
static tutti_status try_first(planner *p, int64_t most)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; !status && i < p->plan.layouts.count; i++) {
        tutti_plan_layout *c = &p->plan.layouts.layout[i];
        const int slow = p->plan.best && c->kernels_s > p->plan.best->step_s;
        if (c->strategy || (!is_plain(c) && (slow || most <= 0))) continue;
        status = try_layout(p, c);
        most--;
    }
    return status;
}

/* The same with sharded: of the two fastest, or of all while none fits. */
static tutti_status try_sharded(planner *p)
{
    tutti_plan *plan = &p->plan;
    const tutti_plan_layout *first = plan->best, *second = plan->second;
    tutti_status status = TUTTI_OK;
    for (int i = 0; !status && i + 1 < plan->layouts.count; i++) {
        tutti_plan_layout *c = &plan->layouts.layout[i];
        if (!c->simulated || c->strategy || !c[1].strategy) continue;
        if (first ? c == first || c == second : 1) status = try_layout(p, &c[1]);
    }
    return status;
}

static tutti_status simulate_best(planner *p)
{
    enum { SHARDED = 2 };
    const int64_t most = p->o->simulate;
    tutti_status status = try_first(p, most > SHARDED ? most - SHARDED : most);
    if (!status) status = try_sharded(p);
    if (!status && !p->plan.best)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--memory-gb %g: none of the layouts that were simulated fits: use a smaller --batch, "
            "or a larger --simulate",
            p->o->memory_gb.value);
    return status;
}

/* What is known of all ranks: the longest way of a message from the first one. */
static tutti_status describe_rank(planner *p)
{
    const tutti_topology *t = p->topology;
    const tutti_point_kind *kind = tutti_topology_kind_of(t, 0);
    int64_t *latency = malloc((size_t)t->points * sizeof *latency), longest = 0;
    int *links = malloc((size_t)t->points * sizeof *links);
    tutti_status status = latency && links
                              ? tutti_topology_distances(t, t->rank_point[0], latency, links)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory for distances");
    for (int r = 0; !status && r < p->plan.ranks; r++)
        if (latency[t->rank_point[r]] > longest) longest = latency[t->rank_point[r]];
    free(latency);
    free(links);
    p->rank.workers = (int)p->o->workers;
    p->rank.latency_s = 1e-12 * (double)longest + kind->send_s + kind->recv_s;
    return status ? status : tutti_topology_ring_rate(t, p->plan.ranks, &p->rank.rate);
}

static tutti_status open_model(const options *o, tutti_sim_model *m)
{
    const tutti_model *model;
    const tutti_step_options recipe = {
        .momentum = 0.9f, .nesterov = 1, .weight_decay = 5e-4f, .adds_norms = 1};
    tutti_status status = tutti_architecture_open(o->model, &model);
    if (status) return status;
    return tutti_sim_model_open(model, &recipe, o->times, m);
}

/* A plan asks what whole layers take. */
static tutti_status check_times(const tutti_sim_model *m)
{
    if (m->times != TUTTI_SIM_TRACED || m->traced.blocks <= 1) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--times %s: it is of a run with split=%d: a plan needs the trace of one without split",
        m->path, m->traced.blocks);
}

static tutti_status make_plan(planner *p)
{
    const options *o = p->o;
    tutti_plan *plan = &p->plan;
    *plan = (tutti_plan){.model = o->model,
        .topology = o->topology,
        .ranks = (int)tutti_conf_int_or(o->ranks, p->topology->ranks)};
    plan->batch = tutti_conf_int_or(o->batch, 32 * (int64_t)plan->ranks);
    if (plan->ranks > p->topology->ranks)
        return tutti_fail(TUTTI_ERR_USAGE, "--ranks %d: --topology %s has %d", plan->ranks,
            o->topology, p->topology->ranks);
    tutti_status status = describe_rank(p);
    if (!status) status = check_times(&p->model);
    if (!status)
        status = tutti_plan_layers_open(
            &p->model, plan->batch, plan->ranks, p->rank.workers, p->rank.rate, &plan->layers);
    if (!status)
        status = tutti_plan_layouts_list(
            &p->model, &plan->layers, plan->batch, plan->ranks, &p->rank, &plan->layouts);
    return status ? status : simulate_best(p);
}

static int exit_status_of(tutti_status status)
{
    switch (status) {
    case TUTTI_OK:
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
    case TUTTI_ERR_USAGE:
    case TUTTI_ERR_FORMAT:
    case TUTTI_ERR_INVAL:
        return 2;
    default:
        return EXIT_FAILURE;
    }
}

int main(int argc, char **argv)
{
    options o = {0};
    planner p = {.o = &o};
    tutti_topology *t;
    int go;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    tutti_status status = tutti_topology_open(o.topology, &t);
    if (status) return exit_status_of(status);
    p.topology = t;
    status = open_model(&o, &p.model);
    if (!status) {
        status = make_plan(&p);
        if (!status && o.json)
            status = tutti_plan_print_json(&p.plan);
        else if (!status)
            tutti_plan_print(&p.plan);
        tutti_plan_layers_close(&p.plan.layers);
        tutti_plan_layouts_free(&p.plan.layouts);
        tutti_sim_model_close(&p.model);
    }
    tutti_topology_free(t);
    return exit_status_of(status);
}
