#include "apps/train/options.h"

#include "apps/session/device.h"
#include "apps/session/transport.h"
#include "apps/session/precision.h"
#include "collectives/choose.h"
#include "config.h"
#include "dag/base/log.h"
#include "dag/run/run.h"
#include "dag/net/codec.h"
#include "dag/net/strategy.h"
#include "dag/net/update_rule.h"
#include "designs/exchange/settings.h"
#include "designs/thread/comm_core.h"
#include "designs/watch/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char auto_design[] = "auto", auto_strategy[] = "auto";

/* The designs of the table, then auto. */
static const char *design_choice(int i)
{
    int designs = 0;
    while (tutti_designs[designs]) designs++;
    return i < designs ? tutti_designs[i]->name : i == designs ? auto_design : NULL;
}

static const char *optimizer_choice(int i)
{
    return tutti_update_rules[i] ? tutti_update_rules[i]->name : NULL;
}

static const char *rate_schedule_choice(int i)
{
    return tutti_rate_schedules[i].name;
}

static const char *pipeline_choice(int i)
{
    static const tutti_emission emissions[] = {TUTTI_EMISSION_1F1B, TUTTI_EMISSION_GPIPE};
    return i < 2 ? tutti_emission_name(emissions[i]) : NULL;
}

static const char *priority_choice(int i)
{
    static const char *const names[] = {"auto", "on", "off", NULL};
    return names[i];
}

#define AT(member) .offset = offsetof(tutti_train_options, member)

