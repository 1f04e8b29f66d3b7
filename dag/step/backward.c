/* The backward pass of a layer. */
#include "dag/step/builder.h"

#include <stdio.h>

/* Whether dx[i] is a tensor that is dropped for another reason. */
static int is_shared(const tutti_site *site, int i)
{
    for (int o = 0; o < site->layer->outputs; o++)
        if (site->dx[i] == site->dy[o]) return 1;
    for (int k = 0; k < i; k++)
        if (site->dx[i] == site->dx[k]) return 1;
    return 0;
}

/* Passes the gradients that a layer made on to its inputs, and drops what the layer needed for
 * them. */
static tutti_status pass_on(tutti_site *site)
{
    const tutti_layer *layer = site->layer;
    for (int i = 0; i < layer->inputs; i++) {
        if (!site->wanted[i]) continue;
        tutti_status status = tutti_gradients_add(site->gradients, layer->in[i], site->dx[i]);
        if (status != TUTTI_OK) return status;
    }
    for (int i = 0; i < layer->inputs; i++)
        if (site->dx[i] >= 0 && !is_shared(site, i))
            tutti_gradients_drop(site->gradients, site->dx[i]);
    for (int o = 0; o < layer->outputs; o++) /* what an addition has computed, too, has none */
        if (site->dy[o] >= 0) tutti_gradients_drop(site->gradients, site->dy[o]);
    return TUTTI_OK;
}

/* Completes the gradient of a layer's value. Two of its values may have the same tensor as their
 * gradient (an add passes its own on), but a node names each tensor only once: then a copy stands
 * in. */
static tutti_status complete_gradient(tutti_site *site, int o)
{
    const tutti_layer *layer = site->layer;
    int priority = tutti_site_priority(site->index, TUTTI_PHASE_BACKWARD_DATA);
    char name[TUTTI_SITE_NAME], which[16] = "";
    if (layer->outputs > 1) snprintf(which, sizeof which, ":%d", o);
    snprintf(name, sizeof name, "%s%s.sum_gradients@%d", layer->name, which, site->micro_batch);
    tutti_status status =
        tutti_gradients_total(site->gradients, layer->value + o, name, priority, &site->dy[o]);
    for (int k = 0; k < o && status == TUTTI_OK; k++)
        if (site->dy[k] == site->dy[o])
            status = tutti_gradients_copy(site->gradients, name, priority, &site->dy[o]);
    return status;
}

tutti_status tutti_builder_backward(tutti_builder *b, int l, int s)
{
    tutti_site *site = tutti_builder_site(b, l, s);
    const tutti_layer *layer = site->layer;
    tutti_status status = TUTTI_OK;
    for (int o = 0; o < layer->outputs && status == TUTTI_OK; o++)
        status = complete_gradient(site, o);
    if (status != TUTTI_OK) return status;
    for (int i = 0; i < layer->inputs; i++)
        site->wanted[i] = b->wanted[b->net->source[layer->in[i]].layer];
    site->trains = tutti_builder_trains(b, l);
    status = layer->kind->backward(site);
    return status == TUTTI_OK ? pass_on(site) : status;
}
