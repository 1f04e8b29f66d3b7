#include "apps/train/options.h"

#include "collectives/choose.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/run/run.h"
#include "dag/strategies/strategies.h"
#include "designs/exchange/settings.h"
#include "designs/thread/comm_core.h"
#include "designs/watch/watch.h"

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
    int blind = o->eval_every.word == TUTTI_EVAL_NEVER;
    if (o->evaluate && !o->resume && !o->init_from)
        return tutti_conf_refuse(
            &o->conf, "evaluate", NULL, "name the weights with --init-from FILE");
    if (o->evaluate && (o->checkpoint || blind))
        return tutti_conf_refuse(&o->conf, "evaluate", NULL,
            o->checkpoint ? "it changes no weights, so leave out --checkpoint"
                          : "leave out --eval-every never");
    if (o->keep_best && (!o->checkpoint || blind))
        return tutti_conf_refuse(&o->conf, "keep-best", NULL,
            o->checkpoint ? "there is no test accuracy with --eval-every never"
                          : "it needs --checkpoint FILE, beside which it saves FILE.best");
    if ((!o->checkpoint_every.word || !o->checkpoint_minutes.word) && !o->checkpoint)
        return tutti_conf_refuse(&o->conf,
            o->checkpoint_every.word ? "checkpoint-minutes" : "checkpoint-every", NULL,
            "it needs --checkpoint FILE");
    if (!o->patience.word && blind)
        return refuse_number(
            o, "patience", o->patience.value, "there is no test accuracy with --eval-every never");
    return TUTTI_OK;
}

/* By the option that was given. */
static tutti_status refuse_wire(const tutti_train_options *o, const char *reason)
{
    return o->codec ? tutti_conf_refuse(&o->conf, "compress", o->compress_name, reason)
                    : tutti_conf_refuse(&o->conf, "wire", o->wire_name, reason);
}

static int compresses(const tutti_train_options *o)
{
    return o->codec && o->codec->compresses;
}

/* Codes are of whole gradients, which every replica has, and of which every replica gets the sum. */
static tutti_status check_compress(const tutti_train_options *o)
{
    if (*o->compress_fault)
        return tutti_conf_refuse(&o->conf, "compress", o->compress_name, o->compress_fault);
    if (!compresses(o)) return TUTTI_OK;
    if (o->strategy && !o->strategy->compresses && !o->stored)
        return tutti_conf_refuse(&o->conf, "compress", o->compress_name,
            o->strategy->alone
                ? "is for sums of gradients over ranks, of which this --strategy has none: leave "
                  "one of them out"
                : "every rank needs the sums of whole gradients: use --strategy sync");
    if (o->layout.placement.blocks > 1)
        return tutti_conf_refuse(&o->conf, "compress", o->compress_name,
            "it needs whole gradients on every replica: leave out split of --layout");
    return TUTTI_OK;
}

/* Replicas that train alone sum no gradients. */
static tutti_status check_alone(const tutti_train_options *o)
{
    char reason[160];
    snprintf(reason, sizeof reason,
        "is for sums of gradients over ranks, of which --strategy %s has none: leave it out",
        o->strategy->name);
    if (o->wire != TUTTI_F32) return refuse_wire(o, reason);
    if (strcmp(o->priority_name, "on") == 0)
        return tutti_conf_refuse(&o->conf, "priority", "on", reason);
    return TUTTI_OK;
}

/* A strategy that shards gradients leaves no rank a whole one. */
static tutti_status check_strategy(const tutti_train_options *o)
{
    char reason[128];
    if (*o->strategy_fault)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name, o->strategy_fault);
    if (o->strategy && o->strategy->needs_servers && !o->jobs && !o->layout.placement.servers)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name,
            "needs parameter servers: add --layout servers=1, or more");
    if (o->strategy && o->strategy->alone && !o->layout.placement.servers) return check_alone(o);
    if (!o->strategy || !o->strategy->shards) return TUTTI_OK;
    snprintf(reason, sizeof reason, "it needs whole gradients, which --strategy %s leaves no rank",
        o->strategy->name);
    if (!o->optimizer->cut && o->strategy->roots)
        return tutti_conf_refuse(&o->conf, "optimizer", o->optimizer->name,
            "it cannot leave what it keeps to one rank, as --strategy rooted wants: use sync");
    if (!o->optimizer->cut)
        return tutti_conf_refuse(&o->conf, "optimizer", o->optimizer->name, reason);
    if (!o->clip_norm.word && !o->strategy->roots)
        return tutti_conf_refuse(&o->conf, "clip-norm", NULL, reason);
    return TUTTI_OK;
}

