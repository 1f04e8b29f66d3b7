/* The nodes that write rounded copies of weights, which layers read in the type of their values. */
#include "dag/step/builder.h"

#include "dag/kernels/arith.h"

#include <stdio.h>

tutti_status tutti_builder_refresh_copy(
    tutti_builder *b, int l, int p, const char *suffix, int average)
{
    const tutti_trained *t = &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    int copy = b->copy[l * TUTTI_LAYER_PARAMETERS + p];
    if (copy < 0) return TUTTI_OK;
    const tutti_widen_desc desc = {.count = t->count};
    const tutti_access access[] = {
        tutti_reads(average ? t->average : t->weight), tutti_writes(copy)};
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s.%s", b->net->layer[l].name, suffix, tutti_op_narrow.name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_narrow, &desc, sizeof desc, 2, access, NULL);
}

tutti_status tutti_builder_refresh_copies(tutti_builder *b, int average)
{
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        status = tutti_builder_refresh_copy(b, at.l, at.p, at.suffix, average);
    return status;
}
