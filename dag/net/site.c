#include "dag/net/site.h"

#include <stdio.h>

int tutti_site_priority(int layer, tutti_phase phase)
{
    return phase == TUTTI_PHASE_FORWARD ? 0 : 2 * layer + (phase == TUTTI_PHASE_BACKWARD_DATA);
}

static tutti_status make_value(tutti_site *site, int o)
{
    char name[TUTTI_SITE_NAME], which[16] = "";
    tutti_extent out = site->layer->out[o];
    tutti_shape shape = out.H == 1 && out.W == 1 ? tutti_shape_of(site->room, out.C)
                                                 : tutti_shape_of(site->room, out.H, out.W, out.C);
    if (site->layer->outputs > 1) snprintf(which, sizeof which, ":%d", o);
    snprintf(name, sizeof name, "%s%s@%d", site->layer->name, which, site->slot);
    return tutti_graph_tensor(
        site->graph, name, TUTTI_ROLE_SCRATCH, site->layer->dtype[o], shape, &site->y[o]);
}

tutti_status tutti_site_value(tutti_site *site, int o)
{
    return site->y[o] >= 0 ? TUTTI_OK : make_value(site, o);
}

tutti_status tutti_site_output(tutti_site *site)
{
    tutti_status status = TUTTI_OK;
    for (int o = 0; o < site->layer->outputs && status == TUTTI_OK; o++)
        status = tutti_site_value(site, o);
    return status;
}

void tutti_site_share(const tutti_site *from, tutti_site *to)
{
    for (int o = 0; o < from->layer->outputs; o++)
        if (to->y[o] < 0) to->y[o] = from->y[o];
    if (to->saved < 0) to->saved = from->saved;
}

static tutti_status remember(tutti_site *site, const char *what, int place, tutti_dtype dtype,
    tutti_shape shape, int *tensor)
{
    if (*tensor >= 0) return TUTTI_OK;
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s@%d", site->layer->name, what, place);
    return tutti_graph_tensor(site->graph, name, TUTTI_ROLE_SCRATCH, dtype, shape, tensor);
}

tutti_status tutti_site_saved(tutti_site *site, const char *what, size_t bytes, int *tensor)
{
    return tutti_site_kept(site, what, TUTTI_U8, tutti_shape_of((int64_t)bytes), tensor);
}

tutti_status tutti_site_kept(
    tutti_site *site, const char *what, tutti_dtype dtype, tutti_shape shape, int *tensor)
{
    return remember(site, what, site->slot, dtype, shape, tensor);
}

tutti_status tutti_site_stats(tutti_site *site)
{
    return remember(site, "stats", site->micro_batch, TUTTI_STATISTICS_DTYPE,
        tutti_shape_of(2, site->layer->out[0].C), &site->stats);
}

tutti_status tutti_site_gradient(tutti_site *site, int i)
{
    return tutti_gradients_take(site->gradients, site->layer->from_dtype[i],
        tutti_extent_count(site->layer->from[i]), &site->dx[i]);
}

tutti_status tutti_site_kernel(tutti_site *site, tutti_phase phase, const tutti_op *op,
    const void *desc, size_t desc_bytes, int accesses, const tutti_access access[])
{
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s@%d", site->layer->name, op->name, site->micro_batch);
    int node;
    tutti_status status =
        tutti_graph_kernel(site->graph, name, op, desc, desc_bytes, accesses, access, &node);
    if (status != TUTTI_OK) return status;
    tutti_graph_set_priority(site->graph, node, tutti_site_priority(site->index, phase));
    return TUTTI_OK;
}