/* Each server adds the whole gradients of its keys, as float32. */
static tutti_status check_servers(const tutti_train_options *o)
{
    static const char parts[] =
        "of gradients each server of --layout has a part: leave out one of them";
    char reason[128];
    const tutti_strategy *served = o->strategy ? tutti_strategy_with_servers(o->strategy) : NULL;
    if (o->strategy && !served) {
        snprintf(reason, sizeof reason,
            "has no part for servers: use sync, elastic, async or bounded, or leave servers out of "
            "--layout %s",
            o->layout_text);
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name, reason);
    }
    if (o->layout.placement.everywhere && served && !served->everywhere)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name,
            "needs servers that train nothing: use --layout servers=1, or more, not all");
    if (compresses(o)) return tutti_conf_refuse(&o->conf, "compress", o->compress_name, parts);
    if (!o->clip_norm.word && !(o->strategy && o->strategy->alone))
        return tutti_conf_refuse(&o->conf, "clip-norm", NULL, parts);
    if (o->wire != TUTTI_F32)
        return refuse_wire(o, "servers add gradients as f32: leave it out, or servers of --layout");
    return TUTTI_OK;
}

static tutti_status check_layout(const tutti_train_options *o)
{
    const tutti_layout *l = &o->layout;
    const tutti_placement *p = &l->placement;
    char reason[256];
    if (o->layout_fault)
        return tutti_conf_refuse(&o->conf, "layout", o->layout_text, o->layout_fault);
    if (!o->layers_read)
        return tutti_conf_refuse(&o->conf, "stage-layers", o->stage_layers,
            "must be auto, timed, or the number of layers of each stage, such as 10,12");
    if (l->timed && !strcmp(o->device, "cuda"))
        return tutti_conf_refuse(&o->conf, "stage-layers", o->stage_layers,
            "kernels of GPUs are not timed: use auto, or the number of layers of each stage");
    if (p->stages < 2 && (l->timed || l->stage_layers[0]))
        return tutti_conf_refuse(
            &o->conf, "stage-layers", o->stage_layers, "it needs --layout with two or more stages");
    if (p->blocks > 1) {
        static const char whole[] =
            "it needs whole gradients, which --layout split leaves no rank: leave out one of them";
        if (!o->optimizer->cut)
            return tutti_conf_refuse(&o->conf, "optimizer", o->optimizer->name, whole);
        if (!o->clip_norm.word) return tutti_conf_refuse(&o->conf, "clip-norm", NULL, whole);
        if (o->strategy && !o->strategy->divides)
            return tutti_conf_refuse(&o->conf, "strategy", o->strategy->name,
                "it needs whole layers on every replica: leave out split of --layout");
    }
    if (p->servers && !o->stored) {
        tutti_status status = check_servers(o);
        if (status) return status;
    }
    if (p->stages > 1 && o->strategy && o->strategy->mixings && !o->strategy->needs_servers)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy->name,
            "its replicas meet as wholes, each on one rank: leave out stages of --layout, or use "
            "--strategy local");
    if (!tutti_placement_is_divided(p)) return TUTTI_OK;
    if (p->stages > 1 && l->micro_batches && o->batch % l->micro_batches) {
        snprintf(reason, sizeof reason,
            "must divide the batch (--batch %" PRId64 ") into equal parts for --layout %s",
            o->batch, o->layout_text);
        return refuse_number(o, "micro-batches", l->micro_batches, reason);
    }
    if (strcmp(o->priority_name, "on") == 0)
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
    if (o->workers <= most) return TUTTI_OK;
    snprintf(reason, sizeof reason,
        "this build of StarPU supports at most %d CPU workers per process", most);
    return refuse_number(o, "workers", o->workers, reason);
}

