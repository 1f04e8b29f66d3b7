/* Evaluation of images of another size: the passes of a second net, which has the layers of the first
 * one for that size and reads its parameters and running statistics. */
#include "dag/base/log.h"
#include "dag/step/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tutti_net_find_evaluated(const tutti_net *net, int evaluated[])
{
    evaluated[net->source[net->output].layer] = 1;
    for (int l = net->layers - 1; l > 0; l--)
        for (int i = 0; evaluated[l] && i < net->layer[l].inputs; i++)
            evaluated[net->source[net->layer[l].in[i]].layer] = 1;
}

static int have_equal_parameters(const tutti_layer *a, const tutti_layer *b)
{
    tutti_parameter p[TUTTI_LAYER_PARAMETERS], q[TUTTI_LAYER_PARAMETERS];
    int count = tutti_layer_parameters(a, p);
    if (a->kind != b->kind || strcmp(a->name, b->name) != 0 ||
        tutti_layer_parameters(b, q) != count)
        return 0;
    for (int i = 0; i < count; i++)
        if (p[i].shape.rank != q[i].shape.rank ||
            memcmp(
                p[i].shape.dim, q[i].shape.dim, (size_t)p[i].shape.rank * sizeof *p[i].shape.dim))
            return 0;
    return 1;
}

tutti_status tutti_net_compare(const tutti_net *net, const tutti_net *other, const char **layer)
{
    *layer = NULL;
    int *evaluated = calloc((size_t)net->layers, sizeof *evaluated);
    if (!evaluated) return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory for %d layers", net->layers);
    tutti_net_find_evaluated(net, evaluated);
    for (int l = 0; l < net->layers && !*layer; l++)
        if (l >= other->layers ||
            (evaluated[l] && !have_equal_parameters(&net->layer[l], &other->layer[l])))
            *layer = net->layer[l].name;
    if (!*layer && other->layers > net->layers) *layer = other->layer[net->layers].name;
    free(evaluated);
    return TUTTI_OK;
}

/* Tensors are named after layers. */
static tutti_status rename_layers(tutti_net *net)
{
    for (int l = 0; l < net->layers; l++) {
        char *name = net->layer[l].name, longer[TUTTI_LAYER_NAME + 8];
        snprintf(longer, sizeof longer, "eval.%s", name);
        if (strlen(longer) >= TUTTI_LAYER_NAME)
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: the name of layer %s is too long to be evaluated at another size", name);
        strcpy(name, longer);
    }
    return TUTTI_OK;
}

tutti_status tutti_builder_set_resized(tutti_builder *b)
{
    const tutti_net *other = b->options->evaluated;
    const char *layer;
    if (!other) return TUTTI_OK;
    if (other->status != TUTTI_OK) return other->status;
    tutti_status status = tutti_net_compare(b->net, other, &layer);
    if (status == TUTTI_OK && layer)
        status = tutti_fail(TUTTI_ERR_INVAL,
            "step: layer %s differs in the net for images of another size that are evaluated",
            layer);
    if (status == TUTTI_OK)
        status = tutti_builder_retype(other, b->options->precision, &b->resized);
    return status == TUTTI_OK ? rename_layers(&b->resized) : status;
}

static tutti_status set_up(tutti_builder *b)
{
    size_t count = (size_t)b->net->layers * (size_t)b->options->micro_batches;
    b->resized_site = malloc(count * sizeof *b->resized_site);
    if (!b->resized_site)
        return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for %zu layers", count);
    memcpy(b->resized_site, b->site, count * sizeof *b->resized_site);
    for (size_t i = 0; i < count; i++) {
        tutti_site *site = &b->resized_site[i];
        site->layer = &b->resized.layer[site->index];
        for (int x = 0; x < TUTTI_LAYER_INPUTS; x++) site->x[x] = -1;
        for (int y = 0; y < TUTTI_LAYER_OUTPUTS; y++) site->y[y] = -1;
        site->stats = site->saved = -1;
        if (site->norm) site->norm = b->resized_site + (site->norm - b->site);
    }
    for (int s = 0; !b->options->bytes && s < b->options->micro_batches; s++)
        b->resized_site[s].y[0] = b->step->micro_batch[s].evaluated;
    return TUTTI_OK;
}

tutti_status tutti_builder_evaluate_resized(tutti_builder *b)
{
    const tutti_net *net = b->net;
    tutti_site *site = b->site;
    tutti_status status = set_up(b);
    if (status != TUTTI_OK) return status;
    b->net = &b->resized;
    b->site = b->resized_site;
    status = tutti_builder_evaluate(b);
    b->net = net;
    b->site = site;
    return status;
}