static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Data"},
    {TUTTI_CONF_TEXT, "data", "DIR", .flags = TUTTI_CONF_REQUIRED, .environment = "TUTTI_DATA",
        AT(data),
        .help = "folder of the data set; \"synthetic\" or synthetic:HxWxC:CLASSES: generated "
                "images, of the model's size or of this one"},
    {TUTTI_CONF_CHOICE, "format", "NAME", AT(format),
        .help = "format of the data set; if omitted, recognised by content"},
    TUTTI_SETTINGS_DATA(tutti_train_options, images),
    {TUTTI_CONF_INT_OR, "uncropped", "N", .fallback = "auto", .high = 1000000, .words = {"auto"},
        AT(uncropped),
        .help =
            "number of last epochs in which --augment does not crop; auto: a fifth of all epochs"},
    {TUTTI_CONF_INT, "depth", "N", .fallback = "4", .low = 3, .high = 256, AT(depth),
        .help = "batches in memory: up to two in use, the others prefetched"},

    {TUTTI_CONF_HEADING, .help = "Model and training"},
    {TUTTI_CONF_CHOICE, "model", "NAME", AT(model_name), .help = "model"},
    {TUTTI_CONF_CHOICE, "recipe", "NAME", .fallback = "none", AT(recipe_name),
        .help = "defaults of a published training for the options below, which --recipe NAME "
                "--help shows; options that are given count more"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "32", .low = 1, .high = 65536, AT(batch),
        .help = "images per rank and batch"},
    {TUTTI_CONF_INT, "accumulate", "N", .fallback = "1", .low = 1, .high = 65536, AT(accumulate),
        .help = "batches whose gradients a step sums before they are summed over all ranks"},
    {TUTTI_CONF_INT, "epochs", "N", .fallback = "10", .low = 1, .high = 1000000, AT(epochs),
        .help = "passes over the training set"},
    {TUTTI_CONF_INT_OR, "steps", "N", .fallback = "auto", .low = 1, .high = 1e12, .words = {"auto"},
        AT(steps),
        .help = "total number of steps, including those before a --resume; auto: as many as "
                "--epochs takes"},
    {TUTTI_CONF_INT_OR, "stop-after", "N", .fallback = "never", .low = 1, .high = 1e12,
        .words = {"never"}, AT(stop_after),
        .help = "end after this step, but keep the rate schedule of the whole run"},
    {TUTTI_CONF_REAL_OR, "lr", "X", .fallback = "auto", .high = 1000, .words = {"auto"}, AT(rate),
        .help = "highest learning rate; auto: 0.001 for adam and adamw, else the model's own "
                "(tutti-info lists it for 128 images per step), in "
                "proportion to the images per step"},
    {TUTTI_CONF_INT_OR, "lr-images", "N", .fallback = "none", .low = 1, .high = 1e9,
        .words = {"none"}, AT(lr_images),
        .help = "--lr X is for N images per step of all ranks, and in proportion for other "
                "numbers; none: it is as given"},
    {TUTTI_CONF_CHOICE, "rate-schedule", "NAME", .fallback = "cosine",
        .choice = rate_schedule_choice, AT(rate_schedule_name),
        .help = "how the learning rate changes"},
    {TUTTI_CONF_INT_OR, "warmup", "N", .fallback = "auto", .high = 1e12, .words = {"auto"},
        AT(warmup),
        .help = "steps during which the learning rate rises linearly; auto: 10 % of the run for "
                "onecycle, else none"},
    {TUTTI_CONF_REAL_OR, "warmup-epochs", "X", .fallback = "none", .high = 1e6, .words = {"none"},
        AT(warmup_epochs), .help = "the same in epochs, where --warmup is auto"},
    {TUTTI_CONF_REAL_OR, "warmup-from", "X", .fallback = "auto", .high = 1000, .words = {"auto"},
        AT(warmup_from),
        .help = "learning rate of the first step of warm-up, at most the highest; auto: a step's "
                "rise above 1/25 of the highest for onecycle, above 0 for the others"},
    {TUTTI_CONF_TEXT, "milestones", "LIST", .fallback = "30,60,80", AT(milestones_text),
        .help = "epochs after which --rate-schedule milestones lowers the rate, up to 8"},
    {TUTTI_CONF_REAL, "milestone-factor", "X", .fallback = "0.1", .low = 1e-6, .high = 1,
        AT(milestone_factor), .help = "what it multiplies the rate with"},
    {TUTTI_CONF_REAL, "poly-power", "X", .fallback = "1", .low = 0, .high = 100, AT(poly_power),
        .help = "exponent of --rate-schedule poly; 1: a straight line"},
    {TUTTI_CONF_CHOICE, "optimizer", "NAME", .fallback = "sgd", .choice = optimizer_choice,
        AT(optimizer_name), .help = "how gradients change the weights"},
    {TUTTI_CONF_REAL, "momentum", "X", .fallback = "0.9", .high = 0.999999, AT(momentum),
        .help = "momentum of sgd and lars"},
    {TUTTI_CONF_FLAG, "no-nesterov", AT(no_nesterov),
        .help = "use classical momentum instead of Nesterov's, which lars never uses"},
    {TUTTI_CONF_REAL, "beta1", "X", .fallback = "0.9", .high = 0.999999, AT(beta1),
        .help = "of adam and adamw: how much of the mean gradient a step keeps"},
    {TUTTI_CONF_REAL, "beta2", "X", .fallback = "0.999", .high = 0.999999, AT(beta2),
        .help = "of adam and adamw: how much of the mean squared gradient a step keeps"},
    {TUTTI_CONF_REAL, "epsilon", "X", .fallback = "1e-8", .low = 1e-30, .high = 1, AT(epsilon),
        .help = "of adam and adamw: added to the root of the mean squared gradient"},
    {TUTTI_CONF_REAL, "trust", "X", .fallback = "0.02", .low = 1e-6, .high = 1000, AT(trust),
        .help = "trust coefficient of lars: a step at rate 1 moves a tensor by this part of its "
                "length"},
    {TUTTI_CONF_REAL_OR, "weight-decay", "X", .fallback = "auto", .high = 1000, .words = {"auto"},
        AT(weight_decay),
        .help = "weight decay, added to the gradient (adamw: taken from the weight); auto: the "
                "model's own"},
    {TUTTI_CONF_REAL_OR, "clip-norm", "X", .fallback = "none", .low = 1e-6, .high = 1e12,
        .words = {"none"}, AT(clip_norm),
        .help = "scale gradients down to this length, all parameters together; none: leave them"},
    {TUTTI_CONF_REAL_OR, "ema", "X", .fallback = "none", .low = 1e-6, .high = 0.999999,
        .words = {"none"}, AT(ema),
        .help =
            "also average the weights over steps: an average keeps this part of itself in each; "
            "averages are evaluated, and saved with the weights"},
    {TUTTI_CONF_FLAG, "decay-weights-only", AT(weights_only),
        .help = "no weight decay, and no trust coefficient, for biases and for the scales and "
                "shifts of batch normalisation"},
    {TUTTI_CONF_FLAG, "zero-last-scale", AT(zero_last_scale),
        .help = "begin with 0, in place of 1, in the last scale of each residual block, which then "
                "first passes on its input alone"},
    {TUTTI_CONF_REAL_OR, "label-smoothing", "X", .fallback = "auto", .high = 0.999,
        .words = {"auto"}, AT(label_smoothing),
        .help = "part of each label that is spread evenly over all classes; auto: the model's own"},
    {TUTTI_CONF_REAL_OR, "mixup", "ALPHA", .fallback = "none", .low = 0.001, .high = 1000,
        .words = {"none"}, AT(mixup),
        .help = "mix training images, and what is expected of them, in pairs with a weight drawn "
                "from Beta(ALPHA,ALPHA); --batch must be even"},
    TUTTI_SETTING_PRECISION(AT(precision_name)),
    {TUTTI_CONF_INT, "seed", "N", .fallback = "1", .low = 0, .high = 9007199254740991.0, AT(seed),
        .help = "seed of initial weights, order of images, augmentation, mixup and dropout"},
    {TUTTI_CONF_INT_OR, "eval-every", "N", .fallback = "1", .low = 1, .high = 1000000,
        .words = {"end", "never"}, AT(eval_every),
        .help = "epochs between evaluations on the test set; end: only one, at the end of the run"},
    {TUTTI_CONF_INT_OR, "patience", "N", .fallback = "never", .low = 1, .high = 1000000,
        .words = {"never"}, AT(patience),
        .help = "end the run after N evaluations in a row without a better test accuracy"},
    {TUTTI_CONF_FLAG, "evaluate", AT(evaluate),
        .help = "train nothing: evaluate the weights of --init-from or --resume on the test set"},
    {TUTTI_CONF_INT_OR, "eval-views", "N", .fallback = "auto", .low = 1, .high = 2,
        .words = {"auto"}, AT(eval_views),
        .help = "views by which a test image is classified; 1: the image; 2: the mean of the "
                "outputs for it and its mirror image; auto: 2 with --augment, else 1"},

    {TUTTI_CONF_HEADING, .help = "Communication and workers"},
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "funneled", .choice = design_choice,
        .environment = "TUTTI_DESIGN", AT(design_name),
        .help = "how the collectives of the task graph are run; auto: before training, try all "
                "designs, and also buckets, chunks, lanes and priority where you give none"},
    {TUTTI_CONF_TEXT, "tuning", "FILE", .environment = "TUTTI_TUNING", AT(tuning),
        .help = "where --design auto remembers its choice; none: nowhere; if omitted, "
                "~/.cache/tutti/tuning.json"},
    {TUTTI_CONF_REAL_OR, "tuning-time", "S", .fallback = "auto", .high = 1e6, .words = {"auto"},
        .environment = "TUTTI_TUNING_TIME", AT(tuning_time_s),
        .help = "seconds that --design auto may take; auto: 5, or 2 % of the run if that is more"},
    TUTTI_SETTING_LANES(AT(lanes)),
    {TUTTI_CONF_FLAG, "unsafe", AT(unsafe),
        .help = "accept --design naive, which can hang or sum the wrong buffers"},
    TUTTI_SETTING_VERIFY(AT(verify_name)),
    {TUTTI_CONF_FLAG, "check-only", AT(check_only),
        .help = "judge whether the ranks' collectives obey the ordering law, print the verdict, "
                "and exit without training"},
    TUTTI_SETTING_ALGORITHM(AT(algorithm)),
    {TUTTI_CONF_TEXT, "compress", "CODEC", .environment = "TUTTI_COMPRESS", AT(compress_name),
        .help = "how gradients travel: none; bf16: rounded to 2 bytes each; onebit: a bit for each "
                "element; topk:P: the largest share P of the elements, such as topk:0.01; "
                "powersgd:R: a product of rank R, such as powersgd:4. What is not sent is kept for "
                "the next step; if omitted, as --wire says"},
    TUTTI_SETTING_WIRE(AT(wire_name)),
    {TUTTI_CONF_TEXT, "strategy", "NAME", .fallback = auto_strategy,
        .environment = "TUTTI_STRATEGY", AT(strategy_name),
        .help = "sync: every rank gets all sums of gradients and updates all parameters; sharded: "
                "every rank updates a part, keeps momentum of no more, and gathers the rest; both "
                "give the same weights; rooted:b, rooted:ob, rooted:obr: one rank gets all sums, "
                "updates, and broadcasts, nothing, broadcasts or reduces, too, overlapped; "
                "local:period=T,outer=X,momentum=M: replicas train alone for "
                "rounds of T steps (default 8), then average their weights, from which an outer "
                "step of rate X (default 1) with Nesterov momentum M (default 0) may begin; "
                "gossip:ring, gossip:exponential: each averages its weights with those of two "
                "neighbours, or of one in turn, in every step, and with all after period=T steps "
                "(default 1000); elastic:period=T,alpha=A,round=R, with servers of --layout: clients "
                "train alone, and every T steps (default 8) move by A (default 0.1) of the way to a "
                "centre, and it to them; async, with servers: each client's gradients update the "
                "weights when they come; bounded:S: the same, but no client is more than S steps "
                "(default 3) ahead of the slowest; auto: "
                "sync, with sums in any order"},
    TUTTI_SETTING_BUCKET_MB(AT(bucket_mb)),
    TUTTI_SETTING_CHUNK_MB(AT(chunk_mb)),
    {TUTTI_CONF_CHOICE, "priority", "HOW", .fallback = "auto", .choice = priority_choice,
        .environment = "TUTTI_PRIORITY", AT(priority_name),
        .help = "on: gradients that the next step needs first overtake others, in an order agreed "
                "by all ranks (funneled, concurrent); off: program order; auto: on, or what "
                "--design auto finds faster"},
    {TUTTI_CONF_TEXT, "layout", "LAYOUT", .environment = "TUTTI_LAYOUT", AT(layout_text),
        .help =
            "how the ranks divide the work, stages=S,replicas=R: the net is cut into S stages, a "
            "rank each, and R replicas of it train on different images; split=G: groups of G "
            "replicas share the weights of large dense layers; or servers=S,clients=C: the last S "
            "ranks are parameter servers, the others form C clients of equal size (default: each is "
            "one); if omitted, every rank is a replica"},
    {TUTTI_CONF_CHOICE, "pipeline", "NAME", .fallback = "1f1b", .choice = pipeline_choice,
        .environment = "TUTTI_PIPELINE", AT(pipeline_name),
        .help = "order of a stage's passes; 1f1b: one forward, one backward, with as few "
                "activations in memory as keep the stages busy; gpipe: all forward, then all "
                "backward"},
    {TUTTI_CONF_INT_OR, "micro-batches", "M", .fallback = "auto", .low = 1, .high = 65536,
        .words = {"auto"}, .environment = "TUTTI_MICRO_BATCHES", AT(micro_batches),
        .help = "parts that a batch is cut into, each with batch norm's statistics of its own; "
                "auto: one per worker, or in a pipeline the greatest divisor of the batch up to 4 "
                "per stage"},
    {TUTTI_CONF_TEXT, "stage-layers", "A,B,...", .fallback = "auto", AT(stage_layers),
        .help = "layers of each stage, from the first one; auto: such that stages take about the "
                "same time, by counting operations and bytes"},
    {TUTTI_CONF_REAL_OR, "link-mbit", "R", .fallback = "unknown", .low = 1e-3, .high = 1e6,
        .words = {"unknown"}, .environment = "TUTTI_LINK_MBIT", AT(link_mbit),
        .help = "Mbit/s of a rank's link, by which --stage-layers auto weighs what crosses cuts and "
                "what the replicas of a stage exchange; unknown: 1000 for cuts, and sums cost "
                "nothing"},
    TUTTI_SETTING_DEVICE(AT(device)),
    TUTTI_SETTING_TRANSPORT(AT(transport)),
    TUTTI_SETTING_TF32(AT(tf32)),
    TUTTI_SETTING_WORKERS(AT(workers)),
    TUTTI_SETTING_COMM_CORE(AT(comm_core)),
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = "600", .low = 0.1, .high = 1e6,
        .environment = "TUTTI_TIMEOUT", AT(timeout_s),
        .help = "seconds after which a single wait for a step or a batch is an error, even if "
                "something still moves"},
    TUTTI_SETTING_SETUP_TIMEOUT(AT(setup_timeout_s)),
    TUTTI_SETTING_STALL_WARN(AT(stall_warn_s)),
    TUTTI_SETTING_STALL_DUMP(AT(stall_dump_s)),
    TUTTI_SETTING_STALL_ABORT(AT(stall_abort_s)),
    TUTTI_SETTING_STALL_DIR(AT(stall_dir)),
    {TUTTI_CONF_INT_OR, "replica-check", "N", .fallback = "auto", .low = 1, .high = 1e12,
        .words = {"auto", "never"}, AT(replica_check),
        .help = "steps between checks that all ranks hold the same weights, bit for bit; auto: "
                "every epoch and at the end"},

    {TUTTI_CONF_HEADING, .help = "Files and messages"},
    {TUTTI_CONF_TEXT, "checkpoint", "FILE", AT(checkpoint),
        .help = "save the weights, and all that resuming needs, after every epoch and at the end "
                "(safetensors)"},
    {TUTTI_CONF_INT_OR, "checkpoint-every", "N", .fallback = "never", .low = 1, .high = 1e12,
        .words = {"never"}, AT(checkpoint_every),
        .help = "save --checkpoint after every N steps, too"},
    {TUTTI_CONF_REAL_OR, "checkpoint-minutes", "X", .fallback = "never", .low = 0.001, .high = 1e6,
        .words = {"never"}, AT(checkpoint_minutes),
        .help = "save --checkpoint when the last one is X minutes old, too"},
    {TUTTI_CONF_TEXT, "resume", "FILE", AT(resume),
        .help = "continue from this checkpoint, or from FILE.1, FILE.2 ... if it is damaged"},
    {TUTTI_CONF_TEXT, "init-from", "FILE", AT(init_from),
        .help = "begin with the weights of this checkpoint, or of this safetensors file with "
                "PyTorch's names; a head for another number of classes "
                "begins anew"},
    {TUTTI_CONF_FLAG, "keep-best", AT(keep_best),
        .help = "also save the weights with the best test accuracy, as FILE.best of --checkpoint"},
    {TUTTI_CONF_INT, "keep", "N", .fallback = "1", .low = 0, .high = 1000, AT(keep),
        .help = "number of earlier checkpoints to keep, as FILE.1, FILE.2 ...; earlier files of "
                "--json, --csv, --report and --trace, too"},
    {TUTTI_CONF_FLAG, "overwrite", AT(overwrite),
        .help = "replace an existing checkpoint that the run does not continue"},
    {TUTTI_CONF_TEXT, "json", "FILE", AT(json),
        .help =
            "write one JSON object per line for every step and event; --resume continues the file"},
    {TUTTI_CONF_TEXT, "csv", "FILE", AT(csv),
        .help = "write steps and evaluations as a table; --resume continues the file"},
    {TUTTI_CONF_TEXT, "report", "FILE", AT(page),
        .help = "write curves, accuracy by class and the confusion matrix as one HTML file, which "
                "each evaluation replaces"},
    {TUTTI_CONF_TEXT, "trace", "FILE", AT(trace),
        .help = "record what every worker and lane of every rank does in some steps, for Perfetto "
                "and tutti-trace"},
    {TUTTI_CONF_INT_OR, "trace-first", "N", .fallback = "auto", .low = 1, .high = 1e12,
        .words = {"auto"}, AT(trace_first),
        .help = "first step that --trace records; auto: the fourth, or the first in a run of 6 "
                "steps or fewer"},
    {TUTTI_CONF_INT, "trace-steps", "N", .fallback = "10", .low = 1, .high = 1e6, AT(trace_steps),
        .help = "how many steps --trace records, up to 65536 spans per worker"},
    {TUTTI_CONF_FLAG, "verbose", .flags = TUTTI_CONF_LOCAL, AT(verbose),
        .help = "print more on stderr"},
    {TUTTI_CONF_FLAG, "quiet", .flags = TUTTI_CONF_LOCAL, AT(quiet),
        .help = "print errors and warnings only"},
    {0},
};

