#include "dag/step/crossings.h"

#include "dag/base/log.h"

#include <stdlib.h>

int tutti_stage_layers(const tutti_placement *p, int stage, int *first)
{
    const int last = p->stages - 1;
    *first = stage > 0 && stage <= last ? p->end[stage - 1] : 0;
    return p->end[stage < last ? stage : last];
}

int tutti_stage_of(const tutti_placement *p, int layer)
{
    int q = 0;
    while (q < p->stages - 1 && layer >= p->end[q]) q++;
    return q;
}

static int has_parameters(const tutti_net *net, int first, int end)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    for (int l = first; l < end; l++)
        if (tutti_layer_parameters(&net->layer[l], parameter) > 0) return 1;
    return 0;
}

tutti_status tutti_stages_check(const tutti_placement *p, const tutti_net *net)
{
    for (int q = 0; q < p->stages; q++) {
        int first, last = tutti_stage_layers(p, q, &first);
        if (last <= first || last > net->layers || (q == p->stages - 1 && last != net->layers))
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: stage %d of %d has layers %d to %d of a net of %d layers: each stage needs "
                "at least one layer, and all together have all of them",
                q, p->stages, first, last - 1, net->layers);
        if (!has_parameters(net, first, last))
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: stage %d of %d (%s to %s) has no parameters: give it more layers", q,
                p->stages, net->layer[first].name, net->layer[last - 1].name);
    }
    return TUTTI_OK;
}

static int reads(const tutti_layer *layer, tutti_value value)
{
    for (int i = 0; i < layer->inputs; i++)
        if (layer->in[i] == value) return 1;
    return 0;
}

/* The first layer of a stage that reads the value, or -1. */
static int first_reader(
    const tutti_placement *p, const tutti_net *net, tutti_value value, int stage)
{
    int first, last = tutti_stage_layers(p, stage, &first);
    for (int l = first; l < last; l++)
        if (reads(&net->layer[l], value)) return l;
    return -1;
}

tutti_status tutti_crossings_find(
    const tutti_placement *p, const tutti_net *net, tutti_crossing **crossing, int *count)
{
    tutti_crossing *list = calloc((size_t)net->values * (size_t)p->stages, sizeof *list);
    int n = 0;
    if (!list)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "step: no memory for %d values in %d stages", net->values, p->stages);
    for (tutti_value v = 0; v < net->values; v++) {
        int from = tutti_stage_of(p, net->source[v].layer);
        tutti_crossing *last = NULL;
        for (int q = from + 1; q < p->stages; q++) {
            int lowest = first_reader(p, net, v, q);
            if (lowest < 0) continue;
            if (last) last->above = q;
            list[n] = (tutti_crossing){.value = v,
                .from = from,
                .to = q,
                .above = -1,
                .below = last ? last->to : from,
                .lowest = lowest};
            last = &list[n++];
        }
    }
    *crossing = list;
    *count = n;
    return TUTTI_OK;
}
