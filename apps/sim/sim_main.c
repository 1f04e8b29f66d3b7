/* tutti-sim: training steps on machines that are not there. See tutti-sim(1). */
#include "apps/architecture/architecture.h"
#include "apps/sim/program.h"
#include "collectives/links/run.h"
#include "collectives/links/topology_text.h"
#include "dag/base/conf.h"
#include "dag/base/json.h"
#include "dag/base/log.h"
#include "dag/codecs/codecs.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/strategies/strategies.h"
#include "designs/exchange/settings.h"
#include "designs/trace/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *model, *topology, *ranks, *design, *algorithm, *verify, *times;
    const char *layout_text, *strategy_text, *pipeline, *stage_layers, *priority, *compress;
    tutti_conf_int micro_batches, warm_given;
    tutti_conf_int lanes;
    tutti_conf_real bucket_mb, chunk_mb;
    int64_t batch, workers, steps, seed;
    double noise, images_per_s;
    int json;
    const char *trace;
    /* Read */
    int64_t warm;
    tutti_layout layout;
    const tutti_strategy *strategy; /* NULL: auto */
    tutti_strategy_settings strategy_settings;
    const tutti_codec *codec;
    double codec_value;
} options;

#define AT(member) .offset = offsetof(options, member)

static const tutti_setting settings[] = {{TUTTI_CONF_HEADING, .help = "Arguments"},
    {TUTTI_CONF_TEXT, "model", "MODEL", .flags = TUTTI_CONF_REQUIRED | TUTTI_CONF_OPERAND,
        AT(model),
        .help = "what is trained (tutti-info --list models); or FILE.json, FILE.onnx "
                "(tutti-network(5))"},
    {TUTTI_CONF_HEADING, .help = "Machine"},
    {TUTTI_CONF_TEXT, "topology", "NAME", .flags = TUTTI_CONF_REQUIRED, AT(topology),
        .help = "the links: a family or a file (tutti-topology(5))"},
    {TUTTI_CONF_TEXT, "ranks", "P,...", AT(ranks),
        .help =
            "ranks, of the topology's first; several numbers: a simulation of each (default: all)"},
    {TUTTI_CONF_INT, "workers", "N", .fallback = "1", .low = 1, .high = 256, AT(workers),
        .help = "workers of each rank"},
    {TUTTI_CONF_TEXT, "times", "HOW", .fallback = "measured", AT(times),
        .help = "what kernels take; measured: each alone on this processor, now; cpu, gpu: "
                "counted, for a core or a GPU of a server; a file: as in a run that wrote this "
                "trace"},
    {TUTTI_CONF_REAL, "images-per-s", "R", .fallback = "0", .low = 0, .high = 1e9, AT(images_per_s),
        .help = "scale what kernels take such that a rank with one worker computes R images a "
                "second by itself; 0: as --times says"},
    {TUTTI_CONF_REAL, "noise", "X", .fallback = "0", .low = 0, .high = 2, AT(noise),
        .help = "kernels take exp(X z) times that, z normal, drawn by rank, step and kernel"},
    {TUTTI_CONF_INT, "seed", "N", .fallback = "1", .low = 0, .high = 1e15, AT(seed),
        .help = "of the noise"},
    {TUTTI_CONF_HEADING, .help = "Run"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "32", .low = 1, .high = 65536, AT(batch),
        .help = "images per replica and step"},
    {TUTTI_CONF_TEXT, "layout", "LAYOUT", AT(layout_text),
        .help = "how the ranks divide the work, as of tutti-cifar: stages=S,replicas=R, split=G, "
                "servers=S,clients=C; if omitted, every rank is a replica"},
    {TUTTI_CONF_CHOICE, "pipeline", "NAME", .fallback = "1f1b", .choice = tutti_pipeline_order_name,
        AT(pipeline), .help = "order of a stage's passes"},
    {TUTTI_CONF_INT_OR, "micro-batches", "M", .fallback = "auto", .low = 1, .high = 65536,
        .words = {"auto"}, AT(micro_batches),
        .help = "parts that a batch is cut into; auto: one per worker, or in a pipeline the "
                "greatest divisor of the batch up to 4 per stage"},
    {TUTTI_CONF_TEXT, "stage-layers", "A,B,...", .fallback = "auto", AT(stage_layers),
        .help = "layers of each stage; auto: such that stages take about the same time, by "
                "counting operations and bytes"},
    {TUTTI_CONF_TEXT, "strategy", "NAME", .fallback = "auto", AT(strategy_text),
        .help = "sync, sharded, or rooted, as of tutti-cifar; auto: sync, with sums in any order"},
    {TUTTI_CONF_TEXT, "compress", "CODEC", .fallback = "none", AT(compress),
        .help = "how gradients travel, as of tutti-cifar: none, bf16, onebit, topk:P, powersgd:R"},
    {TUTTI_CONF_INT, "steps", "N", .fallback = "6", .low = 1, .high = 100000, AT(steps),
        .help = "steps"},
    {TUTTI_CONF_INT_OR, "warm", "N", .fallback = "auto", .low = 0, .high = 100000,
        .words = {"auto"}, AT(warm_given),
        .help = "of these, the first N do not count; auto: 4, or half of fewer than 6"},
    TUTTI_SETTING_DESIGN(AT(design)), TUTTI_SETTING_LANES(AT(lanes)),
    TUTTI_SETTING_ALGORITHM(AT(algorithm)), TUTTI_SETTING_VERIFY(AT(verify)),
    TUTTI_SETTING_BUCKET_MB(AT(bucket_mb)), TUTTI_SETTING_CHUNK_MB(AT(chunk_mb)),
    {TUTTI_CONF_CHOICE, "priority", "HOW", .fallback = "auto", .words = {"auto", "on", "off"},
        AT(priority),
        .help =
            "on: gradients that the next step needs first overtake others, in an order that "
            "ranks agree on after 3 steps; off: program order; auto: on, unless --layout divides "
            "the net"},
    {TUTTI_CONF_TEXT, "trace", "FILE", AT(trace),
        .help = "write what every worker and lane did, in the last simulation, for tutti-trace and "
                "Perfetto"},
    {TUTTI_CONF_FLAG, "json", AT(json),
        .help = "print one JSON object per simulation instead of a table"},
    {0}};

