#include "apps/train/store.h"

#include "collectives/choose.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/strategies.h"

#include <string.h>

typedef struct refusal {
    int refused;
    const char *option, *value, *reason;
} refusal;

/* A parameter that the strategy has in one mpirun alone. */
static int gives_more(const tutti_train_options *o)
{
    const tutti_strategy *one = o->strategy, *jobs = one ? tutti_strategy_with_store(one) : NULL;
    if (!jobs || !one->parameter || !jobs->parameter) return 0;
    int i = 0;
    while (jobs->parameter[i].key) i++;
    for (; one->parameter[i].key; i++)
        if (o->strategy_settings.value[i] != one->parameter[i].fallback) return 1;
    return 0;
}

tutti_status tutti_train_store_check(const tutti_train_options *o)
{
    static const char parts[] = "servers have a part of the gradients each: leave it out";
    const tutti_placement *p = &o->layout.placement;
    const tutti_strategy *strategy = o->strategy;
    const refusal row[] = {
        {strategy && !tutti_strategy_with_store(strategy), "strategy", o->strategy_name,
            "does not go with servers and clients as jobs of their own (TUTTI_KV_ROLE): use sync, "
            "elastic, async or bounded"},
        {gives_more(o), "strategy", o->strategy_name,
            "clients that are jobs of their own have no rounds: leave out round="},
        {p->replicas || p->blocks, "layout", o->layout_text,
            "clients= says how many clients there are, whose replicas share no layers: leave out "
            "replicas= and split="},
        {strcmp(o->algorithm, "priced") == 0, "algorithm", o->algorithm,
            "prices need the links of all jobs, which none knows: use rules:FILE or a name"},
        {p->everywhere, "layout", o->layout_text,
            "servers of a store of keys (async, bounded, or jobs) train nothing: use servers=1, or "
            "more"},
        {o->layout_text && !p->servers && (!o->jobs || !p->stages), "layout", o->layout_text,
            "this run has servers: use servers=1, or more"},
        {!o->optimizer->stored, "optimizer", o->optimizer->name,
            "the servers of this run have sgd, adam and adamw: take one of these"},
        {!o->clip_norm.word, "clip-norm", NULL, parts},
        {o->codec && o->codec->compresses, "compress", o->compress_name, parts},
        {o->wire != TUTTI_F32, o->codec ? "compress" : "wire",
            o->codec ? o->compress_name : o->wire_name,
            "servers add gradients as f32: leave it out"},
        {!o->ema.word, "ema", NULL, "the servers of this run keep no averages: leave it out"},
        {o->design_auto, "design", o->design_name, "it cannot time what servers do: name a design"},
        {o->design->start->main_drives || o->design->unsafe, "design", o->design_name,
            "it ends one collective before it begins the next, but a server waits for all clients "
            "at once: "
            "take another design"},
        {tutti_shards_local(o->images.shards), "shards", o->images.shards,
            "servers read no images: use shared"},
        {!strcmp(o->device, "cuda"), "device", o->device,
            "workers push gradients from main memory: use cpu"},
        {!o->patience.word, "patience", NULL,
            "the other clients would go on: use --epochs, or --stop-after"},
        {o->evaluate, "evaluate", NULL,
            "it needs no servers: leave out --strategy, --layout and TUTTI_KV_ROLE"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].refused)
            return tutti_conf_refuse(&o->conf, row[i].option, row[i].value, row[i].reason);
    return TUTTI_OK;
}