_Static_assert(sizeof settings / sizeof *settings <= TUTTI_TRAIN_SETTINGS, "room for the table");

static tutti_setting *find_setting(tutti_train_options *o, const char *name)
{
    for (tutti_setting *s = o->setting; s->kind != TUTTI_CONF_END; s++)
        if (s->name && strcmp(s->name, name) == 0) return s;
    return NULL;
}

static void set_defaults(tutti_train_options *o, const tutti_train_default defaults[])
{
    for (const tutti_train_default *d = defaults; d->option; d++)
        find_setting(o, d->option)->fallback = d->value;
}

/* The table as this program has it. */
static void adapt(tutti_train_options *o, const tutti_train_program *program)
{
    o->program = program;
    o->conf = (tutti_conf){.program = program->name,
        .usage = "--data DIR [OPTION]...",
        .summary = program->summary,
        .epilogue = program->epilogue,
        .version = PACKAGE_VERSION,
        .settings = o->setting};
    memcpy(o->setting, settings, sizeof settings);
    find_setting(o, "model")->choice = program->model;
    find_setting(o, "format")->choice = program->format;
    find_setting(o, "recipe")->choice = program->recipe;
    set_defaults(o, program->defaults);
}

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

static int encodes(const tutti_train_options *o)
{
    return o->codec && o->codec->encodes;
}

