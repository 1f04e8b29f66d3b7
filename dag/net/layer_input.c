/* The images. Its value is the slice's input tensor, which the step declares. */
#include "dag/base/log.h"
#include "dag/net/layer.h"

static tutti_status infer(tutti_layer *layer)
{
    tutti_extent x = layer->as.input;
    if (x.H < 1 || x.W < 1 || x.C < 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: images of %lldx%lldx%lld: every size must be at least 1", (long long)x.H,
            (long long)x.W, (long long)x.C);
    layer->out = x;
    return TUTTI_OK;
}

const tutti_layer_kind tutti_layer_input = {.name = "input", .infer = infer};
