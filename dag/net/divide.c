#include "dag/net/divide.h"

#include "dag/base/log.h"

static int64_t least_of(const tutti_division *division)
{
    return division->least ? division->least : TUTTI_DIVISION_LEAST;
}

int tutti_layer_is_divided(const tutti_layer *layer, const tutti_division *division)
{
    if (division->ranks < 2 || !layer->kind->divides) return 0;
    const int64_t K = layer->out[0].C;
    return K % division->ranks == 0 && K * tutti_extent_count(layer->from[0]) >= least_of(division);
}

int tutti_divided_parameters(const tutti_layer *layer, const tutti_division *division,
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS])
{
    int n = tutti_layer_parameters(layer, parameter);
    for (int p = 0; p < n && tutti_layer_is_divided(layer, division); p++)
        parameter[p].shape.dim[0] /= division->ranks;
    return n;
}

tutti_status tutti_division_check(
    const tutti_net *net, const tutti_division *division, int replicas)
{
    const int G = division->ranks;
    int divided = G < 2;
    if (G < 0 || division->block < 0 || (G && division->block >= G))
        return tutti_fail(TUTTI_ERR_INVAL, "step: block %d of %d of divided layers",
            division->block, division->ranks);
    if (G && replicas % G)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: layers divided over groups of %d do not go with %d replicas: use a divisor", G,
            replicas);
    for (int l = 0; l < net->layers; l++)
        divided |= tutti_layer_is_divided(&net->layer[l], division);
    if (divided) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: no layer can be divided over %d ranks: that takes a dense layer of at least %lld "
        "weights, with outputs that are a multiple of %d",
        G, (long long)least_of(division), G);
}