/* Codes are of whole gradients, which every replica has, and of which every replica gets the sum. */
static tutti_status check_compress(const tutti_train_options *o)
{
    if (*o->compress_fault)
        return tutti_conf_refuse(&o->conf, "compress", o->compress_name, o->compress_fault);
    if (!encodes(o)) return TUTTI_OK;
    if (o->strategy && !o->strategy->encodes && !o->stored)
        return tutti_conf_refuse(&o->conf, "compress", o->compress_name,
            o->strategy->alone
                ? "is for sums of gradients over ranks, of which this --strategy has none: leave "
                  "one of them out"
                : "every rank needs the sums of whole gradients: use --strategy sync");
    if (o->layout.split > 1)
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

/* What deals gradients leaves no rank a whole one. */
static tutti_status check_strategy(const tutti_train_options *o)
{
    char reason[128];
    if (*o->strategy_fault)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name, o->strategy_fault);
    if (o->strategy && o->strategy->needs_servers && !o->layout.servers && !o->jobs)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name,
            "needs parameter servers: add --layout servers=1, or more");
    if (o->strategy && o->strategy->alone && !o->layout.servers) return check_alone(o);
    if (!o->strategy || !o->strategy->deals) return TUTTI_OK;
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
    static const char parts[] = "of gradients each server of --layout has a part: leave out one of them";
    char reason[128];
    if (o->strategy && !o->strategy->served) {
        snprintf(reason, sizeof reason,
            "has no part for servers: use sync, elastic, async or bounded, or leave servers out of --layout %s",
            o->layout_text);
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy_name, reason);
    }
    if (encodes(o)) return tutti_conf_refuse(&o->conf, "compress", o->compress_name, parts);
    if (!o->clip_norm.word && !(o->strategy && o->strategy->alone))
        return tutti_conf_refuse(&o->conf, "clip-norm", NULL, parts);
    if (o->wire != TUTTI_F32)
        return refuse_wire(o, "servers add gradients as f32: leave it out, or servers of --layout");
    return TUTTI_OK;
}

