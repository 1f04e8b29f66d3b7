/* The types of a net's values. A net is built in float32; to compute in another type is a property
 * of the step, so the step takes a copy of the layers and changes their types. */
#include "dag/base/log.h"
#include "dag/step/builder.h"

#include <stdlib.h>
#include <string.h>

static int is_read(const tutti_net *net, tutti_value value)
{
    for (int l = 0; l < net->layers; l++)
        for (int i = 0; i < net->layer[l].inputs; i++)
            if (net->layer[l].in[i] == value) return 1;
    return 0;
}

/* The loss takes logits in float32, which bf16 has too few digits for. */
static tutti_status check_output(const tutti_net *net, tutti_value output, tutti_dtype precision)
{
    const tutti_layer *last = &net->layer[net->source[output].layer];
    if (last->kind->widens && !is_read(net, output)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: in %s an output must be the value of a dense layer that no layer reads, but %s is "
        "not: end the net with such a layer, or compute in %s",
        tutti_dtype_name(precision), last->name, tutti_dtype_name(TUTTI_F32));
}

static void set_float32(tutti_net *net, tutti_value value)
{
    tutti_source from = net->source[value];
    net->layer[from.layer].dtype[from.output] = TUTTI_F32;
}

tutti_status tutti_builder_retype(const tutti_net *net, tutti_dtype precision, tutti_net *typed)
{
    const size_t bytes = (size_t)net->layers * sizeof *net->layer;
    tutti_layer *layer = malloc(bytes);
    if (!layer) return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for %d layers", net->layers);
    memcpy(layer, net->layer, bytes);
    *typed = *net;
    typed->layer = layer;
    for (int l = 0; l < net->layers; l++) {
        for (int i = 0; i < layer[l].inputs; i++) layer[l].from_dtype[i] = precision;
        for (int o = 0; o < layer[l].outputs; o++) layer[l].dtype[o] = precision;
    }
    set_float32(typed, net->output);
    for (int a = 0; a < net->auxiliaries; a++) set_float32(typed, net->auxiliary[a].logits);
    return TUTTI_OK;
}

tutti_status tutti_builder_set_precision(tutti_builder *b)
{
    tutti_dtype precision = b->options->precision;
    if (precision == TUTTI_F32) return TUTTI_OK;
    tutti_status status = check_output(b->net, b->net->output, precision);
    for (int a = 0; a < b->net->auxiliaries && status == TUTTI_OK; a++)
        status = check_output(b->net, b->net->auxiliary[a].logits, precision);
    if (status != TUTTI_OK) return status;
    status = tutti_builder_retype(b->net, precision, &b->typed);
    if (status == TUTTI_OK) b->net = &b->typed;
    return status;
}
