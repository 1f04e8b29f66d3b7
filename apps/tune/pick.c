#include "apps/tune/pick.h"

#include <stdio.h>

char *tutti_pick_text(const tutti_pick *pick, char text[TUTTI_PICK_TEXT])
{
    int used = snprintf(text, TUTTI_PICK_TEXT, "--design %s", pick->design->name);
    if (pick->design->many_lanes)
        used += snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --lanes %d", pick->lanes);
    if (pick->bucket_bytes >= 0)
        used += snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --bucket-mb %.9g",
            1e-6 * (double)pick->bucket_bytes);
    if (pick->slice_bytes >= 0)
        used += snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --slice-mb %.9g",
            1e-6 * (double)pick->slice_bytes);
    if (pick->priority && pick->design->order == TUTTI_ORDER_QUEUE)
        snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --priority on");
    return text;
}

int tutti_pick_equal(const tutti_pick *a, const tutti_pick *b)
{
    return a->design == b->design && a->lanes == b->lanes && a->bucket_bytes == b->bucket_bytes &&
           a->slice_bytes == b->slice_bytes && a->priority == b->priority;
}

tutti_exchange_options tutti_pick_apply(
    const tutti_pick *pick, const tutti_exchange_options *options)
{
    tutti_exchange_options applied = *options;
    applied.design = pick->design;
    applied.lanes = pick->lanes;
    applied.bucket_bytes = pick->bucket_bytes;
    applied.slice_bytes = pick->slice_bytes;
    applied.order.on = pick->priority;
    return applied;
}

static int number_of(const tutti_design *design)
{
    int i = 0;
    while (tutti_designs[i] != design) i++;
    return i;
}

void tutti_pick_pack(const tutti_pick *pick, int64_t number[TUTTI_PICK_NUMBERS])
{
    number[0] = number_of(pick->design);
    number[1] = pick->lanes;
    number[2] = pick->bucket_bytes;
    number[3] = pick->slice_bytes;
    number[4] = pick->priority;
}

void tutti_pick_unpack(const int64_t number[TUTTI_PICK_NUMBERS], tutti_pick *pick)
{
    *pick = (tutti_pick){
        tutti_designs[number[0]], (int)number[1], number[2], number[3], (int)number[4]};
}