static tutti_status check_layout(const tutti_train_options *o)
{
    const tutti_layout *l = &o->layout;
    char reason[256];
    if (o->layout_fault)
        return tutti_conf_refuse(&o->conf, "layout", o->layout_text, o->layout_fault);
    if (!o->layers_read)
        return tutti_conf_refuse(&o->conf, "stage-layers", o->stage_layers,
            "must be auto, or the number of layers of each stage, such as 10,12");
    if (l->stages < 2 && l->stage_layers[0])
        return tutti_conf_refuse(
            &o->conf, "stage-layers", o->stage_layers, "it needs --layout with two or more stages");
    if (l->split > 1) {
        static const char whole[] =
            "it needs whole gradients, which --layout split leaves no rank: leave out one of them";
        if (!o->optimizer->cut)
            return tutti_conf_refuse(&o->conf, "optimizer", o->optimizer->name, whole);
        if (!o->clip_norm.word) return tutti_conf_refuse(&o->conf, "clip-norm", NULL, whole);
        if (o->strategy && !o->strategy->divides)
            return tutti_conf_refuse(&o->conf, "strategy", o->strategy->name,
                "it needs whole layers on every replica: leave out split of --layout");
    }
    if (l->servers && !o->stored) {
        tutti_status status = check_servers(o);
        if (status) return status;
    }
    if (l->stages > 1 && o->strategy && o->strategy->meetings)
        return tutti_conf_refuse(&o->conf, "strategy", o->strategy->name,
            "its replicas meet as wholes, each on one rank: leave out stages of --layout, or use "
            "--strategy local");
    if (!tutti_layout_has_groups(l)) return TUTTI_OK;
    if (l->stages > 1 && l->micro_batches && o->batch % l->micro_batches) {
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
            l->stages > 1 ? "only the first stage of each replica reads images: use shared"
            : l->servers  ? "servers of --layout read no images: use shared"
                          : "replicas that share layers need equally many images: use shared");
    if (tutti_algorithm_blocks(o->algorithm))
        return tutti_conf_refuse(&o->conf, "algorithm", o->algorithm,
            "it knows no groups of ranks, which this layout needs: use another one");
    return TUTTI_OK;
}

