/* The forward pass of training and evaluation. */
#include "dag/net/builder.h"

tutti_status tutti_builder_forward(tutti_builder *b, int evaluation)
{
    tutti_status status = TUTTI_OK;
    for (int l = 1; l < b->net->layers && status == TUTTI_OK; l++) {
        const tutti_layer *layer = &b->net->layer[l];
        for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++) {
            tutti_site *site = tutti_builder_site(b, l, s);
            for (int i = 0; i < layer->inputs; i++)
                site->x[i] = tutti_builder_site(b, layer->in[i], s)->y;
            status = (evaluation && layer->kind->evaluate ? layer->kind->evaluate
                                                          : layer->kind->forward)(site);
        }
        if (status == TUTTI_OK && layer->kind->statistics && !evaluation)
            status = tutti_builder_mark_statistics(b, l);
    }
    return status;
}
