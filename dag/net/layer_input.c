/* The images. The layer's value is the micro-batch's input tensor, which the step declares, or what
 * the step makes of that if images come as bytes. */
#include "dag/base/log.h"
#include "dag/net/layer.h"

static tutti_status infer(tutti_layer *layer)
{
    tutti_extent x = *(const tutti_extent *)tutti_layer_settings(layer);
    if (x.H < 1 || x.W < 1 || x.C < 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: images of %lldx%lldx%lld: every size must be at least 1", (long long)x.H,
            (long long)x.W, (long long)x.C);
    layer->out[0] = x;
    layer->dtype[0] = TUTTI_F32;
    return TUTTI_OK;
}

static const tutti_layer_kind kind = {.name = "input", .infer = infer};

tutti_value tutti_net_input(tutti_net *net, int64_t H, int64_t W, int64_t C)
{
    if (net->status == TUTTI_OK && net->layers > 0)
        net->status = tutti_fail(TUTTI_ERR_INVAL, "net: the input must come first, and only once");
    const tutti_extent images = {H, W, C};
    return tutti_net_append(net, "images", (tutti_layer){.kind = &kind}, &images, sizeof images);
}