static const tutti_conf_brief brief[] = {{"topology", NULL}, {"ranks", NULL}, {"workers", NULL},
    {"times", NULL}, {"batch", NULL}, {"layout", NULL}, {"strategy", NULL}, {"compress", NULL},
    {"design", NULL}, {"algorithm", NULL}, {"bucket-mb", NULL}, {"priority", NULL}, {"trace", NULL},
    {"json", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-sim",
    .usage = "MODEL --topology NAME [OPTION]...",
    .summary = "Simulates training steps on machines that are not there: the real exchange, "
               "designs and collectives of all "
               "ranks, in virtual time over the links of a topology. Prints what a step takes.",
    .settings = settings,
    .brief = brief,
};

static tutti_sim_options simulation_of(
    const options *o, const tutti_topology *t, const tutti_sim_model *m, int ranks)
{
    tutti_sim_options s = {.topology = t,
        .ranks = ranks,
        .workers = (int)o->workers,
        .steps = (int)o->steps,
        .warm = (int)o->warm,
        .noise = o->noise,
        .seed = (uint64_t)o->seed,
        .exchange = {.design = tutti_design_find(o->design),
            .lanes = (int)tutti_conf_int_or(o->lanes, 0),
            .algorithm = o->algorithm,
            .topology =
                strcmp(o->algorithm, "priced") == 0 ? o->topology : NULL, /* all of its ranks */
            .bucket_bytes = tutti_conf_bytes(o->bucket_mb),
            .chunk_bytes = tutti_conf_bytes(o->chunk_mb),
            .order = {.on = strcmp(o->priority, "off") != 0, .at = TUTTI_SIM_SEEN},
            .verify = tutti_verify_mode_find(o->verify)}};
    tutti_sim_model_exchange(m, &o->layout, &s.exchange);
    return s;
}

/* How many batches a step has. */
static int replicas_of(const options *o, int ranks)
{
    tutti_placement p;
    return tutti_layout_place(&o->layout, ranks, 0, &p) ? 0 : p.replicas;
}

static void print_head(const options *o)
{
    if (!o->json)
        printf("%s, %lld images a replica%s%s, on %s, design %s\n%6s %12s %12s %12s %11s %12s %11s "
               "%12s\n",
            o->model, (long long)o->batch, o->layout_text ? ", layout " : "",
            o->layout_text ? o->layout_text : "", o->topology, o->design, "ranks", "step ms",
            "compute ms", "exposed ms", "efficiency", "images/s", "busiest", "messages");
}

static void print_result(const options *o, int ranks, const tutti_sim_result *r)
{
    /* with --noise, a median may be less than the mean of what it is made of */
    const double exposed_s = fmax(0, r->step_s - r->compute_s);
    const double efficiency = r->step_s > 0 ? fmin(1, r->compute_s / r->step_s) : 0;
    const double images_per_s =
        r->step_s > 0 ? (double)(replicas_of(o, ranks) * o->batch) / r->step_s : 0;
    if (o->json) {
        fputs("{\"event\":\"simulation\",\"model\":", stdout);
        tutti_json_string(stdout, o->model);
        printf(",\"ranks\":%d,\"layout\":", ranks);
        tutti_json_string(stdout, o->layout_text ? o->layout_text : "");
        fputs(",\"strategy\":", stdout);
        tutti_json_string(stdout, o->strategy_text);
        printf(",\"design\":\"%s\",\"step_ms\":%.6f,\"compute_ms\":%.6f,\"exposed_ms\":%.6f,"
               "\"efficiency\":%.4f,\"images_per_s\":%.1f,"
               "\"busiest\":%.4f,"
               "\"messages\":%lld,\"sent_mb\":%.3f}\n",
            o->design, 1e3 * r->step_s, 1e3 * r->compute_s, 1e3 * exposed_s, efficiency,
            images_per_s, r->share, (long long)r->messages, 1e-6 * r->sent_bytes);
    } else {
        printf("%6d %12.3f %12.3f %12.3f %9.1f %% %12.0f %9.1f %% %12lld\n", ranks, 1e3 * r->step_s,
            1e3 * r->compute_s, 1e3 * exposed_s, 100 * efficiency, images_per_s, 100 * r->share,
            (long long)r->messages);
    }
    fflush(stdout);
}

static void close_traces(tutti_trace **trace, int ranks)
{
    for (int r = 0; trace && r < ranks; r++) tutti_trace_close(trace[r]);
    free(trace);
}

static tutti_status open_traces(const options *o, int ranks, tutti_trace ***opened)
{
    enum { SPANS = 1 << 16 };
    tutti_trace **trace = calloc((size_t)ranks, sizeof *trace);
    tutti_status status =
        trace ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for traces of %d ranks", ranks);
    for (int r = 0; !status && r < ranks; r++) {
        status = tutti_trace_open((int)o->workers, 0, SPANS, &trace[r]);
        if (!status) tutti_trace_switch(trace[r], 1);
    }
    if (status)
        close_traces(trace, ranks);
    else
        *opened = trace;
    return status;
}

static tutti_status save_traces(
    const options *o, const tutti_sim_model *m, tutti_trace **trace, int ranks)
{
    const tutti_trace_about about = {.design = o->design,
        .model = m->model->name,
        .algorithm = o->algorithm,
        .lanes =
            tutti_design_lanes(tutti_design_find(o->design), (int)tutti_conf_int_or(o->lanes, 0)),
        .stages = o->layout.placement.stages,
        .micro_batches = m->step[0]->micro_batches,
        .servers = o->layout.placement.everywhere ? 0 : o->layout.placement.servers,
        .images = m->step[0]->micro_batch[0].count,
        .blocks = o->layout.placement.blocks > 1 ? o->layout.placement.blocks : 1,
        .height = m->input.H,
        .width = m->input.W,
        .channels = m->input.C,
        .classes = m->input.classes,
        .shards = o->strategy && o->strategy->shards,
        .first_step = 1,
        .last_step = o->steps};
    return tutti_trace_save_all(
        trace, ranks, &about, &(tutti_file_options){.what = "trace", .path = o->trace});
}

static tutti_status simulate(const options *o, const tutti_topology *t, tutti_sim_model *m,
    int ranks, int is_first, int is_last)
{
    tutti_sim_options s = simulation_of(o, t, m, ranks);
    tutti_layout layout = o->layout;
    tutti_sim_program program;
    tutti_sim_result result;
    tutti_status status = tutti_exchange_check_options(&s.exchange);
    if (!status) status = tutti_topology_ring_rate(t, ranks, &layout.link_bytes_per_s);
    if (!status) status = tutti_sim_model_program(m, &layout, ranks, (int)o->workers, &program);
    if (!status && o->trace && is_last) status = open_traces(o, ranks, &s.trace);
    if (!status) status = tutti_sim_run(&s, &program, NULL, &result);
    if (!status && is_first) print_head(o);
    if (!status) print_result(o, ranks, &result);
    if (!status && s.trace) status = save_traces(o, m, s.trace, ranks);
    close_traces(s.trace, ranks);
    return status;
}

/* Takes the next number from a list of ranks; 0: what comes there is not a number of ranks. */
static int next_ranks(const char **list, int most)
{
    char *end;
    const long ranks = strtol(*list, &end, 10);
    if (end == *list || (*end && *end != ',') || (*end && !end[1]) || ranks < 1 || ranks > most)
        return 0;
    *list = *end ? end + 1 : end;
    return (int)ranks;
}

/* Each number of the list; NULL: all ranks. */
static tutti_status simulate_all(const options *o, const tutti_topology *t, tutti_sim_model *m)
{
    int is_first = 1;
    tutti_status status = TUTTI_OK;
    if (!o->ranks) return simulate(o, t, m, t->ranks, 1, 1);
    for (const char *list = o->ranks; !status && *list;) {
        const int ranks = next_ranks(&list, t->ranks);
        status = simulate(o, t, m, ranks, is_first, !*list);
        is_first = 0;
    }
    return status;
}

static tutti_status check_ranks(const options *o, const tutti_topology *t)
{
    tutti_placement p;
    if (!o->ranks) return tutti_layout_place(&o->layout, t->ranks, 0, &p);
    for (const char *list = o->ranks; *list;) {
        const int ranks = next_ranks(&list, t->ranks);
        if (!ranks)
            return tutti_fail(TUTTI_ERR_USAGE,
                "--ranks %s: must be numbers from 1 to %d, which is what --topology %s has, with "
                "commas between them",
                o->ranks, t->ranks, o->topology);
        tutti_status status = tutti_layout_place(&o->layout, ranks, 0, &p);
        if (status) return status;
    }
    return TUTTI_OK;
}

/* What ranks do, from words. */
static tutti_status read_work(options *o)
{
    tutti_layout *l = &o->layout;
    char fault[160];
    const char *wrong = o->layout_text ? tutti_layout_read(o->layout_text, l) : NULL;
    if (wrong) return tutti_conf_refuse(&conf, "layout", o->layout_text, wrong);
    if (!tutti_layout_read_layers(o->stage_layers, l) || l->timed)
        return tutti_conf_refuse(&conf, "stage-layers", o->stage_layers,
            "must be auto, or the number of layers of each stage, such as 10,12");
    if (l->stage_layers[0] && l->placement.stages < 2)
        return tutti_conf_refuse(
            &conf, "stage-layers", o->stage_layers, "it needs --layout with two or more stages");
    o->warm = tutti_conf_int_or(o->warm_given, o->steps < 6 ? o->steps / 2 : 4);
    if (strcmp(o->priority, "on") == 0 && tutti_placement_is_divided(&l->placement))
        return tutti_conf_refuse(&conf, "priority", "on",
            "the ranks of this layout have different collectives, so they cannot agree on an "
            "order");
    l->order = tutti_pipeline_order_of(o->pipeline);
    l->micro_batches = (int)tutti_conf_int_or(o->micro_batches, 0);
    if (l->placement.stages > 1 && l->micro_batches && o->batch % l->micro_batches)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--micro-batches %d: must divide the batch (--batch %lld) into equal parts for "
            "--layout %s",
            l->micro_batches, (long long)o->batch, o->layout_text);
    if (strcmp(o->strategy_text, "auto") != 0 &&
        !tutti_strategy_read(
            o->strategy_text, &o->strategy, &o->strategy_settings, fault, sizeof fault))
        return tutti_conf_refuse(&conf, "strategy", o->strategy_text, fault);
    if (!tutti_codec_read(o->compress, &o->codec, &o->codec_value, fault, sizeof fault))
        return tutti_conf_refuse(&conf, "compress", o->compress, fault);
    const char *wrong_wire = tutti_setting_wire_fault(o->algorithm, o->codec->wire);
    if (wrong_wire) return tutti_conf_refuse(&conf, "compress", o->compress, wrong_wire);
    return TUTTI_OK;
}

