#include "apps/train/options.h"

#include "apps/architecture/architecture.h"
#include "apps/session/device.h"
#include "apps/session/precision.h"
#include "apps/session/transport.h"
#include "dag/step/update_rule.h"
#include "designs/exchange/settings.h"

/* The designs of the table, then auto. */
static const char *design_choice(int i)
{
    int designs = 0;
    while (tutti_designs[designs]) designs++;
    return i < designs ? tutti_designs[i]->name : i == designs ? "auto" : NULL;
}

static const char *optimizer_choice(int i)
{
    return tutti_update_rules[i] ? tutti_update_rules[i]->name : NULL;
}

static const char *rate_schedule_choice(int i)
{
    return tutti_rate_schedules[i].name;
}

const tutti_conf_brief tutti_train_brief[] = {
    {"data", "folder with the images; synthetic: generated ones"},
    {"model", "network; tutti-info lists them"},
    {"recipe", "options of a published training"},
    {"epochs", "passes over the training images"},
    {"batch", "images per rank and step"},
    {"lr", "highest learning rate"},
    {"optimizer", "how gradients change the weights"},
    {"augment", "how training images vary"},
    {"precision", "type of what is computed; auto: the faster one"},
    {"init-from", "begin with these weights, also PyTorch's and ONNX"},
    {"design", "how collectives run; auto tries all designs"},
    {"strategy", "which ranks exchange what, and when"},
    {"layout", "pipelines, divided layers, parameter servers"},
    {"workers", "CPU workers of a rank"},
    {"device", "where kernels run"},
    {"checkpoint", "save weights here after every epoch"},
    {"resume", "continue from this checkpoint"},
    {"report", "curves and confusion matrix as an HTML page"},
    {"json", "a line for every step and event"},
    {"trace", "what workers and lanes do, for Perfetto"},
    {0},
};

#define AT(member) .offset = offsetof(tutti_train_options, member)

