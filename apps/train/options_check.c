#include "apps/train/options.h"

#include "collectives/choose.h"
#include "collectives/lasting.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/run/run.h"
#include "dag/strategies/strategies.h"
#include "designs/elastic/elastic_start.h"
#include "designs/exchange/settings.h"
#include "designs/thread/comm_core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tutti_status refuse_number(
    const tutti_train_options *o, const char *name, int64_t value, const char *reason)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return tutti_conf_refuse(&o->conf, name, text, reason);
}

static tutti_status check_files(const tutti_train_options *o)
{
    int blind = o->evaluation.every.word == TUTTI_EVAL_NEVER;
    if (o->evaluation.only && !o->checkpoint.resume && !o->checkpoint.init_from)
        return tutti_conf_refuse(
            &o->conf, "evaluate", NULL, "name the weights with --init-from FILE");
    if (o->evaluation.only && (o->checkpoint.file || blind))
        return tutti_conf_refuse(&o->conf, "evaluate", NULL,
            o->checkpoint.file ? "it changes no weights, so leave out --checkpoint"
                               : "leave out --eval-every never");
    if (o->checkpoint.keep_best && (!o->checkpoint.file || blind))
        return tutti_conf_refuse(&o->conf, "keep-best", NULL,
            o->checkpoint.file ? "there is no test accuracy with --eval-every never"
                               : "it needs --checkpoint FILE, beside which it saves FILE.best");
    if ((!o->checkpoint.every.word || !o->checkpoint.minutes.word) && !o->checkpoint.file)
        return tutti_conf_refuse(&o->conf,
            o->checkpoint.every.word ? "checkpoint-minutes" : "checkpoint-every", NULL,
            "it needs --checkpoint FILE");
    if (!o->evaluation.patience.word && o->evaluation.every.word)
        return refuse_number(o, "patience", o->evaluation.patience.value,
            "it needs evaluations during the run: give --eval-every a number of epochs");
    return TUTTI_OK;
}

/* By the option that was given. */
static tutti_status refuse_wire(const tutti_train_options *o, const char *reason)
{
    return o->travel.codec
               ? tutti_conf_refuse(&o->conf, "compress", o->travel.compress_name, reason)
               : tutti_conf_refuse(&o->conf, "wire", o->travel.wire_name, reason);
}

static int compresses(const tutti_train_options *o)
{
    return o->travel.codec && o->travel.codec->compresses;
}

/* Codes are of whole gradients, which every replica has, and of which every replica gets the sum. */
static tutti_status check_compress(const tutti_train_options *o)
{
    if (!compresses(o)) return TUTTI_OK;
    if (o->strategy.kind && !o->strategy.kind->compresses && !o->strategy.stored)
        return tutti_conf_refuse(&o->conf, "compress", o->travel.compress_name,
            o->strategy.kind->alone
                ? "is for sums of gradients over ranks, of which this --strategy has none: leave "
                  "one of them out"
                : "every rank needs the sums of whole gradients: use --strategy sync");
    if (o->layout.value.placement.blocks > 1)
        return tutti_conf_refuse(&o->conf, "compress", o->travel.compress_name,
            "it needs whole gradients on every replica: leave out split of --layout");
    return TUTTI_OK;
}

/* Replicas that train alone sum no gradients. */
static tutti_status check_alone(const tutti_train_options *o)
{
    char reason[160];
    snprintf(reason, sizeof reason,
        "is for sums of gradients over ranks, of which --strategy %s has none: leave it out",
        o->strategy.kind->name);
    if (o->travel.wire != TUTTI_F32) return refuse_wire(o, reason);
    if (strcmp(o->exchange.priority_name, "on") == 0)
        return tutti_conf_refuse(&o->conf, "priority", "on", reason);
    return TUTTI_OK;
}

