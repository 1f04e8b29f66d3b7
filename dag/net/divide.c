#include "dag/net/divide.h"

#include "dag/base/log.h"

static int64_t least_of(const tutti_placement *placement)
{
    return placement->divided_least ? placement->divided_least : TUTTI_DIVISION_LEAST;
}

int tutti_layer_is_divided(const tutti_layer *layer, const tutti_placement *placement)
{
    if (placement->blocks < 2 || !layer->kind->divides) return 0;
    const int64_t K = layer->out[0].C;
    return K % placement->blocks == 0 &&
           K * tutti_extent_count(layer->from[0]) >= least_of(placement);
}

int tutti_divided_parameters(const tutti_layer *layer, const tutti_placement *placement,
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS])
{
    int n = tutti_layer_parameters(layer, parameter);
    for (int p = 0; p < n && tutti_layer_is_divided(layer, placement); p++)
        parameter[p].shape.dim[0] /= placement->blocks;
    return n;
}

tutti_status tutti_division_check(const tutti_net *net, const tutti_placement *placement)
{
    const int G = placement->blocks;
    int divided = G < 2;
    for (int l = 0; l < net->layers; l++)
        divided |= tutti_layer_is_divided(&net->layer[l], placement);
    if (divided) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: no layer can be divided over %d ranks: that takes a dense layer of at least %lld "
        "weights, with outputs that are a multiple of %d",
        G, (long long)least_of(placement), G);
}
