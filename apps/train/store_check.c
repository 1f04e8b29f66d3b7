#include "apps/train/store.h"

#include "collectives/choose.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/strategies.h"

#include <stdlib.h>
#include <string.h>

typedef struct refusal {
    int refused;
    const char *option, *value, *reason;
} refusal;

/* A parameter that the strategy has in one mpirun alone. */
static int gives_more(const tutti_train_options *o)
{
    const tutti_strategy *one = o->strategy.kind,
                         *jobs = one ? tutti_strategy_with_store(one) : NULL;
    if (!jobs || !one->parameter || !jobs->parameter) return 0;
    int i = 0;
    while (jobs->parameter[i].key) i++;
    for (; one->parameter[i].key; i++)
        if (o->strategy.settings.value[i] != one->parameter[i].fallback) return 1;
    return 0;
}

/* The transport that a word stands for in a store. */
static const char *transport_of(const char *word)
{
    return word && *word && strcmp(word, "auto") != 0 ? word : "mpi";
}

/* A store has the variable's word (tutti_attach). */
static int differs_in_transport(const tutti_train_options *o)
{
    return strcmp(transport_of(o->machine.transport), transport_of(getenv("TUTTI_TRANSPORT"))) != 0;
}

/* Whether gradients go through the store, key by key, so that no step sums them. */
static int pushes_gradients(const tutti_train_options *o)
{
    const tutti_strategy *stored =
        tutti_strategy_with_store(o->strategy.kind ? o->strategy.kind : &tutti_strategy_sync);
    return stored && !stored->uses_store;
}

tutti_status tutti_train_store_check(const tutti_train_options *o)
{
    static const char parts[] = "servers have a part of the gradients each: leave it out";
    static const char sums[] =
        "has no effect where gradients are pushed to a store of keys (async, bounded, or sync as "
        "jobs), because no step sums them: leave it out";
    const tutti_conf_real *bucket = &o->exchange.bucket_mb;
    const int pushes = pushes_gradients(o);
    const tutti_placement *p = &o->layout.value.placement;
    const tutti_strategy *strategy = o->strategy.kind;
    const refusal row[] = {
        {strategy && !tutti_strategy_with_store(strategy), "strategy", o->strategy.name,
            "does not go with servers and clients as jobs of their own (TUTTI_KV_ROLE): use sync, "
            "elastic, async or bounded"},
        {gives_more(o), "strategy", o->strategy.name,
            "clients that are jobs of their own have no rounds: leave out round="},
        {p->replicas || p->blocks, "layout", o->layout.text,
            "clients= says how many clients there are, whose replicas share no layers: leave out "
            "replicas= and split="},
        {strcmp(o->exchange.algorithm, "priced") == 0, "algorithm", o->exchange.algorithm,
            "prices need the links of all jobs, which none knows: use rules:FILE or a name"},
        {p->everywhere, "layout", o->layout.text,
            "servers of a store of keys (async, bounded, or jobs) train nothing: use servers=1, or "
            "more"},
        {o->layout.text && !p->servers && (!o->strategy.jobs || !p->stages), "layout",
            o->layout.text, "this run has servers: use servers=1, or more"},
        {!o->update.rule->stored, "optimizer", o->update.rule->name,
            "the servers of this run have sgd, adam and adamw: take one of these"},
        {!o->update.clip_norm.word, "clip-norm", NULL, parts},
        {o->travel.codec && o->travel.codec->compresses, "compress", o->travel.compress_name,
            parts},
        {o->travel.wire != TUTTI_F32, o->travel.codec ? "compress" : "wire",
            o->travel.codec ? o->travel.compress_name : o->travel.wire_name,
            "servers add gradients as f32: leave it out"},
        {pushes && !bucket->word && bucket->value > 0, "bucket-mb", NULL, sums},
        {pushes && !strcmp(o->exchange.priority_name, "on"), "priority", "on", sums},
        {pushes && differs_in_transport(o), "transport", o->machine.transport,
            "gradients that are pushed to a store of keys (async, bounded, or sync as jobs) go "
            "over what the variable TUTTI_TRANSPORT names: set that, and leave this out"},
        {!o->update.ema.word, "ema", NULL,
            "the servers of this run keep no averages: leave it out"},
        {o->exchange.design_auto, "design", o->exchange.design_name,
            "it cannot time what servers do: name a design"},
        {o->exchange.design->start->main_drives || o->exchange.design->unsafe, "design",
            o->exchange.design_name,
            "it ends one collective before it begins the next, but a server waits for all clients "
            "at once: "
            "take another design"},
        {tutti_shards_local(o->images.shards), "shards", o->images.shards,
            "servers read no images: use shared"},
        {!strcmp(o->machine.device, "cuda"), "device", o->machine.device,
            "workers push gradients from main memory: use cpu"},
        {!o->evaluation.patience.word, "patience", NULL,
            "the other clients would continue: use --epochs, or --stop-after"},
        {o->evaluation.only, "evaluate", NULL,
            "it needs no servers: leave out --strategy, --layout and TUTTI_KV_ROLE"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].refused)
            return tutti_conf_refuse(&o->conf, row[i].option, row[i].value, row[i].reason);
    return TUTTI_OK;
}
