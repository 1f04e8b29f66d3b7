#include "apps/tune/pick.h"

#include <inttypes.h>
#include <stdio.h>

char *tutti_pick_text(const tutti_pick *pick, char text[TUTTI_PICK_TEXT])
{
    int used = snprintf(text, TUTTI_PICK_TEXT, "--design %s", pick->design->name);
    if (pick->design->many_lanes)
        used += snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --lanes %d", pick->lanes);
    if (pick->bucket_bytes >= 0)
        used += snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --bucket-mb %.9g",
            1e-6 * (double)pick->bucket_bytes);
    if (pick->chunk_bytes >= 0)
        used += snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --chunk-mb %.9g",
            1e-6 * (double)pick->chunk_bytes);
    if (pick->priority && pick->design->start->reorders)
        snprintf(text + used, TUTTI_PICK_TEXT - (size_t)used, " --priority on");
    return text;
}

char *tutti_pick_store(const tutti_pick *pick, char text[TUTTI_PICK_TEXT])
{
    snprintf(text, TUTTI_PICK_TEXT,
        "%s lanes=%d bucket=%" PRId64 " chunk=%" PRId64 " priority=%d", pick->design->name,
        pick->lanes, pick->bucket_bytes, pick->chunk_bytes, pick->priority);
    return text;
}

int tutti_pick_restore(const char *text, tutti_pick *pick)
{
    char design[32];
    tutti_pick p = {0};
    if (sscanf(text, "%31s lanes=%d bucket=%" SCNd64 " chunk=%" SCNd64 " priority=%d", design,
            &p.lanes, &p.bucket_bytes, &p.chunk_bytes, &p.priority) != TUTTI_PICK_NUMBERS)
        return 0;
    p.design = tutti_design_find(design);
    if (!tutti_pick_possible(&p)) return 0;
    *pick = p;
    return 1;
}

int tutti_pick_possible(const tutti_pick *p)
{
    enum { MOST_LANES = 64 };
    const int64_t most_sum = INT64_C(1) << 40;
    return p->design && p->lanes >= 1 && p->lanes <= MOST_LANES && p->bucket_bytes >= -1 &&
           p->bucket_bytes <= most_sum && p->chunk_bytes >= -1 && p->chunk_bytes <= most_sum &&
           (p->priority == 0 || p->priority == 1);
}

int tutti_pick_equal(const tutti_pick *a, const tutti_pick *b)
{
    return a->design == b->design && a->lanes == b->lanes && a->bucket_bytes == b->bucket_bytes &&
           a->chunk_bytes == b->chunk_bytes && a->priority == b->priority;
}

tutti_exchange_options tutti_pick_apply(
    const tutti_pick *pick, const tutti_exchange_options *options)
{
    tutti_exchange_options applied = *options;
    applied.design = pick->design;
    applied.lanes = pick->lanes;
    applied.bucket_bytes = pick->bucket_bytes;
    applied.chunk_bytes = pick->chunk_bytes;
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
    number[3] = pick->chunk_bytes;
    number[4] = pick->priority;
}

void tutti_pick_unpack(const int64_t number[TUTTI_PICK_NUMBERS], tutti_pick *pick)
{
    *pick = (tutti_pick){
        tutti_designs[number[0]], (int)number[1], number[2], number[3], (int)number[4]};
}