/* What a batch is cut into: micro-batches, each of at least an image, or, with mix-up, of a pair. */
static tutti_status check_batch(const tutti_train_options *o)
{
    char reason[256];
    if (o->tf32 && strcmp(o->device, "cpu") == 0)
        return tutti_conf_refuse(
            &o->conf, "tf32", NULL, "the CPU does not compute so: use it with --device cuda");
    const int cuts = strcmp(o->device, "cuda") == 0 ? 1 : (int)o->workers;
    const int parts = tutti_layout_micro_batches(&o->layout, o->batch, cuts);
    const char *cut = o->micro_batches.word ? "workers" : "micro-batches";
    if (parts > o->batch) {
        snprintf(reason, sizeof reason, "more %s than images in a batch (--batch %" PRId64 ")", cut,
            o->batch);
        return refuse_number(o, cut, parts, reason);
    }
    if (!o->mixup.word && !o->cutmix.word)
        return tutti_conf_refuse(&o->conf, "cutmix", NULL,
            "images are mixed in one way alone: use either --mixup or --cutmix");
    const char *mix = !o->cutmix.word ? "cutmix" : "mixup";
    const int mixed = !o->mixup.word || !o->cutmix.word;
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
    if (!o->rand_augment_read)
        return tutti_conf_refuse(&o->conf, "rand-augment", o->images.rand_augment,
            "must be none, or how many operations (1 to 8) and their magnitude (0 to 30), such as "
            "2,9");
    if (!o->jitter_read)
        return tutti_conf_refuse(&o->conf, "jitter", o->images.jitter,
            "must be none, or three numbers from 0 to 1 for brightness, contrast and saturation, "
            "such as 0.4,0.4,0.4");
    if (o->held_out < 0)
        return tutti_conf_refuse(&o->conf, "split", o->images.split,
            "must be a share from 0.001 to 0.9, and may be followed by a seed, such as 0.2,7");
    if (o->window < 0)
        return tutti_conf_refuse(&o->conf, "shuffle", o->images.shuffle,
            "must be full, or window:G for shuffling within runs of G images, 2 to 1000000000");
    if (!o->images.eval_size.word && !o->images.resize.word &&
        o->images.resize.value < o->images.eval_size.value) {
        snprintf(reason, sizeof reason, "is smaller than --eval-size %" PRId64,
            o->images.eval_size.value);
        return refuse_number(o, "eval-resize", o->images.resize.value, reason);
    }
    return TUTTI_OK;
}

static tutti_status check_milestones(const tutti_train_options *o)
{
    char reason[256];
    if (o->milestones) return TUTTI_OK;
    snprintf(reason, sizeof reason,
        "must be up to %d ascending epochs from 1 on, separated by commas", TUTTI_RATE_MILESTONES);
    return tutti_conf_refuse(&o->conf, "milestones", o->milestones_text, reason);
}

static tutti_status check_plateau(const tutti_train_options *o)
{
    if (!tutti_rate_schedule_waits(o->rate_schedule)) return TUTTI_OK;
    if (o->eval_every.word)
        return tutti_conf_refuse(&o->conf, "rate-schedule", o->rate_schedule_name,
            "it needs evaluations while the run goes on: give --eval-every a number of epochs");
    return !o->stored ? TUTTI_OK
                      : tutti_conf_refuse(&o->conf, "rate-schedule", o->rate_schedule_name,
                            "each client of a store of keys would lower its own rate: take another "
                            "schedule");
}

/* A run that looks for a rate ends without weights. */
static tutti_status check_find_rate(const tutti_train_options *o)
{
    const struct {
        int refused;
        const char *reason;
    } row[] = {{o->checkpoint != NULL, "it saves no weights: leave out --checkpoint"},
        {o->resume != NULL,
            "use --init-from to begin with the weights of a file, and not --resume"},
        {o->evaluate, "it trains: leave out --evaluate"},
        {!o->steps.word || !o->stop_after.word,
            "it has --find-lr-steps: leave out --steps and --stop-after"},
        {!o->patience.word, "it evaluates nothing: leave out --patience"},
        {tutti_rate_schedule_waits(o->rate_schedule),
            "it evaluates nothing: leave out --rate-schedule plateau"},
        {o->stored,
            "the clients of a store of keys would end at different rates: use --strategy sync"}};
    char text[32];
    if (!o->find_rate) return TUTTI_OK;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].refused)
            return tutti_conf_refuse(&o->conf, "find-lr", o->find_rate, row[i].reason);
    if (o->find_rate_from < o->find_rate_to) return TUTTI_OK;
    snprintf(text, sizeof text, "%g", o->find_rate_from);
    return tutti_conf_refuse(&o->conf, "find-lr-from", text, "must be less than --find-lr-to");
}

/* Names of layers are the same for images of any size. */
static tutti_status check_rates(const tutti_train_options *o)
{
    tutti_net *net = NULL;
    tutti_layer_rates_fault fault;
    if (!o->rates.freeze && !o->rates.scale) return TUTTI_OK;
    if (o->stored)
        return tutti_conf_refuse(&o->conf, o->rates.freeze ? "freeze" : "lr-scale",
            o->rates.freeze ? o->rates.freeze : o->rates.scale,
            "the servers of a store of keys update all layers alike: leave it out, or use "
            "--strategy sync");
    tutti_status status = tutti_model_net(o->model, &o->model->input, &net);
    if (!status && !tutti_layer_rates_apply(&o->rates, net, &fault))
        status = tutti_conf_refuse(&o->conf, fault.option, fault.value, fault.reason);
    tutti_net_free(net);
    return status;
}