/* A strategy that shards gradients leaves no rank a whole one. */
static tutti_status check_strategy(const tutti_train_options *o)
{
    char reason[128];
    if (o->strategy.kind && o->strategy.kind->needs_servers && !o->strategy.jobs &&
        !o->layout.value.placement.servers)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy.name,
            "needs parameter servers: add --layout servers=1, or more");
    if (o->strategy.kind && o->strategy.kind->alone && !o->layout.value.placement.servers)
        return check_alone(o);
    if (!o->strategy.kind || !o->strategy.kind->shards) return TUTTI_OK;
    snprintf(reason, sizeof reason, "it needs whole gradients, which --strategy %s leaves no rank",
        o->strategy.kind->name);
    if (!o->update.rule->cut && o->strategy.kind->roots)
        return tutti_conf_refuse(&o->conf, "optimizer", o->update.rule->name,
            "it cannot leave what it keeps to one rank, as --strategy rooted wants: use sync");
    if (!o->update.rule->cut)
        return tutti_conf_refuse(&o->conf, "optimizer", o->update.rule->name, reason);
    if (!o->update.clip_norm.word && !o->strategy.kind->roots)
        return tutti_conf_refuse(&o->conf, "clip-norm", NULL, reason);
    return TUTTI_OK;
}

/* Each server adds the whole gradients of its keys, as float32. */
static tutti_status check_servers(const tutti_train_options *o)
{
    static const char parts[] =
        "of gradients each server of --layout has a part: leave out one of them";
    char reason[128];
    const tutti_strategy *served =
        o->strategy.kind ? tutti_strategy_with_servers(o->strategy.kind) : NULL;
    if (o->strategy.kind && !served) {
        snprintf(reason, sizeof reason,
            "has no part for servers: use sync, elastic, async or bounded, or leave servers out of "
            "--layout %s",
            o->layout.text);
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy.name, reason);
    }
    if (o->layout.value.placement.everywhere && served && !served->everywhere)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy.name,
            "needs servers that train nothing: use --layout servers=1, or more, not all");
    if (compresses(o))
        return tutti_conf_refuse(&o->conf, "compress", o->travel.compress_name, parts);
    if (!o->update.clip_norm.word && !(o->strategy.kind && o->strategy.kind->alone))
        return tutti_conf_refuse(&o->conf, "clip-norm", NULL, parts);
    if (o->travel.wire != TUTTI_F32)
        return refuse_wire(o, "servers add gradients as f32: leave it out, or servers of --layout");
    return TUTTI_OK;
}

static int is_mixed(const tutti_train_options *o)
{
    return !o->labels.mixup.word || !o->labels.cutmix.word;
}

int64_t tutti_train_options_parts(const tutti_train_options *o)
{
    return is_mixed(o) ? o->batch / 2 : o->batch;
}

