#include "apps/architecture/architecture.h"
#include "apps/bench/choices.h"
#include "apps/bench/grid.h"
#include "apps/bench/peer_ranks.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/step_rows.h"
#include "apps/bench/step_report.h"
#include "apps/bench/step_turns.h"
#include "apps/session/device.h"
#include "apps/session/precision.h"
#include "apps/session/transport.h"
#include "apps/tune/tune.h"
#include "collectives/choose.h"
#include "dag/base/log.h"
#include "dag/codecs/codecs.h"
#include "dag/codecs/rows.h"
#include "dag/kernels/kernel.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) .offset = offsetof(tutti_step_bench_options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "model", "NAME", .fallback = "resnet20", .choice = tutti_choice_model,
        .takes = tutti_architecture_is_file, AT(model),
        .help = "model, or FILE.json, FILE.onnx (tutti-network(5)), on random images of the size "
                "that it is "
                "made for"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "64", .low = 1, .high = 65536, AT(batch),
        .help = "images per rank and step"},
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "all", .choice = tutti_step_choice_design,
        AT(design),
        .help =
            "design; all: each that communicates while it computes; auto: these, and what --design "
            "auto of tutti-cifar chooses"},
    {TUTTI_CONF_CHOICE, "strategy", "NAME", .fallback = "sync",
        .choice = tutti_step_choice_strategy, AT(strategy),
        .help =
            "who updates: sync, sharded; both, in turns. Unless it is sync alone, sums are added "
            "in the order of ranks"},
    {TUTTI_CONF_INT_OR, "micro-batches", "M", .fallback = "auto", .low = 1, .high = 65536,
        .words = {"auto"}, AT(micro_batches),
        .help = "parts that a batch is cut into; auto: one per worker"},
    {TUTTI_CONF_CHOICE, "micro-batch-sums", "WHERE", .fallback = "collective",
        .choice = tutti_step_choice_sums, AT(sums),
        .help =
            "what adds their gradients: graph, a node before the sum over ranks; collective, that "
            "sum, as in training; both, in turns"},
    {TUTTI_CONF_REAL, "tuning-time", "S", .fallback = "600", .low = 0, .high = 1e6,
        AT(tuning_time_s), .help = "seconds that --design auto may try"},
    TUTTI_SETTING_LANES(AT(lanes)),
    TUTTI_SETTING_BUCKET_MB(AT(bucket_mb)),
    TUTTI_SETTING_CHUNK_MB(AT(chunk_mb)),
    {TUTTI_CONF_CHOICE, "priority", "HOW", .fallback = "off", .words = {"on", "off", "both"},
        AT(priority),
        .help = "whether what the next step needs first overtakes; both: also without, in turns"},
    TUTTI_SETTING_ALGORITHM(AT(algorithm)),
    TUTTI_SETTING_WIRE(AT(wire)),
    {TUTTI_CONF_TEXT, "compress", "CODEC", .fallback = "none", AT(compress),
        .help = "how gradients travel, as for tutti-cifar; PyTorch's as --wire says, or with "
                "powersgd:R as its powerSGD_hook has it"},
    TUTTI_SETTING_PRECISION(AT(precision)),
    TUTTI_SETTING_DEVICE(AT(device)),
    TUTTI_SETTING_TRANSPORT(tutti_transport_choice, AT(transport)),
    TUTTI_SETTING_CUDA_AWARE(AT(cuda_aware)),
    TUTTI_SETTING_TF32(AT(tf32)),
    TUTTI_SETTING_REGION_US(AT(region_us)),
    TUTTI_SETTING_ENGINES(AT(engines)),
    TUTTI_SETTING_WORKERS(AT(workers)),
    {TUTTI_CONF_INT_OR, "steps", "N", .fallback = "auto", .low = 1, .high = 100000,
        .words = {"auto"}, AT(steps),
        .help = "steps a block; auto: as many as 4 seconds hold, 3 to 20"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = TUTTI_STEP_MOST_BLOCKS,
        AT(blocks), .help = "blocks of everything, in turns"},
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    TUTTI_BENCH_SETTING_PEER(AT(peer)),
    {TUTTI_CONF_TEXT, "peer-mxnet", "WHAT", .fallback = "none", AT(peer_mxnet),
        .help = "MXNet's dist_sync and dist_async, as peers, too: a folder made by tutti-bench "
                "peers --package mxnet; none; or a command"},
    {TUTTI_CONF_TEXT, "interface", "NAME", AT(interface),
        .help = "network interface of the peers (default: the first that is up)"},
    TUTTI_SETTING_COMM_CORE(AT(comm_core)),
    TUTTI_BENCH_SETTINGS_RUN("300", tutti_step_bench_options),
    {0},
};
static const tutti_conf_brief brief[] = {{"model", NULL}, {"batch", NULL}, {"design", NULL},
    {"strategy", NULL}, {"workers", NULL}, {"device", NULL}, {"transport", NULL},
    {"precision", NULL}, {"compress", NULL}, {"link-mbit", NULL}, {"steps", NULL}, {"blocks", NULL},
    {"peer", NULL}, {"json", NULL}, {"csv", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-bench step",
    .usage = "[OPTION]... | --grid [OPTION]...",
    .summary =
        "Times training steps over all ranks (tutti-run -n P tutti-bench step ...) with every "
        "design: against computation alone, communication alone, and the same model in "
        "PyTorch's DistributedDataParallel, in turns. Checks first that all designs and "
        "ranks end with the same weights. With --grid: many such runs in boxes (tutti-bench "
        "step --grid --help).",
    .settings = settings,
    .brief = brief,
};

/* A row for the configuration found by trials, which begin with the first design. */
static tutti_status choose(tutti_step_bench *b)
{
    tutti_training_session session;
    tutti_tune_result found;
    int together;
    if (strcmp(b->o.design, "auto") != 0) return TUTTI_OK;
    const tutti_step_row *first = tutti_step_rows_find(b, TUTTI_ROW_DESIGN);
    const tutti_tune_options what = {.design_free = 1,
        .priority_free = 1,
        .workload = tutti_step_row_workload(b, first),
        .most_s = b->o.tuning_time_s,
        .file = "none"};
    tutti_status status = tutti_step_session_open(b, &first->configuration, &session);
    if (!status) status = tutti_tune(&what, &session, &found, &together);
    if (!status) status = tutti_training_session_close(&session);
    if (status) return status;
    tutti_step_row *row = tutti_step_rows_add(b, TUTTI_ROW_DESIGN, "auto", found.configuration);
    row->strategy = first->strategy;
    row->sums = first->sums;
    return TUTTI_OK;
}

/* Plans the collectives of a step, and opens them once no exchange calls MPI. */
static tutti_status open_traffic(tutti_step_bench *b)
{
    const tutti_configuration *first = &tutti_step_rows_find(b, TUTTI_ROW_DESIGN)->configuration;
    const tutti_workload workload = tutti_step_workload(b, &tutti_strategy_sync);
    tutti_training_session session;
    tutti_status status = tutti_step_session_open(b, first, &session);
    if (!status) status = tutti_workload_build(&workload, &session);
    if (!status) status = tutti_training_session_apply(&session);
    if (!status) status = tutti_step_traffic_plan(session.graph, session.step->train, &b->traffic);
    if (!status) status = tutti_training_session_close(&session);
    if (!status) status = tutti_step_traffic_open(&b->world, tutti_step_algorithm(b), &b->traffic);
    if (!status) status = tutti_step_traffic_run(&b->traffic, 1, b->o.timeout_s);
    b->sent_at_least = tutti_algorithm_is_library(tutti_step_algorithm(b));
    b->sent_bytes = b->sent_at_least ? tutti_step_traffic_least(&b->traffic, b->world.boot.size)
                                     : b->traffic.sent.bytes;
    return status;
}

static void add_peer(tutti_step_bench *b, tutti_peer *peer)
{
    const tutti_configuration none = {0};
    if (peer) tutti_step_rows_add(b, TUTTI_ROW_PEER, tutti_peer_about(peer), none)->peer = peer;
}

/* How the peer's gradients travel. */
static void peer_codec(const tutti_step_bench *b, char text[32])
{
    const int half = tutti_setting_wire_dtype(b->o.wire) != TUTTI_F32;
    snprintf(text, 32, "%s", half ? " --half" : "");
    if (b->codec == &tutti_codec_powersgd) snprintf(text, 32, " --powersgd %.0f", b->codec_value);
}

/* On a GPU the peer is one process of PyTorch, in the variant that torch_compute.py finds to be the fastest. */
static tutti_status start_torch_on_gpu(tutti_step_bench *b)
{
    const tutti_peer_script script = {
        .file = "torch_compute.py", .module = "torch", .device = "cuda", .model = b->o.model};
    char program[4096], command[8192], model[TUTTI_PEER_QUOTED];
    tutti_peer *peer;
    if (b->world.boot.size > 1) return TUTTI_OK; /* several ranks have none */
    tutti_status status = tutti_peer_program(b->o.peer, &script, program, sizeof program);
    if (status || !*program) return status;
    tutti_peer_quote(b->o.model, model);
    snprintf(command, sizeof command,
        "exec %s --model %s --batch %" PRId64 " --steps %" PRId64 " --blocks %" PRId64
        " --variant %s%s",
        program, model, b->o.batch, b->o.steps.value, b->o.blocks,
        b->precision == TUTTI_F32 ? "best" : "bf16-best", b->place.tf32 ? "" : " --no-tf32");
    status = tutti_peer_start(command, b->o.timeout_s, &peer);
    if (!status) add_peer(b, peer);
    return status;
}

static tutti_status start_torch(tutti_step_bench *b)
{
    char arguments[2048], codec[32], model[TUTTI_PEER_QUOTED];
    tutti_peer *peer;
    if (b->place.device != TUTTI_CPU) return start_torch_on_gpu(b);
    peer_codec(b, codec);
    tutti_peer_quote(b->o.model, model);
    snprintf(arguments, sizeof arguments,
        "--model %s --batch %" PRId64 " --steps %" PRId64 " --blocks %" PRId64 " --threads %" PRId64
        "%s%s",
        model, b->o.batch, b->o.steps.value, b->o.blocks, b->o.workers, codec,
        b->precision == TUTTI_F32 ? "" : " --autocast");
    const tutti_peer_torch torch = {.wish = b->o.peer,
        .interface = b->o.interface,
        .script = {.file = "torch_ddp.py", .module = "torch", .model = b->o.model},
        .arguments = arguments,
        .timeout_s = b->o.timeout_s};
    tutti_status status = tutti_peer_ranks_start(&b->world, &torch, &peer);
    add_peer(b, peer);
    return status;
}

/* Every rank has a worker and a server, which is what loads the links evenly. */
static tutti_status start_mxnet(tutti_step_bench *b, const char *program, const char *variant)
{
    char arguments[2048], model[TUTTI_PEER_QUOTED];
    tutti_peer *peer;
    tutti_peer_quote(b->o.model, model);
    snprintf(arguments, sizeof arguments,
        "--model %s --batch %" PRId64 " --steps %" PRId64 " --threads %" PRId64 " --variant %s",
        model, b->o.batch, b->o.steps.value, b->o.workers, variant);
    const tutti_peer_mxnet mxnet = {.program = program,
        .arguments = arguments,
        .interface = b->o.interface,
        .workers = b->world.boot.size,
        .servers = b->world.boot.size,
        .timeout_s = b->o.timeout_s};
    tutti_status status = tutti_peer_ranks_start_mxnet(&b->world, &mxnet, &peer);
    add_peer(b, peer);
    return status;
}

static tutti_status start_peers(tutti_step_bench *b)
{
    static const tutti_peer_script script = {
        .file = "mxnet_step.py", .module = "mxnet", .package = "mxnet", .option = "peer-mxnet"};
    char program[4096];
    tutti_status status = start_torch(b);
    if (!status)
        status =
            tutti_peer_ranks_program(&b->world, b->o.peer_mxnet, &script, program, sizeof program);
    if (status || !*program) return status;
    status = start_mxnet(b, program, "sync");
    return status ? status : start_mxnet(b, program, "async");
}

static void stop_peers(tutti_step_bench *b)
{
    for (int i = 0; i < b->rows; i++) tutti_peer_stop(b->row[i].peer);
}

static tutti_status choose_device(tutti_step_bench *b)
{
    const int rank = b->world.boot.rank, ranks = b->world.boot.size;
    double *offers = calloc((size_t)(ranks * TUTTI_DEVICE_OFFER), sizeof *offers);
    if (!offers) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
    tutti_device_offer(rank, ranks, offers);
    tutti_status status = tutti_world_max(&b->world, ranks * TUTTI_DEVICE_OFFER, offers);
    b->place.tf32 = b->o.tf32;
    if (!status && strcmp(b->o.engines, "timed") == 0) status = tutti_engines_new(&b->engines);
    b->place.engines = b->engines;
    if (!status) status = tutti_device_choose(b->o.device, rank, ranks, offers, &b->place);
    free(offers);
    return status;
}

/* Where rank 0 chooses, the others follow. */
static tutti_status choose_precision(tutti_step_bench *b)
{
    int rank = b->world.boot.rank;
    double lack = tutti_precision_lack(&b->place, rank, b->world.boot.size);
    tutti_status status = tutti_world_max(&b->world, 1, &lack);
    if (!status)
        status = tutti_precision_check(&b->place, b->o.precision, lack, rank, b->world.boot.size);
    if (status || tutti_precision_find(b->o.precision, &b->precision) || lack > 0) return status;
    if (b->place.device != TUTTI_CPU)
        return TUTTI_OK; /* auto is f32: kernels of GPUs are not timed */
    const tutti_workload workload = tutti_step_workload(b, &tutti_strategy_sync);
    if (rank == 0)
        status = tutti_precision_race((int)b->o.workers, workload.model,
            tutti_workload_input(&workload), &workload.recipe, &b->precision);
    status = tutti_world_agree(&b->world, status);
    return status ? status : tutti_world_share(&b->world, &b->precision, sizeof b->precision);
}

static tutti_status refuse_together(
    tutti_step_bench *b, const char *name, const char *value, const char *reason)
{
    return tutti_world_give_up(&b->world, tutti_conf_refuse(&conf, name, value, reason));
}

/* On all ranks alike: what cannot be a peer where they compute. */
static tutti_status check_peers(tutti_step_bench *b)
{
    const int mxnet = strcmp(b->o.peer_mxnet, "none") != 0;
    const int torch = strcmp(b->o.peer, "none") != 0 && strcmp(b->o.peer, "auto") != 0;
    if (mxnet && b->place.device != TUTTI_CPU)
        return refuse_together(b, "peer-mxnet", b->o.peer_mxnet,
            "computes on the CPU here, which is no peer of a GPU: use none with --device");
    if (mxnet && b->precision != TUTTI_F32)
        return refuse_together(b, "peer-mxnet", b->o.peer_mxnet,
            "computes in f32, and this machine faster in bf16: add --precision f32");
    if (torch && b->place.device != TUTTI_CPU && b->world.boot.size > 1)
        return refuse_together(
            b, "peer", b->o.peer, "runs on one GPU: use one rank, or --peer none");
    return TUTTI_OK;
}

static tutti_status measure(tutti_step_bench *b)
{
    char device[300];
    tutti_status status = TUTTI_OK;
    tutti_step_rows_list(b);
    if (b->world.boot.rank == 0) status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    if (!status) status = choose_device(b);
    if (!status) status = choose_precision(b);
    if (!status) status = check_peers(b);
    if (!status && b->result)
        printf("%s in %s, batch %" PRId64 " on each of %d ranks, %s, %s\n", b->o.model,
            tutti_precision_word(b->precision), b->o.batch, b->world.boot.size,
            tutti_run_starpu_version(),
            b->place.device == TUTTI_CPU ? tutti_kernel_library()
                                         : tutti_device_text(&b->place, device, sizeof device));
    if (!status) status = tutti_step_turns_verify(b);
    if (!status) status = choose(b);
    if (!status) status = open_traffic(b);
    if (!status) status = start_peers(b);
    if (!status) status = tutti_step_turns_run(b);
    if (!status && b->result) tutti_step_report(b);
    return status;
}

/* The option names what travels; rows name the type of sums. */
static tutti_status read_compress(tutti_step_bench *b)
{
    char fault[256];
    if (!tutti_codec_read(b->o.compress, &b->codec, &b->codec_value, fault, sizeof fault))
        return tutti_conf_refuse(&conf, "compress", b->o.compress, fault);
    if (b->codec->wire != TUTTI_F32)
        return tutti_conf_refuse(&conf, "compress", b->o.compress, "write --wire bf16 here");
    if (!b->codec->compresses) return TUTTI_OK;
    if (tutti_setting_wire_dtype(b->o.wire) != TUTTI_F32)
        return tutti_conf_refuse(&conf, "compress", b->o.compress,
            "and --wire both say how gradients travel: leave out --wire");
    if (strcmp(b->o.strategy, tutti_strategy_sync.name) != 0)
        return tutti_conf_refuse(&conf, "compress", b->o.compress,
            "every rank needs the sums of whole gradients: use --strategy sync");
    return TUTTI_OK;
}

static tutti_status check_wire(const tutti_step_bench *b)
{
    const int f32 = tutti_setting_wire_dtype(b->o.wire) == TUTTI_F32;
    if (f32 || strcmp(b->o.peer_mxnet, "none") == 0) return TUTTI_OK;
    return tutti_conf_refuse(&conf, "peer-mxnet", b->o.peer_mxnet,
        "sums in f32, which is no peer of --wire bf16: use none");
}

static tutti_status run(int argc, char **argv)
{
    static tutti_step_bench bench; /* too large for the stack */
    tutti_step_bench *b = &bench;
    int go;
    if (argc > 1 && strcmp(argv[1], "--grid") == 0) return tutti_grid_run(argc - 1, argv + 1);
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b->o, &go);
    if (!go) return status;
    if (b->o.workers > b->o.batch)
        return tutti_conf_refuse(&conf, "workers", NULL, "is above --batch");
    if (tutti_conf_int_or(b->o.micro_batches, 0) > b->o.batch)
        return tutti_conf_refuse(&conf, "micro-batches", NULL, "is above --batch");
    const char *fault =
        tutti_setting_wire_fault(b->o.algorithm, tutti_setting_wire_dtype(b->o.wire));
    if (fault) return tutti_conf_refuse(&conf, "wire", b->o.wire, fault);
    status = tutti_architecture_open(b->o.model, &b->model);
    if (!status) status = read_compress(b);
    if (!status) status = check_wire(b);
    if (status) return status;
    const tutti_binding_place cpu = {0};
    if (strcmp(b->o.device, "cpu") == 0)
        status =
            tutti_precision_check(&cpu, b->o.precision, tutti_precision_lack(&cpu, 0, 1), 0, 1);
    if (status) return status;
    status = tutti_world_open(b->o.timeout_s, &b->world);
    if (!status)
        status = tutti_world_links(&b->world, b->o.topology, b->o.link_mbit, b->o.algorithm);
    if (!status) status = measure(b);
    stop_peers(b);
    tutti_step_traffic_close(&b->traffic);
    tutti_status closed = tutti_result_close(b->result);
    if (!status) status = closed;
    tutti_world_close(&b->world, status);
    tutti_engines_free(b->engines);
    return status;
}

const tutti_bench tutti_bench_step = {"step", "training steps over all ranks, by design", run};
