#include "apps/tune/configuration.h"

#include <inttypes.h>
#include <stdio.h>

char *tutti_configuration_text(
    const tutti_configuration *configuration, char text[TUTTI_CONFIGURATION_TEXT])
{
    int used = snprintf(text, TUTTI_CONFIGURATION_TEXT, "--design %s", configuration->design->name);
    if (configuration->design->many_lanes)
        used += snprintf(text + used, TUTTI_CONFIGURATION_TEXT - (size_t)used, " --lanes %d",
            configuration->lanes);
    if (configuration->bucket_bytes >= 0)
        used += snprintf(text + used, TUTTI_CONFIGURATION_TEXT - (size_t)used, " --bucket-mb %.9g",
            1e-6 * (double)configuration->bucket_bytes);
    if (configuration->chunk_bytes >= 0)
        used += snprintf(text + used, TUTTI_CONFIGURATION_TEXT - (size_t)used, " --chunk-mb %.9g",
            1e-6 * (double)configuration->chunk_bytes);
    if (configuration->priority && configuration->design->start->reorders)
        snprintf(text + used, TUTTI_CONFIGURATION_TEXT - (size_t)used, " --priority on");
    return text;
}

char *tutti_configuration_store(
    const tutti_configuration *configuration, char text[TUTTI_CONFIGURATION_TEXT])
{
    snprintf(text, TUTTI_CONFIGURATION_TEXT,
        "%s lanes=%d bucket=%" PRId64 " chunk=%" PRId64 " priority=%d", configuration->design->name,
        configuration->lanes, configuration->bucket_bytes, configuration->chunk_bytes,
        configuration->priority);
    return text;
}

int tutti_configuration_restore(const char *text, tutti_configuration *configuration)
{
    char design[32];
    tutti_configuration p = {0};
    if (sscanf(text, "%31s lanes=%d bucket=%" SCNd64 " chunk=%" SCNd64 " priority=%d", design,
            &p.lanes, &p.bucket_bytes, &p.chunk_bytes, &p.priority) != TUTTI_CONFIGURATION_NUMBERS)
        return 0;
    p.design = tutti_design_find(design);
    if (!tutti_configuration_possible(&p)) return 0;
    *configuration = p;
    return 1;
}

int tutti_configuration_possible(const tutti_configuration *p)
{
    enum { MOST_LANES = 64 };
    const int64_t most_sum = INT64_C(1) << 40;
    return p->design && p->lanes >= 1 && p->lanes <= MOST_LANES && p->bucket_bytes >= -1 &&
           p->bucket_bytes <= most_sum && p->chunk_bytes >= -1 && p->chunk_bytes <= most_sum &&
           (p->priority == 0 || p->priority == 1);
}

int tutti_configuration_equal(const tutti_configuration *a, const tutti_configuration *b)
{
    return a->design == b->design && a->lanes == b->lanes && a->bucket_bytes == b->bucket_bytes &&
           a->chunk_bytes == b->chunk_bytes && a->priority == b->priority;
}

tutti_exchange_options tutti_configuration_apply(
    const tutti_configuration *configuration, const tutti_exchange_options *options)
{
    tutti_exchange_options applied = *options;
    applied.design = configuration->design;
    applied.lanes = configuration->lanes;
    applied.bucket_bytes = configuration->bucket_bytes;
    applied.chunk_bytes = configuration->chunk_bytes;
    applied.order.on = configuration->priority;
    return applied;
}

static int number_of(const tutti_design *design)
{
    int i = 0;
    while (tutti_designs[i] != design) i++;
    return i;
}

void tutti_configuration_pack(
    const tutti_configuration *configuration, int64_t number[TUTTI_CONFIGURATION_NUMBERS])
{
    number[0] = number_of(configuration->design);
    number[1] = configuration->lanes;
    number[2] = configuration->bucket_bytes;
    number[3] = configuration->chunk_bytes;
    number[4] = configuration->priority;
}

void tutti_configuration_unpack(
    const int64_t number[TUTTI_CONFIGURATION_NUMBERS], tutti_configuration *configuration)
{
    *configuration = (tutti_configuration){
        tutti_designs[number[0]], (int)number[1], number[2], number[3], (int)number[4]};
}
