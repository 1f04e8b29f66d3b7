#include "apps/session/session.h"

#include "apps/session/device.h"
#include "apps/session/engines.h"
#include "apps/session/groups.h"
#include "apps/session/model_step.h"
#include "collectives/choose.h"
#include "collectives/links/run.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

static tutti_status expect(
    const tutti_training_session *s, tutti_training_level level, const char *call)
{
    static const char *const names[] = {"closed", "open", "built", "applied", "started"};
    if (s->level == level) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "a training session that is %s cannot %s: it must be %s",
        names[s->level], call, names[level]);
}

/* ---- open ---- */

static tutti_status find_runner(const char *name, const tutti_runner **runner)
{
    char known[256] = "";
    *runner = tutti_runner_find(name ? name : "starpu");
    if (*runner) return TUTTI_OK;
    for (int i = 0; tutti_runners[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", tutti_runners[i]->name);
    }
    return tutti_fail(TUTTI_ERR_INVAL, "no runner \"%s\"; known: %s", name, known);
}

/* These options with what belongs to the session. */
static tutti_exchange_options exchange_options(
    const tutti_training_session *s, const tutti_exchange_options *exchange)
{
    tutti_exchange_options options = *exchange;
    options.workers = s->options.workers;
    options.meter = s->meter;
    options.trace = s->trace;
    options.choose_transport = tutti_session_transport_open;
    options.choose_ctx = s->transport;
    return options;
}

/* Memory of its own, because a thread of the exchange may use it after TIMEOUT. */
static tutti_status make_transport(tutti_training_session *s)
{
    const tutti_training_session_options *o = &s->options;
    s->transport = malloc(sizeof *s->transport);
    if (!s->transport) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a training session");
    *s->transport = (tutti_session_transport){
        .word = o->transport, .device = o->device, .place = o->place, .aware = o->cuda_aware};
    if (tutti_algorithm_is_library(o->exchange.algorithm))
        s->transport->needs = "--algorithm mpi is MPI's own";
    return TUTTI_OK;
}

/* Over a transport that is not MPI's. */
static tutti_status open_over(tutti_training_session *s, const tutti_exchange_options *options)
{
    const int lanes = tutti_exchange_transport_lanes(options);
    tutti_transport *ranks;
    tutti_status status = s->options.connect(s->options.connect_ctx, lanes, &ranks);
    if (status) return status;
    status = tutti_session_transport_over(s->transport, ranks, options->setup_timeout_s);
    if (!status) return tutti_exchange_open_over(ranks, options, &s->exchange);
    tutti_transport_close(ranks);
    return status;
}

static tutti_status open_exchange(tutti_training_session *s)
{
    tutti_status made = make_transport(s);
    if (made) return made;
    const tutti_exchange_options options = exchange_options(s, &s->options.exchange);
    tutti_status status = s->options.connect ? open_over(s, &options)
                          : s->options.comm
                              ? tutti_exchange_attach(s->options.comm, &options, &s->exchange)
                              : tutti_exchange_open(&options, &s->exchange);
    if (status) return status;
    const tutti_topology *links = tutti_exchange_topology(s->exchange);
    s->place = s->transport->place;
    if (!links) return TUTTI_OK;
    return tutti_topology_ring_rate(links, links->ranks, &s->options.layout.link_bytes_per_s);
}

/* Which part of the work this rank has. */
static tutti_status take_place(tutti_training_session *s)
{
    const tutti_layout *l = &s->options.layout;
    const int alone = l->placement.replicas ? l->placement.replicas : 1;
    const int ranks = s->exchange ? tutti_exchange_size(s->exchange) : alone;
    const int rank = s->exchange ? tutti_exchange_rank(s->exchange) : l->placement.rank;
    tutti_status status = tutti_layout_place(l, ranks, rank, &s->placement);
    return status ? status : tutti_session_groups_make(s->exchange, &s->placement);
}

/* Closes what has failed to open. */
static void give_up(tutti_training_session *s, tutti_status status)
{
    if (status == TUTTI_ERR_TIMEOUT) /* a thread of the exchange may still use the rest */
        *s = (tutti_training_session){0};
    else
        tutti_training_session_close(s);
}

/* Where this rank computes, without an exchange. */
static tutti_status take_device(tutti_training_session *s)
{
    double offers[TUTTI_DEVICE_OFFER];
    s->place = s->options.place;
    if (!s->options.device) return TUTTI_OK;
    tutti_device_offer(0, 1, offers);
    return tutti_device_choose(s->options.device, 0, 1, offers, &s->place);
}

static int may_use_gpu(const tutti_training_session_options *options)
{
    return options->place.device != TUTTI_CPU ||
           (options->device && strcmp(options->device, "cpu") != 0);
}

tutti_status tutti_training_session_open(
    const tutti_training_session_options *options, tutti_training_session *session)
{
    tutti_training_session s = {.options = *options};
    tutti_status status = find_runner(options->runner, &s.runner);
    if (!status && options->metered) status = tutti_meter_new(&s.meter);
    if (!status && options->spans)
        status = tutti_trace_open(
            options->workers + may_use_gpu(options), options->readers, options->spans, &s.trace);
    if (!status && may_use_gpu(options)) status = tutti_run_starpu_measure();
    if (!status) status = options->exchange.design ? open_exchange(&s) : take_device(&s);
    if (!status) status = take_place(&s);
    s.options.exchange.settings = NULL; /* compared, and the caller's again */
    s.level = TUTTI_TRAINING_OPEN;
    if (status) give_up(&s, status);
    *session = s;
    return status;
}

/* ---- built, applied ---- */

/* Room for one more graph. */
static tutti_status reserve(tutti_training_session *s)
{
    tutti_graph **seen = realloc(s->seen, (size_t)(s->graphs + 1) * sizeof *seen);
    if (!seen) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of graphs");
    s->seen = seen;
    return TUTTI_OK;
}

static void keep_graph(tutti_training_session *s, tutti_graph *graph)
{
    s->seen[s->graphs++] = s->graph = graph;
    s->level = TUTTI_TRAINING_BUILT;
}

int tutti_training_session_micro_batches(
    const tutti_training_session *s, const tutti_step_options *recipe)
{
    const int cuts = s->place.device == TUTTI_CPU ? s->options.workers : 1;
    return tutti_layout_micro_batches(&s->options.layout, tutti_step_parts(recipe), cuts);
}

tutti_status tutti_training_session_build(tutti_training_session *s, const tutti_model *model,
    const tutti_model_input *input, const tutti_step_options *recipe)
{
    tutti_status status = expect(s, TUTTI_TRAINING_OPEN, "build a model");
    if (!status) status = reserve(s);
    if (status) return status;
    tutti_step_options cut = *recipe;
    cut.micro_batches = tutti_training_session_micro_batches(s, recipe);
    const tutti_model_step_options options = {.layout = &s->options.layout,
        .rates = &s->options.rates,
        .place = &s->place,
        .workers = s->options.workers,
        .eval_size = s->options.eval_size,
        .summed = s->exchange != NULL};
    tutti_model_step built;
    status = tutti_model_step_build(&options, model, input, &cut, &s->placement, &built);
    if (status) return status;
    s->net = built.net;
    s->step = built.step;
    s->whole = built.whole;
    s->recipe = built.recipe;
    s->image_bytes = built.image_bytes;
    s->evaluated_bytes = built.evaluated_bytes;
    keep_graph(s, s->step->graph);
    return TUTTI_OK;
}

tutti_status tutti_training_session_blank(tutti_training_session *s)
{
    tutti_graph *graph;
    tutti_status status = expect(s, TUTTI_TRAINING_OPEN, "make a graph");
    if (!status) status = reserve(s);
    if (!status) status = tutti_graph_new(&graph);
    if (!status) keep_graph(s, graph);
    return status;
}

tutti_status tutti_training_session_apply(tutti_training_session *s)
{
    tutti_status status = expect(s, TUTTI_TRAINING_BUILT, "apply its exchange");
    if (!status && s->exchange) status = tutti_exchange_apply(s->exchange, s->graph);
    if (!status && s->step) status = tutti_step_finalize(s->step);
    if (!status) s->level = TUTTI_TRAINING_APPLIED;
    return status;
}

int tutti_training_session_collectives(const tutti_training_session *s)
{
    int count = 0;
    for (int n = 0; s->step && n < tutti_graph_nodes(s->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(s->graph, n);
        count += node->kind == TUTTI_NODE_COLLECTIVE &&
                 (node->section == s->step->train || node->section == s->step->average ||
                     node->section == tutti_step_mixing(s->step, 0));
    }
    return count;
}

/* ---- started ---- */

tutti_status tutti_training_session_start(tutti_training_session *s)
{
    tutti_run_options options = {.workers = s->options.workers,
        .place = s->place,
        .region_s = s->options.region_s,
        .meter = s->meter,
        .trace = s->trace};
    tutti_status status = expect(s, TUTTI_TRAINING_APPLIED, "start a run");
    if (!status) status = tutti_session_engines_agree(s->exchange, s->graph, &s->place);
    if (status) return status;
    if (s->exchange) options.hooks = tutti_exchange_hooks(s->exchange);
    status = s->runner->open(s->graph, &options, &s->run);
    if (status) return status;
    s->level = TUTTI_TRAINING_STARTED;
    s->stale = 1;
    return TUTTI_OK;
}

static tutti_status expect_model(const tutti_training_session *s, const char *call)
{
    tutti_status status = expect(s, TUTTI_TRAINING_STARTED, call);
    if (status || s->step) return status;
    return tutti_fail(
        TUTTI_ERR_INVAL, "a training session without a model cannot %s: build one", call);
}

tutti_status tutti_training_session_init(tutti_training_session *s)
{
    tutti_status status = expect_model(s, "take initial weights");
    if (status) return status;
    s->stale = 1;
    return tutti_step_init(s->step, s->net, s->runner, s->run, s->recipe.seed);
}

tutti_status tutti_training_session_refresh(tutti_training_session *s)
{
    tutti_status status = expect_model(s, "use new weights");
    if (status || !s->stale || s->step->refresh < 0) return status;
    s->stale = 0;
    return s->runner->submit(s->run, s->step->refresh);
}

tutti_status tutti_training_session_feed(
    tutti_training_session *s, int evaluation, const uint8_t *images, const int32_t *labels)
{
    int64_t bytes = evaluation ? s->evaluated_bytes : s->image_bytes;
    tutti_status status = expect_model(s, "take a batch");
    if (!status) status = tutti_training_session_refresh(s);
    for (int i = 0; !status && i < s->recipe.micro_batches; i++) {
        const tutti_micro_batch *part = &s->step->micro_batch[i];
        if (part->labels < 0) continue;
        status = s->runner->feed(s->run, evaluation ? part->evaluated : part->images,
            images + part->first * bytes, (size_t)(part->count * bytes), NULL, NULL);
        if (!status)
            status = s->runner->feed(s->run, part->labels, labels + part->first,
                (size_t)part->count * sizeof *labels, NULL, NULL);
    }
    return status;
}

/* ---- back again ---- */

int tutti_training_session_stop(tutti_training_session *s)
{
    if (!s->run) return 1;
    const int ended = s->runner->close(s->run);
    s->run = NULL;
    s->level = TUTTI_TRAINING_APPLIED;
    return ended;
}

/* Once no exchange can name anything in them. */
static void free_graphs(tutti_training_session *s)
{
    for (int i = 0; i < s->graphs; i++) tutti_graph_free(s->seen[i]);
    free(s->seen);
    s->seen = NULL;
    s->graphs = 0;
}

void tutti_training_session_clear(tutti_training_session *s)
{
    tutti_training_session_stop(s);
    if (s->step) s->step->graph = NULL; /* it is among those seen */
    tutti_step_free(s->step);
    tutti_step_free(s->whole);
    tutti_net_free(s->net);
    s->step = s->whole = NULL;
    s->net = NULL;
    s->graph = NULL;
    s->recipe = (tutti_step_options){0};
    s->image_bytes = s->evaluated_bytes = 0;
    if (!s->exchange) free_graphs(s);
    if (s->level > TUTTI_TRAINING_OPEN) s->level = TUTTI_TRAINING_OPEN;
}

tutti_status tutti_training_session_reopen(
    tutti_training_session *s, const tutti_exchange_options *exchange)
{
    tutti_training_session_clear(s);
    tutti_status status = expect(s, TUTTI_TRAINING_OPEN, "reopen its exchange");
    if (!status && !s->exchange)
        status = tutti_fail(
            TUTTI_ERR_INVAL, "a training session without an exchange has nothing to reopen");
    if (status) return status;
    const tutti_exchange_options options = exchange_options(s, exchange);
    status = tutti_exchange_reopen(&s->exchange, &options);
    if (!status) s->place = s->transport->place;
    if (!status) status = take_place(s);
    if (status) {
        give_up(s, status);
        return status;
    }
    free_graphs(s);
    s->options.exchange = *exchange;
    s->options.exchange.settings = NULL;
    return TUTTI_OK;
}

tutti_status tutti_training_session_close(tutti_training_session *s)
{
    tutti_training_session_clear(s);
    tutti_status status = tutti_exchange_close(s->exchange);
    free_graphs(s);
    free(s->transport);
    tutti_meter_free(s->meter);
    tutti_trace_close(s->trace);
    *s = (tutti_training_session){0};
    return status;
}
