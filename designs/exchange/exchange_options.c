#include "designs/exchange/exchange_parts.h"

#include "collectives/choose.h"
#include "collectives/links/topology_text.h"
#include "collectives/rules_text.h"
#include "dag/base/log.h"
#include "designs/passes/chunk.h"
#include "designs/thread/comm_core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double default_timeout_s = 60;

/* All settings that ranks must share, as text; the caller frees it. NULL: no memory. */
char *tutti_exchange_settings_text(const tutti_exchange *x)
{
    const tutti_exchange_options *o = &x->options;
    char *text = NULL;
    size_t size;
    uint64_t links = 0, rules = 0;
    if (x->topology && tutti_topology_hash(x->topology, &links)) return NULL;
    if (x->rules && tutti_rules_hash(x->rules, &rules)) return NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%sdesign=%s\nlanes=%d\nalgorithm=%s\nverify=%s\n", o->settings ? o->settings : "",
        o->design->name, o->lanes, o->algorithm ? o->algorithm : "auto",
        tutti_verify_mode_name(o->verify));
    fprintf(out, "chunk=%lld\npriority=%d\n", (long long)o->chunk_bytes, o->order.on);
    if (x->topology) fprintf(out, "the topology's hash=%016llx\n", (unsigned long long)links);
    if (x->rules) fprintf(out, "the rules' hash=%016llx\n", (unsigned long long)rules);
    if (tutti_algorithm_file(o->algorithm))
        fprintf(out, "forest=%016" PRIx64 "\n", tutti_algorithm_hash(o->algorithm));
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

int tutti_exchange_transport_lanes(const tutti_exchange_options *options)
{
    enum { CONTROL = 1 };
    return tutti_design_lanes(options->design, options->lanes) + CONTROL + options->messages;
}

/* Also fills in defaults. */
static tutti_status complete_options(tutti_exchange_options *o)
{
    const tutti_design *design = o->design;
    if (!o->algorithm) o->algorithm = tutti_algorithm_find(NULL)->name;
    o->lanes = tutti_design_lanes(design, o->lanes);
    if (o->timeout_s <= 0) o->timeout_s = default_timeout_s;
    if (o->setup_timeout_s <= 0) o->setup_timeout_s = default_timeout_s;
    if (o->workers < 1) o->workers = 1;
    if (o->manual) o->watch.on = 0;
    if (o->chunk_bytes < 0) o->chunk_bytes = tutti_chunk_default_bytes();
    tutti_status status = tutti_design_check(design);
    if (!status) status = tutti_watch_check(&o->watch);
    if (!status) status = tutti_comm_core_check("comm_core", o->comm_core);
    if (status) return status;
    if (design->unsafe && !o->unsafe)
        return tutti_fail(TUTTI_ERR_USAGE,
            "design %s can hang or sum the wrong buffers, on purpose: it runs only if unsafe is "
            "set",
            design->name);
    if (!tutti_verify_mode_name(o->verify))
        return tutti_fail(TUTTI_ERR_INVAL, "unknown way to compare ranks: %d", o->verify);
    if (o->priorities.on && o->order.on)
        return tutti_fail(TUTTI_ERR_INVAL,
            "a step's collectives follow an agreed order, or priorities: not both");
    if (o->lanes < 1)
        return tutti_fail(TUTTI_ERR_USAGE, "lanes is %d: must be at least 1", o->lanes);
    if (o->lanes > 1 && !design->many_lanes)
        return tutti_fail(TUTTI_ERR_USAGE,
            "lanes is %d, but design %s has one lane (concurrent has several)", o->lanes,
            design->name);
    return TUTTI_OK;
}

tutti_status tutti_exchange_check_options(const tutti_exchange_options *options)
{
    tutti_exchange_options copy = *options;
    return complete_options(&copy);
}

tutti_status tutti_exchange_take_options(tutti_exchange *x, const tutti_exchange_options *given)
{
    x->options = *given;
    tutti_status status = complete_options(&x->options);
    if (status) return status;
    char *algorithm = strdup(x->options.algorithm);
    if (!algorithm) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an exchange");
    x->chunks_free = given->chunk_bytes < 0;
    free(x->algorithm);
    x->options.algorithm = x->algorithm = algorithm;
    return TUTTI_OK;
}