static tutti_status check_design(const tutti_train_options *o)
{
    char reason[256];
    int64_t lanes = tutti_conf_int_or(o->lanes, 1);
    if (lanes > 1 && !o->design->many_lanes) {
        snprintf(reason, sizeof reason, "the design \"%s\" has one lane", o->design->name);
        return refuse_number(o, "lanes", lanes, reason);
    }
    if (o->design_auto && o->check_only)
        return tutti_conf_refuse(&o->conf, o->remote_buffers ? "remote-buffers" : "check-only",
            NULL, "it checks one design: name it with --design, instead of auto");
    if (o->design->unsafe && !o->unsafe)
        return tutti_conf_refuse(&o->conf, "design", o->design->name,
            "it can hang or sum the wrong buffers, on purpose: add --unsafe to run it");
    const char *fault = tutti_setting_wire_fault(o->algorithm, o->wire);
    if (fault) return refuse_wire(o, fault);
    return tutti_comm_core_check("--comm-core", o->comm_core);
}

static tutti_status check_stall(const tutti_train_options *o)
{
    const tutti_watch_options stall = {.warn_s = o->stall_warn_s,
        .dump_s = o->stall_dump_s,
        .abort_s = o->stall_abort_s,
        .name = {"--stall-warn", "--stall-dump", "--stall-abort"}};
    return tutti_watch_check(&stall);
}

static int can_be_elastic(const tutti_strategy *strategy)
{
    static const char *const names[] = {"sync", "sharded", "local", "gossip"};
    for (size_t i = 0; strategy && i < sizeof names / sizeof *names; i++)
        if (strcmp(strategy->name, names[i]) == 0) return 1;
    return !strategy;
}

/* What an elastic run has no part for; every rank has all of a snapshot. */
static tutti_status check_elastic(const tutti_train_options *o)
{
    static const char own[] = "an elastic run has connections of its own: leave it out",
                      whole[] =
                          "in an elastic run, each rank has a replica and all that belongs to "
                          "it: leave it out";
    const struct {
        int refused;
        const char *option, *value, *reason;
    } row[] = {{o->layout_text != NULL, "layout", o->layout_text, whole},
        {!can_be_elastic(o->strategy), "strategy", o->strategy_name,
            "an elastic run has the strategies sync, sharded, local and gossip"},
        {compresses(o), "compress", o->compress_name, whole},
        {o->design_auto, "design", "auto",
            "an elastic run does not try designs: name one, such as funneled"},
        {o->design->start->main_drives, "design", o->design->name,
            "in an elastic run, the thread that trains cannot drive collectives: use funneled"},
        {tutti_shards_local(o->images.shards), "shards", o->images.shards,
            "each rank of an elastic run has to see all images: use --shards shared"},
        {strcmp(o->device, "cpu") != 0, "device", o->device,
            "an elastic run computes on CPUs: use --device cpu"},
        {strcmp(o->transport, "auto") != 0, "transport", o->transport, own},
        {tutti_algorithm_is_library(o->algorithm), "algorithm", o->algorithm, own},
        {o->topology != NULL, "topology", o->topology,
            "an elastic run has not always the same ranks: leave it out"},
        {o->trace != NULL, "trace", o->trace, "an elastic run records no trace: leave it out"},
        {o->find_rate != NULL, "find-lr", o->find_rate, "it is not for elastic runs"},
        {o->check_only, "check-only", NULL, "it is not for elastic runs"},
        {o->evaluate, "evaluate", NULL, "it is not for elastic runs"}};
    if (!o->elastic && !o->snapshot_steps.word)
        return refuse_number(o, "snapshot-steps", o->snapshot_steps.value,
            "only elastic runs make snapshots: start it with tutti-run --elastic");
    if (!o->elastic && o->batch_global)
        return tutti_conf_refuse(&o->conf, "batch-rule", o->batch_rule_name,
            "the ranks change in elastic runs only: start it with tutti-run --elastic");
    for (size_t i = 0; o->elastic && i < sizeof row / sizeof *row; i++)
        if (row[i].refused)
            return tutti_conf_refuse(&o->conf, row[i].option, row[i].value, row[i].reason);
    return TUTTI_OK;
}

tutti_status tutti_train_options_check(const tutti_train_options *o)
{
    static tutti_status (*const checks[])(const tutti_train_options *) = {check_machine,
        check_compress, check_strategy, check_layout, check_batch, check_images, check_milestones,
        check_plateau, check_find_rate, check_rates, check_files, check_design, check_elastic,
        check_stall};
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !status; i++) status = checks[i](o);
    return status;
}
