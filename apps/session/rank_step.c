#include "apps/session/rank_step.h"

#include "dag/base/log.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/strategy.h"
#include "dag/strategies/strategies.h"

#include <string.h>

static tutti_status check_divided(
    const tutti_placement *p, const char *model, const tutti_net *net)
{
    const int G = p->blocks;
    for (int l = 0; l < net->layers; l++)
        if (tutti_layer_is_divided(&net->layer[l], p)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--layout split=%d: %s has no layer to divide, which must be dense, of %d weights and "
        "more, "
        "with a multiple of %d outputs: leave it out",
        G, model, TUTTI_DIVISION_LEAST, G);
}

/* Takes the form of the strategy that servers have. Each server needs a key. */
static tutti_status use_servers(
    const char *model, const tutti_net *net, tutti_step_options *recipe)
{
    const tutti_strategy *strategy = recipe->strategy ? recipe->strategy : &tutti_strategy_sync;
    const tutti_strategy *served = tutti_strategy_with_servers(strategy);
    const tutti_strategy *stored = tutti_strategy_with_store(strategy);
    const tutti_placement *p = &recipe->placement;
    const int servers = p->servers;
    if (p->stored && !stored)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--strategy %s does not go with servers and clients as jobs of their own: use sync, "
            "elastic, "
            "async or bounded",
            strategy->name);
    if (p->stored) {
        recipe->strategy = stored;
        /* A client weighs losses as a run of its own; its place still decides what is drawn for its images. */
        if (stored->uses_store) recipe->placement.global_replicas = 0;
        return TUTTI_OK;
    }
    if (!servers && strategy->needs_servers)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--strategy %s needs servers: use it with --layout servers=1, or more", strategy->name);
    if (!servers) return TUTTI_OK;
    if (!served)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--strategy %s has no part for servers: use sync, elastic, async or bounded, or leave "
            "servers out of "
            "--layout",
            strategy->name);
    if (p->everywhere && !served->everywhere)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--strategy %s needs servers that train nothing: use --layout servers=1, or more, not "
            "all",
            strategy->name);
    const int keys = tutti_step_keys(net, recipe, servers, NULL);
    if (servers > keys && !p->everywhere)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--layout servers=%d leaves servers without keys, since %s has %d: use at most %d "
            "servers",
            servers, model, keys, keys);
    recipe->strategy = served;
    return TUTTI_OK;
}

tutti_status tutti_rank_step_complete(const tutti_layout *layout, const char *model,
    const tutti_net *net, int workers, tutti_placement *p, tutti_step_options *recipe)
{
    tutti_status status = TUTTI_OK;
    if (p->blocks > 1) status = check_divided(p, model, net);
    if (!status && p->stages > 1)
        status = tutti_layout_cut(layout, model, net, recipe, workers, p->end);
    recipe->placement = *p;
    if (!status) status = use_servers(model, net, recipe);
    if (p->stages > 1 && p->own.works) {
        recipe->emission = tutti_layout_emission(layout);
        recipe->slots = tutti_layout_slots(layout, p->own.stage);
    }
    return status;
}

const char *tutti_rank_step_algorithm(int divides, const char *algorithm)
{
    return divides && strcmp(algorithm, "auto") == 0 ? "direct" : algorithm;
}

int tutti_rank_step_messages(const tutti_placement *p, const tutti_strategy *strategy)
{
    return tutti_placement_is_divided(p) || (strategy && strategy->mixings);
}