/* Checks that involve more than one row of the table. */
static tutti_status check_together(const tutti_train_options *o)
{
    char reason[256];
    int most = tutti_run_starpu_max_workers();
    if (o->workers > most) {
        snprintf(reason, sizeof reason,
            "this build of StarPU supports at most %d CPU workers per process", most);
        return refuse_number(o, "workers", o->workers, reason);
    }
    tutti_status laid_out = check_compress(o);
    if (!laid_out) laid_out = check_strategy(o);
    if (!laid_out) laid_out = check_layout(o);
    if (laid_out) return laid_out;
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
    if (!o->mixup.word && o->batch % 2)
        return refuse_number(o, "batch", o->batch, "must be even: --mixup mixes images in pairs");
    if (!o->mixup.word && parts > o->batch / 2) {
        snprintf(reason, sizeof reason,
            "more %s than pairs of images, which --mixup mixes, in a batch (--batch %" PRId64 ")",
            cut, o->batch);
        return refuse_number(o, cut, parts, reason);
    }
    if (!o->jitter_read)
        return tutti_conf_refuse(&o->conf, "jitter", o->images.jitter,
            "must be none, or three numbers from 0 to 1 for brightness, contrast and saturation, "
            "such as 0.4,0.4,0.4");
    if (o->window < 0)
        return tutti_conf_refuse(&o->conf, "shuffle", o->images.shuffle,
            "must be full, or window:G for shuffling within runs of G images, 2 to 1000000000");
    if (!o->images.eval_size.word && !o->images.resize.word &&
        o->images.resize.value < o->images.eval_size.value) {
        snprintf(reason, sizeof reason, "is smaller than --eval-size %" PRId64,
            o->images.eval_size.value);
        return refuse_number(o, "eval-resize", o->images.resize.value, reason);
    }
    if (!o->milestones) {
        snprintf(reason, sizeof reason,
            "must be up to %d ascending epochs from 1 on, separated by commas",
            TUTTI_RATE_MILESTONES);
        return tutti_conf_refuse(&o->conf, "milestones", o->milestones_text, reason);
    }
    tutti_status together = check_files(o);
    if (together) return together;
    int64_t lanes = tutti_conf_int_or(o->lanes, 1);
    if (lanes > 1 && !o->design->many_lanes) {
        snprintf(reason, sizeof reason, "the design \"%s\" has one lane", o->design->name);
        return refuse_number(o, "lanes", lanes, reason);
    }
    if (o->design_auto && o->check_only)
        return tutti_conf_refuse(&o->conf, "check-only", NULL,
            "it judges one design: name it with --design, instead of auto");
    if (o->design->unsafe && !o->unsafe)
        return tutti_conf_refuse(&o->conf, "design", o->design->name,
            "it can hang or sum the wrong buffers, on purpose: add --unsafe to run it");
    const char *fault = tutti_setting_wire_fault(o->algorithm, o->wire);
    if (fault) return refuse_wire(o, fault);
    tutti_status status = tutti_comm_core_check(o->comm_core);
    if (status) return status;
    const tutti_watch_options stall = {
        .warn_s = o->stall_warn_s, .dump_s = o->stall_dump_s, .abort_s = o->stall_abort_s};
    return tutti_watch_check(&stall);
}