static tutti_status open_model(const options *o, tutti_sim_model *m)
{
    const tutti_model *model;
    const tutti_step_options recipe = {.batch = o->batch,
        .strategy = o->strategy,
        .settings = o->strategy_settings,
        .wire = o->codec->wire,
        .codec = o->codec,
        .codec_value = o->codec_value,
        .momentum = 0.9f,
        .nesterov = 1,
        .weight_decay = 5e-4f,
        .adds_norms = 1};
    tutti_status status = tutti_architecture_open(o->model, &model);
    if (status) return status;
    if (o->warm >= o->steps)
        return tutti_fail(TUTTI_ERR_USAGE, "--warm %lld: at least one of --steps %lld has to count",
            (long long)o->warm, (long long)o->steps);
    status = tutti_sim_model_open(model, &recipe, o->times, m);
    if (status || !(o->images_per_s > 0)) return status;
    status = tutti_sim_model_pace(m, o->images_per_s);
    if (status) tutti_sim_model_close(m);
    return status;
}

static int exit_status_of(tutti_status status)
{
    enum { HANGS = 3 };
    switch (status) {
    case TUTTI_OK:
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
    case TUTTI_ERR_USAGE:
    case TUTTI_ERR_FORMAT:
    case TUTTI_ERR_INVAL:
        return 2;
    case TUTTI_ERR_TIMEOUT:
        return HANGS;
    default:
        return EXIT_FAILURE;
    }
}

int main(int argc, char **argv)
{
    options o = {0};
    tutti_topology *t;
    tutti_sim_model m;
    int go;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    tutti_status status = tutti_topology_open(o.topology, &t);
    if (status) return exit_status_of(status);
    status = read_work(&o);
    if (!status) status = check_ranks(&o, t);
    if (!status) status = open_model(&o, &m);
    if (!status) {
        status = simulate_all(&o, t, &m);
        tutti_sim_model_close(&m);
    }
    tutti_topology_free(t);
    return exit_status_of(status);
}