const tutti_setting tutti_train_settings[TUTTI_TRAIN_SETTINGS] = {
    {TUTTI_CONF_HEADING, .help = "Data"},
    {TUTTI_CONF_TEXT, "data", "DIR", .flags = TUTTI_CONF_REQUIRED, .environment = "TUTTI_DATA",
        AT(data.folder),
        .help = "folder of the data set; \"synthetic\" or synthetic:HxWxC:CLASSES: generated "
                "images, of the model's size or of this one"},
    {TUTTI_CONF_CHOICE, "format", "NAME", AT(data.format),
        .help = "format of the data set; if omitted, recognised by content"},
    TUTTI_SETTINGS_DATA(tutti_train_options, images),
    {TUTTI_CONF_INT_OR, "uncropped", "N", .fallback = "auto", .high = 1000000, .words = {"auto"},
        AT(data.uncropped),
        .help =
            "number of last epochs in which --augment does not crop; auto: a fifth of all epochs"},
    {TUTTI_CONF_INT, "depth", "N", .fallback = "4", .low = 3, .high = 256, AT(data.depth),
        .help = "batches in memory: up to two in use, the others prefetched"},

    {TUTTI_CONF_HEADING, .help = "Model and training"},
    {TUTTI_CONF_CHOICE, "model", "NAME", AT(model_name), .takes = tutti_architecture_is_file,
        .help = "model; or FILE.json, FILE.onnx, a network of your own (tutti-network(5))"},
    {TUTTI_CONF_CHOICE, "recipe", "NAME", .fallback = "none", AT(recipe_name),
        .help = "defaults of a published training for the options below, which --recipe NAME "
                "--help all shows; explicit options override them"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "32", .low = 1, .high = 65536, AT(batch),
        .help = "images per rank and batch"},
    {TUTTI_CONF_CHOICE, "batch-rule", "RULE", .fallback = "rank", .words = {"rank", "global"},
        AT(elastic.batch_rule_name),
        .help = "what stays when the ranks of an elastic run (tutti-run --elastic) change; rank: "
                "--batch; global: the images of all ranks, which are divided anew"},
    {TUTTI_CONF_INT, "least-ranks", "N", .fallback = "0", .low = 0, .high = 64, AT(elastic.least),
        .help = "when ranks die, the others continue while N are left; over Open MPI 5 or later, "
                "started with mpirun --with-ft ulfm (without MPI: tutti-run --elastic); 0: the run "
                "ends with the first rank that dies"},
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
    {TUTTI_CONF_REAL_OR, "lr", "X", .fallback = "auto", .high = 1000, .words = {"auto"},
        AT(rate.highest),
        .help = "highest learning rate; auto: 0.001 for adam and adamw, else the model's own "
                "(tutti-info lists it for 128 images per step), in "
                "proportion to the images per step"},
    {TUTTI_CONF_INT_OR, "lr-images", "N", .fallback = "none", .low = 1, .high = 1e9,
        .words = {"none"}, AT(rate.images),
        .help = "--lr X is for N images per step of all ranks, and in proportion for other "
                "numbers; none: it is as given. Without effect on --lr auto"},
    {TUTTI_CONF_TEXT, "freeze", "LAYERS", AT(rate.layers.freeze),
        .help =
            "layers that keep their weights: names, or what names begin with and a star, such as "
            "conv1,layer1*; all-but:fc: all but these"},
    {TUTTI_CONF_TEXT, "lr-scale", "LAYERS=X,...", AT(rate.layers.scale),
        .help = "multiply the learning rate of layers, such as fc=10,layer1*=0.1; the last that is "
                "for a layer counts"},
    {TUTTI_CONF_TEXT, "find-lr", "FILE", AT(find_rate.picture),
        .help = "look for a learning rate: train with rates that rise until the loss diverges, "
                "suggest the "
                "one where it falls fastest, and draw the loss by rate as SVG; saves no weights"},
    {TUTTI_CONF_INT, "find-lr-steps", "N", .fallback = "100", .low = 16, .high = 100000,
        AT(find_rate.steps), .help = "how many rates --find-lr tries, a step each"},
    {TUTTI_CONF_REAL, "find-lr-from", "X", .fallback = "1e-5", .low = 1e-12, .high = 1000,
        AT(find_rate.from), .help = "the lowest of them"},
    {TUTTI_CONF_REAL, "find-lr-to", "X", .fallback = "10", .low = 1e-12, .high = 1e6,
        AT(find_rate.to), .help = "the highest of them"},
    {TUTTI_CONF_CHOICE, "rate-schedule", "NAME", .fallback = "cosine",
        .choice = rate_schedule_choice, AT(rate.schedule_name),
        .help = "how the learning rate changes"},
    {TUTTI_CONF_INT_OR, "warmup", "N", .fallback = "auto", .high = 1e12, .words = {"auto"},
        AT(rate.warmup),
        .help = "steps during which the learning rate rises linearly; auto: 10 % of the run for "
                "onecycle, else none"},
    {TUTTI_CONF_REAL_OR, "warmup-epochs", "X", .fallback = "none", .high = 1e6, .words = {"none"},
        AT(rate.warmup_epochs), .help = "the same in epochs, where --warmup is auto"},
    {TUTTI_CONF_REAL_OR, "warmup-from", "X", .fallback = "auto", .high = 1000, .words = {"auto"},
        AT(rate.warmup_from),
        .help = "learning rate of the first step of warm-up, at most the highest; auto: a step's "
                "rise above 1/25 of the highest for onecycle, above 0 for the others"},
    {TUTTI_CONF_TEXT, "milestones", "LIST", .fallback = "30,60,80", AT(rate.milestones_text),
        .help = "epochs after which --rate-schedule milestones lowers the rate, up to 8"},
    {TUTTI_CONF_REAL, "milestone-factor", "X", .fallback = "0.1", .low = 1e-6, .high = 1,
        AT(rate.milestone_factor), .help = "what it multiplies the rate with"},
    {TUTTI_CONF_INT, "plateau-patience", "N", .fallback = "5", .low = 1, .high = 1000000,
        AT(rate.plateau_patience),
        .help = "after N evaluations in a row without a better test loss --rate-schedule plateau "
                "lowers the rate"},
    {TUTTI_CONF_REAL, "plateau-factor", "X", .fallback = "0.1", .low = 1e-6, .high = 0.999999,
        AT(rate.plateau_factor), .help = "what it multiplies the rate with"},
    {TUTTI_CONF_REAL, "poly-power", "X", .fallback = "1", .low = 0, .high = 100,
        AT(rate.poly_power), .help = "exponent of --rate-schedule poly; 1: a straight line"},
    {TUTTI_CONF_CHOICE, "optimizer", "NAME", .fallback = "sgd", .choice = optimizer_choice,
        AT(update.name), .help = "how gradients change the weights"},
    {TUTTI_CONF_REAL, "momentum", "X", .fallback = "0.9", .high = 0.999999, AT(update.momentum),
        .help = "momentum of sgd and lars"},
    {TUTTI_CONF_FLAG, "no-nesterov", AT(update.no_nesterov),
        .help = "use classical momentum instead of Nesterov's, which lars never uses"},
    {TUTTI_CONF_REAL, "beta1", "X", .fallback = "0.9", .high = 0.999999, AT(update.beta1),
        .help = "of adam and adamw: how much of the mean gradient a step keeps"},
    {TUTTI_CONF_REAL, "beta2", "X", .fallback = "0.999", .high = 0.999999, AT(update.beta2),
        .help = "of adam and adamw: how much of the mean squared gradient a step keeps"},
    {TUTTI_CONF_REAL, "epsilon", "X", .fallback = "1e-8", .low = 1e-30, .high = 1,
        AT(update.epsilon),
        .help = "of adam and adamw: added to the root of the mean squared gradient"},
    {TUTTI_CONF_REAL, "trust", "X", .fallback = "0.02", .low = 1e-6, .high = 1000, AT(update.trust),
        .help = "trust coefficient of lars: a step at rate 1 moves a tensor by this part of its "
                "length"},
    {TUTTI_CONF_REAL_OR, "weight-decay", "X", .fallback = "auto", .high = 1000, .words = {"auto"},
        AT(update.decay),
        .help = "weight decay, added to the gradient (adamw: taken from the weight); auto: the "
                "model's own"},
    {TUTTI_CONF_REAL_OR, "clip-norm", "X", .fallback = "none", .low = 1e-6, .high = 1e12,
        .words = {"none"}, AT(update.clip_norm),
        .help = "scale gradients down to this length, all parameters together; none: leave them"},
    {TUTTI_CONF_REAL_OR, "ema", "X", .fallback = "none", .low = 1e-6, .high = 0.999999,
        .words = {"none"}, AT(update.ema),
        .help =
            "also average the weights over steps: an average keeps this part of itself in each; "
            "averages are evaluated, and saved with the weights"},
    {TUTTI_CONF_FLAG, "decay-weights-only", AT(update.weights_only),
        .help = "no weight decay, and no trust coefficient, for biases and for the scales and "
                "shifts of batch normalisation"},
    {TUTTI_CONF_FLAG, "zero-last-scale", AT(zero_last_scale),
        .help = "begin with 0, in place of 1, in the last scale of each residual block, which then "
                "first passes on its input alone"},
    {TUTTI_CONF_REAL_OR, "label-smoothing", "X", .fallback = "auto", .high = 0.999,
        .words = {"auto"}, AT(labels.smoothing),
        .help = "part of each label that is spread evenly over all classes; auto: the model's own"},
    {TUTTI_CONF_REAL_OR, "mixup", "ALPHA", .fallback = "none", .low = 0.001, .high = 1000,
        .words = {"none"}, AT(labels.mixup),
        .help = "mix training images, and what is expected of them, in pairs with a weight drawn "
                "from Beta(ALPHA,ALPHA); --batch must be even"},
    {TUTTI_CONF_REAL_OR, "cutmix", "ALPHA", .fallback = "none", .low = 0.001, .high = 1000,
        .words = {"none"}, AT(labels.cutmix),
        .help = "put a box of each training image in the place of another one's, in pairs, with "
                "areas drawn from Beta(ALPHA,ALPHA); not with --mixup; --batch must be even"},
    TUTTI_SETTING_PRECISION(AT(machine.precision_name)),
    {TUTTI_CONF_INT, "seed", "N", .fallback = "1", .low = 0, .high = 9007199254740991.0, AT(seed),
        .help =
            "seed of initial weights, order of images, augmentation, mixup, cutmix and dropout"},
    {TUTTI_CONF_INT_OR, "eval-every", "N", .fallback = "1", .low = 1, .high = 1000000,
        .words = {"end", "never"}, AT(evaluation.every),
        .help = "epochs between evaluations on the test set; end: only one, at the end of the run"},
    {TUTTI_CONF_INT_OR, "patience", "N", .fallback = "never", .low = 1, .high = 1000000,
        .words = {"never"}, AT(evaluation.patience),
        .help = "end the run after N evaluations in a row without a better test accuracy"},
    {TUTTI_CONF_FLAG, "evaluate", AT(evaluation.only),
        .help = "train nothing: evaluate the weights of --init-from or --resume on the test set"},
    {TUTTI_CONF_INT_OR, "eval-views", "N", .fallback = "auto", .low = 1, .high = 2,
        .words = {"auto"}, AT(evaluation.views_asked),
        .help = "views by which a test image is classified; 1: the image; 2: the mean of the "
                "outputs for it and its mirror image; auto: 2 with --augment, else 1"},

    {TUTTI_CONF_HEADING, .help = "Communication and workers"},
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "funneled", .choice = design_choice,
        .environment = "TUTTI_DESIGN", AT(exchange.design_name),
        .help = "how the collectives of the task graph are run; auto: before training, try all "
                "designs, and also buckets, chunks, lanes and priority where you give none"},
    {TUTTI_CONF_TEXT, "tuning", "FILE", .environment = "TUTTI_TUNING", AT(exchange.tuning),
        .help = "where --design auto remembers its choice; none: nowhere; if omitted, "
                "~/.cache/tutti/tuning.json"},
    {TUTTI_CONF_REAL_OR, "tuning-time", "S", .fallback = "auto", .high = 1e6, .words = {"auto"},
        .environment = "TUTTI_TUNING_TIME", AT(exchange.tuning_time_s),
        .help = "seconds that --design auto may take; auto: 5, or 2 % of the run if that is more"},
    TUTTI_SETTING_LANES(AT(exchange.lanes)),
    {TUTTI_CONF_FLAG, "unsafe", AT(exchange.unsafe),
        .help = "accept --design naive, which can hang or sum the wrong buffers"},
    TUTTI_SETTING_VERIFY(AT(exchange.verify_name)),
    {TUTTI_CONF_FLAG, "check-only", AT(check_only),
        .help = "judge whether the ranks' collectives obey the ordering law, print the verdict, "
                "and exit without training"},
    {TUTTI_CONF_FLAG, "remote-buffers", AT(remote_buffers),
        .help = "print where each tensor that travels is received, and why it is copied on its "
                "way, if it is; implies --check-only"},
    TUTTI_SETTING_ALGORITHM(AT(exchange.algorithm)),
    {TUTTI_CONF_TEXT, "compress", "CODEC", .environment = "TUTTI_COMPRESS",
        AT(travel.compress_name),
        .help = "how gradients travel: none; bf16: rounded to 2 bytes each; onebit: a bit for each "
                "element; topk:P: the largest share P of the elements, such as topk:0.01; "
                "powersgd:R: a product of rank R, such as powersgd:4. What is not sent is kept for "
                "the next step; if omitted, as --wire says"},
    TUTTI_SETTING_WIRE(AT(travel.wire_name)),
    {TUTTI_CONF_TEXT, "strategy", "NAME", .fallback = "auto", .environment = "TUTTI_STRATEGY",
        AT(strategy.name),
        .help =
            "sync: every rank gets all sums of gradients and updates all parameters; sharded: "
            "every rank updates a part, keeps momentum of no more, and gathers the rest; both "
            "give the same weights; rooted:b, rooted:ob, rooted:obr: one rank gets all sums, "
            "updates, and broadcasts, nothing, broadcasts or reduces, too, overlapped; "
            "local:period=T,outer=X,momentum=M: replicas train alone for "
            "rounds of T steps (default 8), then average their weights, from which an outer "
            "step of rate X (default 1) with Nesterov momentum M (default 0) may begin; "
            "gossip:ring, gossip:exponential: each averages its weights with those of two "
            "neighbours, or of one in turn, in every step, and with all after period=T steps "
            "(default 1000); gossip:push-sum: the same, where each sends to one that is drawn, "
            "with half of its share, by which means are weighted; "
            "adpsgd:period=T,delay=D,round=R: they meet in pairs every T steps (default 1), and "
            "train on for D steps (default 1, at most T) until the average is there; "
            "elastic:period=T,alpha=A,round=R, with servers of --layout: clients "
            "train alone, and every T steps (default 8) move by A (default 0.1) of the way to a "
            "centre, and it to them; async, with servers: each client's gradients update the "
            "weights when they come; bounded:S: the same, but no client is more than S steps "
            "(default 3) ahead of the slowest; auto: "
            "sync, with sums in any order"},
    TUTTI_SETTING_BUCKET_MB(AT(exchange.bucket_mb)),
    TUTTI_SETTING_CHUNK_MB(AT(exchange.chunk_mb)),
    {TUTTI_CONF_CHOICE, "priority", "HOW", .fallback = "auto", .words = {"auto", "on", "off"},
        .environment = "TUTTI_PRIORITY", AT(exchange.priority_name),
        .help = "on: gradients that the next step needs first overtake others, in an order agreed "
                "by all ranks (funneled, concurrent); off: program order; auto: on, or what "
                "--design auto finds faster"},
    {TUTTI_CONF_TEXT, "layout", "LAYOUT", .environment = "TUTTI_LAYOUT", AT(layout.text),
        .help =
            "how the ranks divide the work, stages=S,replicas=R: the net is cut into S stages, a "
            "rank each, and R replicas of it train on different images; split=G: groups of G "
            "replicas share the weights of large dense layers; or servers=S,clients=C: the last S "
            "ranks are parameter servers, the others form C clients of equal size (default: each "
            "worker is one; with stages=S a worker is S ranks); servers=all: every rank is both; "
            "if "
            "omitted, every rank is a replica"},
    {TUTTI_CONF_CHOICE, "pipeline", "NAME", .fallback = "1f1b", .choice = tutti_pipeline_order_name,
        .environment = "TUTTI_PIPELINE", AT(layout.pipeline_name),
        .help =
            "order of a stage's passes; 1f1b: one forward, one backward, with as few "
            "activations in memory as keep the stages busy; eager: the same with a micro-batch "
            "more "
            "on its way between stages, behind which messages hide; gpipe: all forward, then all "
            "backward"},
    {TUTTI_CONF_INT_OR, "micro-batches", "M", .fallback = "auto", .low = 1, .high = 65536,
        .words = {"auto"}, .environment = "TUTTI_MICRO_BATCHES", AT(layout.micro_batches),
        .help = "parts that a batch is cut into, each with batch norm's statistics of its own; "
                "auto: one per worker, or in a pipeline the greatest divisor of the batch (with "
                "--mixup or --cutmix, of its pairs) up to 4 per stage"},
    {TUTTI_CONF_TEXT, "stage-layers", "A,B,...", .fallback = "auto", AT(layout.stage_layers),
        .help = "layers of each stage, from the first one; auto: such that stages take about the "
                "same time, by counting operations and bytes; timed: the same by timing kernels on "
                "rank 0, "
                "which takes seconds, and fits this machine better"},
    TUTTI_SETTING_TOPOLOGY(AT(exchange.topology)),
    TUTTI_SETTING_LINK_MBIT(AT(exchange.link_mbit)),
    TUTTI_SETTING_DEVICE(AT(machine.device)),
    TUTTI_SETTING_TRANSPORT(tutti_transport_choice, AT(machine.transport)),
    TUTTI_SETTING_CUDA_AWARE(AT(machine.cuda_aware)),
    TUTTI_SETTING_TF32(AT(machine.tf32)),
    TUTTI_SETTING_REGION_US(AT(machine.region_us)),
    TUTTI_SETTING_ENGINES(AT(machine.engines)),
    TUTTI_SETTING_WORKERS(AT(machine.workers)),
    TUTTI_SETTING_COMM_CORE(AT(exchange.comm_core)),
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = "600", .low = 0.1, .high = 1e6,
        .environment = "TUTTI_TIMEOUT", AT(exchange.timeout_s),
        .help = "seconds after which a single wait for a step or a batch is an error, even if "
                "something still moves"},
    TUTTI_SETTING_SETUP_TIMEOUT(AT(exchange.setup_timeout_s)),
    TUTTI_SETTING_STALL_WARN(AT(exchange.stall.warn_s)),
    TUTTI_SETTING_STALL_DUMP(AT(exchange.stall.dump_s)),
    TUTTI_SETTING_STALL_ABORT(AT(exchange.stall.abort_s)),
    TUTTI_SETTING_STALL_DIR(AT(exchange.stall.folder)),
    {TUTTI_CONF_INT_OR, "replica-check", "N", .fallback = "auto", .low = 1, .high = 1e12,
        .words = {"auto", "never"}, AT(replica_check),
        .help = "steps between checks that all ranks hold the same weights, bit for bit; auto: "
                "every epoch, before every checkpoint and at the end"},

    {TUTTI_CONF_HEADING, .help = "Files and messages"},
    {TUTTI_CONF_TEXT, "config", "FILE", AT(config),
        .help = "take options from this JSON file, or from what --json has written of a run; "
                "explicit options override them"},
    {TUTTI_CONF_TEXT, "checkpoint", "FILE", AT(checkpoint.file),
        .help = "save the weights, and all that resuming needs, after every epoch and at the end "
                "(safetensors)"},
    {TUTTI_CONF_INT_OR, "checkpoint-every", "N", .fallback = "never", .low = 1, .high = 1e12,
        .words = {"never"}, AT(checkpoint.every),
        .help = "save --checkpoint after every N steps, too"},
    {TUTTI_CONF_REAL_OR, "checkpoint-minutes", "X", .fallback = "never", .low = 0.001, .high = 1e6,
        .words = {"never"}, AT(checkpoint.minutes),
        .help = "save --checkpoint when the last one is X minutes old, too"},
    {TUTTI_CONF_INT_OR, "snapshot-steps", "N", .fallback = "auto", .low = 1, .high = 1e12,
        .words = {"auto"}, AT(elastic.snapshot_steps),
        .help = "of an elastic run (tutti-run --elastic): make a snapshot in memory after every N "
                "steps, from which it continues when a rank dies; auto: as often as takes a "
                "hundredth of the time"},
    {TUTTI_CONF_TEXT, "resume", "FILE", AT(checkpoint.resume),
        .help = "continue from this checkpoint, or from FILE.1, FILE.2 ... if it is damaged"},
    {TUTTI_CONF_TEXT, "init-from", "FILE", AT(checkpoint.init_from),
        .help = "begin with the weights of this checkpoint, of this safetensors file with "
                "PyTorch's names, or of this ONNX model (FILE.onnx); a head for another number of "
                "classes begins anew"},
    {TUTTI_CONF_FLAG, "keep-best", AT(checkpoint.keep_best),
        .help = "also save the weights with the best test accuracy, as FILE.best of --checkpoint"},
    {TUTTI_CONF_INT, "keep", "N", .fallback = "1", .low = 0, .high = 1000, AT(checkpoint.keep),
        .help = "number of earlier checkpoints to keep, as FILE.1, FILE.2 ...; earlier files of "
                "--json, --csv, --report and --trace, too"},
    {TUTTI_CONF_FLAG, "overwrite", AT(checkpoint.overwrite),
        .help = "replace an existing checkpoint that the run does not continue"},
    {TUTTI_CONF_TEXT, "json", "FILE", AT(outputs.json),
        .help =
            "write one JSON object per line for every step and event; --resume continues the file"},
    {TUTTI_CONF_TEXT, "csv", "FILE", AT(outputs.csv),
        .help = "write steps and evaluations as a table; --resume continues the file"},
    {TUTTI_CONF_TEXT, "report", "FILE", AT(outputs.page),
        .help = "write curves, precision and recall by class and the confusion matrix as one HTML "
                "file, "
                "which reloads itself during the run"},
    {TUTTI_CONF_TEXT, "metrics", "FILE", AT(outputs.metrics),
        .help = "keep the newest numbers as OpenMetrics text, for Prometheus: a file that is "
                "replaced every 5 s"},
    {TUTTI_CONF_TEXT, "tensorboard", "DIR", AT(outputs.tensorboard),
        .help = "write loss, rate, accuracy, images per second and the hidden share as events for "
                "TensorBoard; a resumed run adds a file"},
    {TUTTI_CONF_TEXT, "trace", "FILE", AT(outputs.trace),
        .help = "record what every worker and lane of every rank does in some steps, for Perfetto "
                "and tutti-trace"},
    {TUTTI_CONF_INT_OR, "trace-first", "N", .fallback = "auto", .low = 1, .high = 1e12,
        .words = {"auto"}, AT(outputs.trace_first),
        .help = "first step that --trace records; auto: the fourth, or the first in a run of 6 "
                "steps or fewer"},
    {TUTTI_CONF_INT, "trace-steps", "N", .fallback = "10", .low = 1, .high = 1e6,
        AT(outputs.trace_steps),
        .help = "how many steps --trace records, up to 65536 spans per worker"},
    {TUTTI_CONF_FLAG, "verbose", .flags = TUTTI_CONF_LOCAL, AT(outputs.verbose),
        .help = "print more on stderr"},
    {TUTTI_CONF_FLAG, "quiet", .flags = TUTTI_CONF_LOCAL, AT(outputs.quiet),
        .help = "print errors and warnings only"},
    {0},
};