static void read_strategy(tutti_train_options *o)
{
    if (strcmp(o->strategy_name, auto_strategy) != 0 &&
        !tutti_strategy_read(o->strategy_name, &o->strategy, &o->strategy_settings,
            o->strategy_fault, sizeof o->strategy_fault))
        o->strategy = NULL;
    tutti_strategy_print(o->strategy, &o->strategy_settings, o->strategy_text);
    if (o->strategy && o->strategy->alone) o->priority = o->priority_free = 0;
    const char *role = getenv("TUTTI_KV_ROLE");
    o->jobs = role && *role;
    o->stored = o->jobs || (o->strategy && o->strategy->pushes);
}

/* --compress bf16 and --wire bf16 are one setting. */
static void read_compress(tutti_train_options *o)
{
    o->wire = tutti_setting_wire_dtype(o->wire_name);
    if (o->compress_name && tutti_codec_read(o->compress_name, &o->codec, &o->codec_value,
                                o->compress_fault, sizeof o->compress_fault)) {
        if (o->wire != TUTTI_F32 && o->wire != o->codec->wire)
            snprintf(o->compress_fault, sizeof o->compress_fault,
                "and --wire %s both say how gradients travel: leave out --wire", o->wire_name);
        o->wire = o->codec->wire;
        o->wire_name = o->wire == TUTTI_F32 ? "f32" : o->codec->name;
    }
    if (!o->codec && o->wire != TUTTI_F32)
        snprintf(o->compress_text, sizeof o->compress_text, "%s", o->wire_name);
    else
        tutti_codec_print(o->codec, o->codec_value, o->compress_text);
}