static tutti_status check_layout(const tutti_train_options *o)
{
    const tutti_layout *l = &o->layout.value;
    const tutti_placement *p = &l->placement;
    char reason[256];
    if (l->timed && !strcmp(o->machine.device, "cuda"))
        return tutti_conf_refuse(&o->conf, "stage-layers", o->layout.stage_layers,
            "kernels of GPUs are not timed: use auto, or the number of layers of each stage");
    if (p->stages < 2 && (l->timed || l->stage_layers[0]))
        return tutti_conf_refuse(&o->conf, "stage-layers", o->layout.stage_layers,
            "it needs --layout with two or more stages");
    if (p->blocks > 1) {
        static const char whole[] =
            "it needs whole gradients, which --layout split leaves no rank: leave out one of them";
        if (!o->update.rule->cut)
            return tutti_conf_refuse(&o->conf, "optimizer", o->update.rule->name, whole);
        if (!o->update.clip_norm.word) return tutti_conf_refuse(&o->conf, "clip-norm", NULL, whole);
        if (o->strategy.kind && !o->strategy.kind->divides)
            return tutti_conf_refuse(&o->conf, "strategy", o->strategy.kind->name,
                "it needs whole layers on every replica: leave out split of --layout");
    }
    if (p->servers && !o->strategy.stored) {
        tutti_status status = check_servers(o);
        if (status) return status;
    }
    if (p->stages > 1 && o->strategy.kind && o->strategy.kind->mixings &&
        !o->strategy.kind->needs_servers)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy.kind->name,
            "its replicas meet as wholes, each on one rank: leave out stages of --layout, or use "
            "--strategy local");
    if (!tutti_placement_is_divided(p)) return TUTTI_OK;
    if (p->stages > 1 && l->micro_batches && tutti_train_options_parts(o) % l->micro_batches) {
        snprintf(reason, sizeof reason,
            "must divide the batch (--batch %" PRId64 "%s) into equal parts for --layout %s",
            o->batch, is_mixed(o) ? ", in pairs" : "", o->layout.text);
        return refuse_number(o, "micro-batches", l->micro_batches, reason);
    }
    if (strcmp(o->exchange.priority_name, "on") == 0)
        return tutti_conf_refuse(&o->conf, "priority", "on",
            "the ranks of this layout have different collectives, so they cannot agree on an "
            "order");
    if (tutti_shards_local(o->images.shards))
        return tutti_conf_refuse(&o->conf, "shards", o->images.shards,
            p->stages > 1   ? "only the first stage of each replica reads images: use shared"
            : p->everywhere ? "not with servers of --layout: use shared"
            : p->servers    ? "servers of --layout read no images: use shared"
                            : "replicas that share layers need equally many images: use shared");
    return TUTTI_OK;
}

static tutti_status check_machine(const tutti_train_options *o)
{
    char reason[256];
    int most = tutti_run_starpu_max_workers();
    if (o->machine.workers <= most) return TUTTI_OK;
    snprintf(reason, sizeof reason,
        "this build of StarPU supports at most %d CPU workers per process", most);
    return refuse_number(o, "workers", o->machine.workers, reason);
}

/* What a batch is cut into: micro-batches, each of at least an image, or, with mix-up, of a pair. */
static tutti_status check_batch(const tutti_train_options *o)
{
    char reason[256];
    if (o->machine.tf32 && strcmp(o->machine.device, "cpu") == 0)
        return tutti_conf_refuse(
            &o->conf, "tf32", NULL, "the CPU does not compute so: use it with --device cuda");
    const int cuts = strcmp(o->machine.device, "cuda") == 0 ? 1 : (int)o->machine.workers;
    const int parts =
        tutti_layout_micro_batches(&o->layout.value, tutti_train_options_parts(o), cuts);
    const char *cut = o->layout.micro_batches.word ? "workers" : "micro-batches";
    if (parts > o->batch) {
        snprintf(reason, sizeof reason, "more %s than images in a batch (--batch %" PRId64 ")", cut,
            o->batch);
        return refuse_number(o, cut, parts, reason);
    }
    if (!o->labels.mixup.word && !o->labels.cutmix.word)
        return tutti_conf_refuse(&o->conf, "cutmix", NULL,
            "images are mixed in one way alone: use either --mixup or --cutmix");
    const char *mix = !o->labels.cutmix.word ? "cutmix" : "mixup";
    const int mixed = is_mixed(o);
    if (mixed && o->batch % 2) {
        snprintf(reason, sizeof reason, "must be even: --%s mixes images in pairs", mix);
        return refuse_number(o, "batch", o->batch, reason);
    }
    if (mixed && parts > o->batch / 2) {
        snprintf(reason, sizeof reason,
            "more %s than pairs of images, which --%s mixes, in a batch (--batch %" PRId64 ")", cut,
            mix, o->batch);
        return refuse_number(o, cut, parts, reason);
    }
    return TUTTI_OK;
}

static tutti_status check_images(const tutti_train_options *o)
{
    char reason[256];
    if (!o->images.eval_size.word && !o->images.resize.word &&
        o->images.resize.value < o->images.eval_size.value) {
        snprintf(reason, sizeof reason, "is smaller than --eval-size %" PRId64,
            o->images.eval_size.value);
        return refuse_number(o, "eval-resize", o->images.resize.value, reason);
    }
    return TUTTI_OK;
}

