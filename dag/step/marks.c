/* The marks of a step: sums over ranks, and messages. */
#include "dag/step/builder.h"

/* The group of the ranks that have the same part of a layer: its stage, and of a divided one its
 * block. */
static int summed_over(const tutti_builder *b, int l)
{
    const tutti_placement *p = &b->options->placement;
    const int divided = l >= 0 && tutti_layer_is_divided(&b->net->layer[l], p);
    return b->own.group[divided ? TUTTI_GROUP_ALIKE : TUTTI_GROUP_STAGE];
}

tutti_status tutti_builder_add_mark(tutti_builder *b, const tutti_mark *mark, int *node)
{
    tutti_status status = tutti_graph_mark(b->graph, mark, node);
    if (status == TUTTI_OK) tutti_graph_set_priority(b->graph, *node, tutti_builder_urgent(b));
    return status;
}

tutti_status tutti_builder_message(
    tutti_builder *b, tutti_verb verb, int tensor, int rank, int edge)
{
    const tutti_mark mark = {.verb = verb, .tensor = tensor, .peer = rank, .edge = edge};
    int node;
    return tutti_builder_add_mark(b, &mark, &node);
}

tutti_status tutti_builder_mark(
    tutti_builder *b, int l, tutti_verb verb, int tensor, int follows, int *node)
{
    tutti_mark mark = {.verb = verb,
        .tensor = tensor,
        .group = summed_over(b, l),
        .follows = follows,
        .vectors = b->vectors};
    for (int k = 0; k < b->vectors; k++) mark.vector[k] = b->access[k].tensor;
    b->vectors = 0;
    return tutti_builder_add_mark(b, &mark, node);
}

tutti_status tutti_builder_gather_rows(tutti_builder *b, int l, int tensor)
{
    const tutti_mark mark = {
        .verb = TUTTI_MARK_ALLGATHER, .tensor = tensor, .group = summed_over(b, l), .rows = 1};
    int node;
    return tutti_builder_add_mark(b, &mark, &node);
}