static void read_layout(tutti_train_options *o)
{
    tutti_layout *l = &o->layout;
    o->layout_fault = o->layout_text ? tutti_layout_read(o->layout_text, l) : NULL;
    o->layers_read =
        !strcmp(o->stage_layers, "auto") || tutti_layout_read_layers(o->stage_layers, l);
    l->emission = strcmp(o->pipeline_name, tutti_emission_name(TUTTI_EMISSION_GPIPE)) == 0
                      ? TUTTI_EMISSION_GPIPE
                      : TUTTI_EMISSION_1F1B;
    l->micro_batches = (int)tutti_conf_int_or(o->micro_batches, 0);
    l->link_mbit = tutti_conf_real_or(o->link_mbit, 0);
    if (tutti_layout_has_groups(l)) o->priority = o->priority_free = 0;
}

tutti_status tutti_train_options_parse(const tutti_train_program *program, int argc,
    char *const argv[], tutti_train_options *options, tutti_conf_wish *wish)
{
    *options = (tutti_train_options){0};
    adapt(options, program);
    tutti_status status = tutti_conf_parse(&options->conf, argc, argv, options, NULL, wish);
    options->recipe = tutti_train_recipe_find(options->recipe_name);
    if (!status && options->recipe->defaults->option) { /* once more, with its defaults */
        set_defaults(options, options->recipe->defaults);
        status = tutti_conf_parse(&options->conf, argc, argv, options, NULL, wish);
    }
    options->words = argv;
    options->model = tutti_model_find(options->model_name);
    options->design_auto = strcmp(options->design_name, auto_design) == 0;
    options->design = tutti_design_find(!options->design_auto ? options->design_name
                                        : tutti_conf_int_or(options->lanes, 1) > 1 ? "concurrent"
                                                                                   : "funneled");
    options->optimizer = tutti_update_rule_find(options->optimizer_name);
    options->rate_schedule = tutti_rate_schedule_find(options->rate_schedule_name);
    options->milestones = tutti_rate_schedule_read(options->milestones_text, options->milestone);
    options->priority = strcmp(options->priority_name, "off") != 0;
    options->priority_free = strcmp(options->priority_name, "auto") == 0;
    read_layout(options);
    read_strategy(options);
    options->verify = tutti_verify_mode_find(options->verify_name);
    read_compress(options);
    options->augment = tutti_augment_find(options->images.augment);
    options->jitter_read = tutti_jitter_read(options->images.jitter, &options->jitter);
    if (!tutti_shuffle_read(options->images.shuffle, &options->window)) options->window = -1;
    options->views = (int)tutti_conf_int_or(options->eval_views, options->augment ? 2 : 1);
    if (status) options->comm_core = NULL; /* an exchange might refuse it */
    if (status || *wish != TUTTI_CONF_RUN) return status;
    status = check_together(options);
    if (status) {
        options->lanes = (tutti_conf_int){.word = TUTTI_CONF_AUTO};
        options->unsafe = 1;
        options->comm_core = NULL;
        options->stall_warn_s = options->stall_dump_s = options->stall_abort_s = 0;
    }
    return status;
}