static tutti_status check_plateau(const tutti_train_options *o)
{
    if (!tutti_rate_schedule_waits(o->rate.schedule)) return TUTTI_OK;
    if (o->evaluation.every.word)
        return tutti_conf_refuse(&o->conf, "rate-schedule", o->rate.schedule_name,
            "it needs evaluations during the run: give --eval-every a number of epochs");
    return !o->strategy.stored
               ? TUTTI_OK
               : tutti_conf_refuse(&o->conf, "rate-schedule", o->rate.schedule_name,
                     "each client of a store of keys would lower its own rate: take another "
                     "schedule");
}

/* A run that looks for a rate ends without weights. */
static tutti_status check_find_rate(const tutti_train_options *o)
{
    const struct {
        int refused;
        const char *reason;
    } row[] = {{o->checkpoint.file != NULL, "it saves no weights: leave out --checkpoint"},
        {o->checkpoint.resume != NULL,
            "use --init-from to begin with the weights of a file, and not --resume"},
        {o->evaluation.only, "it trains: leave out --evaluate"},
        {!o->steps.word || !o->stop_after.word,
            "it has --find-lr-steps: leave out --steps and --stop-after"},
        {!o->evaluation.patience.word, "it evaluates nothing: leave out --patience"},
        {tutti_rate_schedule_waits(o->rate.schedule),
            "it evaluates nothing: leave out --rate-schedule plateau"},
        {o->strategy.stored,
            "the clients of a store of keys would end at different rates: use --strategy sync"}};
    char text[32];
    if (!o->find_rate.picture) return TUTTI_OK;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].refused)
            return tutti_conf_refuse(&o->conf, "find-lr", o->find_rate.picture, row[i].reason);
    if (o->find_rate.from < o->find_rate.to) return TUTTI_OK;
    snprintf(text, sizeof text, "%g", o->find_rate.from);
    return tutti_conf_refuse(&o->conf, "find-lr-from", text, "must be less than --find-lr-to");
}

/* Names of layers are the same for images of any size. */
static tutti_status check_rates(const tutti_train_options *o)
{
    tutti_net *net = NULL;
    tutti_layer_rates_fault fault;
    if (!o->rate.layers.freeze && !o->rate.layers.scale) return TUTTI_OK;
    if (o->strategy.stored)
        return tutti_conf_refuse(&o->conf, o->rate.layers.freeze ? "freeze" : "lr-scale",
            o->rate.layers.freeze ? o->rate.layers.freeze : o->rate.layers.scale,
            "the servers of a store of keys update all layers alike: leave it out, or use "
            "--strategy sync");
    tutti_status status = tutti_model_net(o->model, &o->model->input, &net);
    if (!status && !tutti_layer_rates_apply(&o->rate.layers, net, &fault))
        status = tutti_conf_refuse(&o->conf, fault.option, fault.value, fault.reason);
    tutti_net_free(net);
    return status;
}

static tutti_status check_design(const tutti_train_options *o)
{
    char reason[256];
    int64_t lanes = tutti_conf_int_or(o->exchange.lanes, 1);
    if (lanes > 1 && !o->exchange.design->many_lanes) {
        snprintf(reason, sizeof reason, "the design \"%s\" has one lane", o->exchange.design->name);
        return refuse_number(o, "lanes", lanes, reason);
    }
    if (o->exchange.design_auto && o->check_only)
        return tutti_conf_refuse(&o->conf, o->remote_buffers ? "remote-buffers" : "check-only",
            NULL, "it checks one design: name it with --design, instead of auto");
    if (o->exchange.design->unsafe && !o->exchange.unsafe)
        return tutti_conf_refuse(&o->conf, "design", o->exchange.design->name,
            "it can hang or sum the wrong buffers, on purpose: add --unsafe to run it");
    const char *fault = tutti_setting_wire_fault(o->exchange.algorithm, o->travel.wire);
    if (fault) return refuse_wire(o, fault);
    return tutti_comm_core_check("--comm-core", o->exchange.comm_core);
}

