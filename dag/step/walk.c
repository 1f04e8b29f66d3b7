/* One parameter after the other. */
#include "dag/step/builder.h"

int tutti_builder_next_parameter(const tutti_builder *b, tutti_parameter_walk *at)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    for (; at->passed < b->end - b->first; at->passed++, at->next = 0) {
        at->l = at->from_last ? b->end - 1 - at->passed : b->first + at->passed;
        if (at->next < tutti_layer_parameters(&b->net->layer[at->l], parameter)) {
            at->p = at->next++;
            at->suffix = parameter[at->p].suffix;
            return 1;
        }
    }
    return 0;
}
