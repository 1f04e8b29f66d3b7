#include "apps/architecture/architecture.h"
#include "apps/bench/choices.h"
#include "apps/bench/peer_ranks.h"
#include "apps/bench/pipeline_rows.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "all", then the designs that keep the ordering law. */
static const char *design_choice(int i)
{
    int seen = 1;
    if (i == 0) return "all";
    for (int d = 0; tutti_designs[d]; d++)
        if (!tutti_designs[d]->unsafe && seen++ == i) return tutti_designs[d]->name;
    return NULL;
}

#define AT(member) .offset = offsetof(tutti_pipeline_options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "model", "NAME", .fallback = "preact-resnet110",
        .choice = tutti_choice_model, .takes = tutti_architecture_is_file, AT(model),
        .help = "model, or FILE.json, FILE.onnx (tutti-network(5)), on random images of the size "
                "that it is "
                "made for"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "64", .low = 1, .high = 65536, AT(batch),
        .help = "images per replica and step"},
    {TUTTI_CONF_TEXT, "layout", "LAYOUT", AT(layout_text),
        .help = "stages=S,replicas=R,split=G as of tutti-cifar; if omitted, a stage on each rank"},
    {TUTTI_CONF_CHOICE, "pipeline", "NAME", .fallback = "1f1b", .choice = tutti_pipeline_order_name,
        AT(pipeline), .help = "order of a stage's passes"},
    {TUTTI_CONF_INT, "micro-batches", "M", .fallback = "8", .low = 1, .high = 65536,
        AT(micro_batches), .help = "parts of a batch, which they divide"},
    {TUTTI_CONF_TEXT, "stage-layers", "A,B,...", .fallback = "auto", AT(stage_layers),
        .help =
            "layers of each stage; auto: such that stages take about the same time, by counting "
            "operations and bytes; timed: by timing kernels"},
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "all", .choice = design_choice, AT(design),
        .help = "design; all: each that communicates while it computes"},
    TUTTI_SETTING_WORKERS(AT(workers)),
    {TUTTI_CONF_INT_OR, "steps", "N", .fallback = "auto", .low = 1, .high = 100000,
        .words = {"auto"}, AT(steps),
        .help = "steps a block; auto: as many as 4 seconds hold, 3 to 20"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = TUTTI_PIPELINE_MOST_BLOCKS,
        AT(blocks), .help = "blocks of everything, in turns"},
    TUTTI_BENCH_SETTING_PEER(AT(peer)),
    {TUTTI_CONF_TEXT, "interface", "NAME", AT(interface),
        .help = "network interface of the peers (default: the first that is up)"},
    TUTTI_BENCH_SETTINGS_RUN("300", tutti_pipeline_options),
    {0},
};
static const tutti_conf_brief brief[] = {{"model", NULL}, {"batch", NULL}, {"layout", NULL},
    {"pipeline", NULL}, {"micro-batches", NULL}, {"stage-layers", NULL}, {"link-mbit", NULL},
    {"design", NULL}, {"workers", NULL}, {"blocks", NULL}, {"peer", NULL}, {"json", NULL},
    {"csv", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-bench pipeline",
    .usage = "[OPTION]...",
    .summary = "Times training steps of a net that is cut into stages (tutti-run -n P tutti-bench "
               "pipeline ...) with every design: against the whole net on one rank, data "
               "parallelism on as many ranks, and the same model in PyTorch's pipelining and "
               "DistributedDataParallel, in turns. Checks first that all designs, and the whole "
               "net, end with the same weights.",
    .settings = settings,
    .brief = brief,
};

static tutti_pipeline_row *add_row(
    tutti_pipeline_bench *b, tutti_pipeline_kind kind, const char *name, int64_t images)
{
    tutti_pipeline_row *r = &b->row[b->rows++];
    *r =
        (tutti_pipeline_row){.kind = kind, .name = name, .images = images, .activation_bytes = NAN};
    return r;
}

/* Data parallelism comes along where its ranks can share a step's images evenly. */
static void list_rows(tutti_pipeline_bench *b)
{
    int64_t images = b->o.batch * b->placement.replicas, ranks = b->world.boot.size;
    int each = strcmp(b->o.design, "all") == 0;
    const tutti_design *first = NULL;
    add_row(b, TUTTI_PIPELINE_WHOLE, "whole net on one rank", b->o.batch);
    for (int d = 0; tutti_designs[d]; d++) {
        const tutti_design *design = tutti_designs[d];
        if (each ? !tutti_design_overlaps(design) : strcmp(design->name, b->o.design) != 0)
            continue;
        add_row(b, TUTTI_PIPELINE_STAGES, design->name, images)->design = design;
        if (!first) first = design;
    }
    if (images % ranks == 0 && tutti_placement_is_divided(&b->placement))
        add_row(b, TUTTI_PIPELINE_PARALLEL, "data parallelism", images)->design = first;
}

/* ---- peers ---- */

static tutti_status start_peer(
    tutti_pipeline_bench *b, tutti_peer_script script, const char *of_script, int64_t images)
{
    char arguments[2048], model[TUTTI_PEER_QUOTED];
    tutti_peer *peer;
    tutti_peer_quote(b->o.model, model);
    snprintf(arguments, sizeof arguments,
        "--model %s --steps %" PRId64 " --blocks %" PRId64 " --threads %" PRId64 " %s", model,
        b->o.steps.value, b->o.blocks, b->o.workers, of_script);
    const tutti_peer_torch torch = {.wish = b->o.peer,
        .interface = b->o.interface,
        .script = script,
        .arguments = arguments,
        .timeout_s = b->o.timeout_s};
    tutti_status status = tutti_peer_ranks_start(&b->world, &torch, &peer);
    if (peer) add_row(b, TUTTI_PIPELINE_PEER, tutti_peer_about(peer), images)->peer = peer;
    return status;
}

/* PyTorch's pipelining has one replica here; DistributedDataParallel has one on each rank. */
static tutti_status start_peers(tutti_pipeline_bench *b)
{
    const tutti_peer_script pipelining = {.file = "torch_pipeline.py",
                                .module = "torch.distributed.pipelining",
                                .model = b->o.model},
                            parallel = {
                                .file = "torch_ddp.py", .module = "torch", .model = b->o.model};
    char arguments[160];
    tutti_pipeline_row *shared = tutti_pipeline_find(b, TUTTI_PIPELINE_PARALLEL);
    tutti_status status = TUTTI_OK;
    if (b->placement.replicas == 1 && b->placement.stages > 1) {
        snprintf(arguments, sizeof arguments,
            "--batch %" PRId64 " --micro-batches %" PRId64 " --pipeline %s", b->o.batch,
            b->o.micro_batches, tutti_emission_name(tutti_layout_emission(&b->layout)));
        status = start_peer(b, pipelining, arguments, b->o.batch);
    }
    if (status || !shared) return status;
    snprintf(arguments, sizeof arguments, "--batch %" PRId64, shared->images / b->world.boot.size);
    return start_peer(b, parallel, arguments, shared->images);
}

/* ---- all of it ---- */

/* Of --stage-layers timed; the others get rank 0's. */
static tutti_status time_layers(tutti_pipeline_bench *b)
{
    const tutti_model *model = b->model;
    int64_t images = b->o.batch / b->o.micro_batches;
    int layers = 0;
    tutti_status status = TUTTI_OK;
    if (!b->layout.timed) return TUTTI_OK;
    if (b->world.boot.rank == 0)
        status =
            tutti_layout_time(model, &model->input, TUTTI_F32, images, &layers, &b->layer_seconds);
    status = tutti_world_agree(&b->world, status);
    if (!status) status = tutti_world_share(&b->world, &layers, sizeof layers);
    if (!status && b->world.boot.rank)
        b->layer_seconds = calloc((size_t)layers, sizeof *b->layer_seconds);
    status = tutti_world_agree(&b->world, !status && !b->layer_seconds ? TUTTI_ERR_NOMEM : status);
    if (!status)
        status = tutti_world_share(
            &b->world, b->layer_seconds, layers * (int64_t)sizeof *b->layer_seconds);
    b->layout.layer_seconds = b->layer_seconds;
    return status;
}

static tutti_status measure(tutti_pipeline_bench *b)
{
    char layout[TUTTI_LAYOUT_TEXT];
    tutti_status status = TUTTI_OK;
    list_rows(b);
    if (b->world.boot.rank == 0) status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    if (!status && b->result)
        printf("%s, %s, %s, batch %" PRId64 " in %" PRId64 " micro-batches, %s, %s\n", b->o.model,
            tutti_layout_print(&b->placement, layout), b->o.pipeline, b->o.batch,
            b->o.micro_batches, tutti_run_starpu_version(), tutti_kernel_library());
    if (!status) status = time_layers(b);
    if (!status) status = tutti_pipeline_verify(b);
    if (!status) status = start_peers(b);
    if (!status) status = tutti_pipeline_time(b);
    if (!status && b->result) tutti_pipeline_report(b);
    return status;
}

static tutti_status read_layout(tutti_pipeline_bench *b)
{
    const tutti_pipeline_options *o = &b->o;
    tutti_layout *l = &b->layout;
    const char *fault = o->layout_text ? tutti_layout_read(o->layout_text, l) : NULL;
    if (fault) return tutti_conf_refuse(&conf, "layout", o->layout_text, fault);
    if (l->placement.servers || l->placement.clients)
        return tutti_conf_refuse(&conf, "layout", o->layout_text,
            "servers are no part of a pipeline: use stages=S, or stages=S,replicas=R");
    if (!tutti_layout_read_layers(o->stage_layers, l))
        return tutti_conf_refuse(&conf, "stage-layers", o->stage_layers,
            "must be auto, timed, or the number of layers of each stage, such as 10,12");
    if (o->batch % o->micro_batches)
        return tutti_conf_refuse(&conf, "micro-batches", NULL, "must divide --batch");
    l->micro_batches = (int)o->micro_batches;
    l->order = tutti_pipeline_order_of(o->pipeline);
    return TUTTI_OK;
}

static tutti_status place_ranks(tutti_pipeline_bench *b)
{
    if (!b->o.layout_text) b->layout.placement.stages = b->world.boot.size;
    return tutti_world_agree(&b->world,
        tutti_layout_place(&b->layout, b->world.boot.size, b->world.boot.rank, &b->placement));
}

static void stop_peers(tutti_pipeline_bench *b)
{
    for (int i = 0; i < b->rows; i++) tutti_peer_stop(b->row[i].peer);
}

static tutti_status run(int argc, char **argv)
{
    static tutti_pipeline_bench bench; /* too large for the stack */
    tutti_pipeline_bench *b = &bench;
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b->o, &go);
    if (!go) return status;
    status = tutti_architecture_open(b->o.model, &b->model);
    if (!status) status = read_layout(b);
    if (!status) status = tutti_world_open(b->o.timeout_s, &b->world);
    if (!status) status = tutti_world_links(&b->world, b->o.topology, b->o.link_mbit, NULL);
    if (status) return status;
    b->layout.link_bytes_per_s = b->world.link_bytes_per_s;
    status = place_ranks(b);
    if (status) { /* on all ranks */
        tutti_world_close(&b->world, TUTTI_OK);
        return status;
    }
    status = measure(b);
    stop_peers(b);
    free(b->layer_seconds);
    tutti_status closed = tutti_result_close(b->result);
    if (!status) status = closed;
    tutti_world_close(&b->world, status);
    return status;
}

const tutti_bench tutti_bench_pipeline = {
    "pipeline", "training steps of a net cut into stages", run};