static tutti_status check_stall(const tutti_train_options *o)
{
    return tutti_watch_check(&o->exchange.stall);
}

/* What an elastic run has no part for; every rank has all of a snapshot. */
static tutti_status check_elastic(const tutti_train_options *o)
{
    static const char own[] = "an elastic run has connections of its own: leave it out",
                      whole[] =
                          "in an elastic run, each rank has a replica and all that belongs to "
                          "it: leave it out",
                      changes[] = "an elastic run has not always the same ranks: leave it out";
    const struct {
        int refused;
        const char *option, *value, *reason;
    } row[] = {{o->layout.text != NULL, "layout", o->layout.text, whole},
        {o->strategy.kind && !o->strategy.kind->regroups, "strategy", o->strategy.name,
            "an elastic run has the strategies sync, sharded, local and gossip"},
        {compresses(o), "compress", o->travel.compress_name, whole},
        {o->exchange.design_auto, "design", "auto",
            "an elastic run does not try designs: name one, such as funneled"},
        {o->exchange.design->start->main_drives, "design", o->exchange.design->name,
            "in an elastic run, the thread that trains cannot drive collectives: use funneled"},
        {tutti_shards_local(o->images.shards), "shards", o->images.shards,
            "each rank of an elastic run has to see all images: use --shards shared"},
        {strcmp(o->machine.device, "cpu") != 0, "device", o->machine.device,
            "an elastic run computes on CPUs: use --device cpu"},
        {strcmp(o->machine.transport, "auto") != 0 &&
                !(o->elastic.least && strcmp(o->machine.transport, "mpi") == 0),
            "transport", o->machine.transport, own},
        {tutti_algorithm_is_library(o->exchange.algorithm), "algorithm", o->exchange.algorithm,
            own},
        {tutti_algorithm_file(o->exchange.algorithm) ||
                tutti_algorithm_rules(o->exchange.algorithm),
            "algorithm", o->exchange.algorithm, changes},
        {o->exchange.topology != NULL, "topology", o->exchange.topology, changes},
        {o->outputs.trace != NULL, "trace", o->outputs.trace,
            "an elastic run records no trace: leave it out"},
        {o->find_rate.picture != NULL, "find-lr", o->find_rate.picture,
            "it is not for elastic runs"},
        {o->check_only, "check-only", NULL, "it is not for elastic runs"},
        {o->evaluation.only, "evaluate", NULL, "it is not for elastic runs"}};
    const char *lacks = tutti_elastic_start_asked()
                            ? "tutti-run --elastic LEAST:MOST says it: leave it out"
                            : tutti_lasting_lacks();
    if (o->elastic.least && lacks) return refuse_number(o, "least-ranks", o->elastic.least, lacks);
    if (!o->elastic.on && !o->elastic.snapshot_steps.word)
        return refuse_number(o, "snapshot-steps", o->elastic.snapshot_steps.value,
            "only elastic runs make snapshots: start it with tutti-run --elastic");
    if (!o->elastic.on && o->elastic.batch_global)
        return tutti_conf_refuse(&o->conf, "batch-rule", o->elastic.batch_rule_name,
            "the ranks change in elastic runs only: start it with tutti-run --elastic");
    for (size_t i = 0; o->elastic.on && i < sizeof row / sizeof *row; i++)
        if (row[i].refused)
            return tutti_conf_refuse(&o->conf, row[i].option, row[i].value, row[i].reason);
    return TUTTI_OK;
}

tutti_status tutti_train_options_check(const tutti_train_options *o)
{
    static tutti_status (*const checks[])(const tutti_train_options *) = {check_machine,
        check_compress, check_strategy, check_layout, check_batch, check_images, check_plateau,
        check_find_rate, check_rates, check_files, check_design, check_elastic, check_stall};
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !status; i++) status = checks[i](o);
    return status;
}
