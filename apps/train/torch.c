#include "apps/train/torch.h"

#include "dag/net/layer.h"

#include <string.h>

int tutti_torch_layer(const tutti_net *net, const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : 0;
    for (int l = 0; dot && l < net->layers; l++) {
        const char *layer = net->layer[l].name;
        if (strlen(layer) == length && memcmp(layer, name, length) == 0) return l;
    }
    return -1;
}

int tutti_torch_describe(const tutti_net *net, const char *model, const tutti_tensor *tensor,
    const char *name, tutti_torch_part part[TUTTI_TORCH_PARTS])
{
    const int number = tutti_torch_layer(net, name);
    if (number < 0 || tensor->dtype != TUTTI_F32) return 0;
    const tutti_layer *layer = &net->layer[number];
    tutti_torch_tensor ours = {.model = model,
        .name = name,
        .rank = tensor->shape.rank,
        .H = layer->from[0].H,
        .W = layer->from[0].W,
        .C = layer->from[0].C};
    for (int d = 0; d < tensor->shape.rank; d++) ours.dim[d] = tensor->shape.dim[d];
    return tutti_torch_parts(&ours, part);
}

tutti_shape tutti_torch_shape(const tutti_torch_part *part)
{
    return tutti_shape_make(part->rank, part->dim);
}
